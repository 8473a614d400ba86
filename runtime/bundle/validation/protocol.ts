/** Messages between the bundle and its validating thread. Everything in them is plain data. */
import type { FileRules } from "../../config/rules/owners.ts";
import type { ServedFrom } from "../../config/load-by-owner.ts";
import type { CheckedCertificate, CheckedConfig, CheckedRoute, Problem, SliceSource } from "../../config/load.ts";
import type { Refusal } from "../../config/refusals.ts";
import type { ValuePath } from "../../settings/problem.ts";
import type { SliceChange } from "../publication.ts";
import type { SecretNeeds } from "../build/secret-needs.ts";

export interface SliceStatus {
  readonly owner: string;
  readonly file: string;
  /** No error in this slice. */
  readonly ok: boolean;
  readonly problems: readonly Problem[];
  /** What its owner is served from, when it is not this. */
  readonly standing?: Exclude<ServedFrom, "current">;
}

/** An owner who is not served as written now. */
export interface DegradedOwner {
  /** "unknown" for a file of which nobody knows whose it is. */
  readonly owner: string;
  readonly standing: Exclude<ServedFrom, "current">;
  readonly files: readonly string[];
  readonly problems: readonly Problem[];
  /** What is written is in force; only secrets of it are as they were read last. */
  readonly late?: true;
}

/** An owner's slice as it was last in force, for the store. */
export interface SealedSlice {
  readonly owner: string;
  /** In force since then (epoch milliseconds); null when it is not now. */
  readonly since: number | null;
  /** Files and texts, sealed. */
  readonly sealed: string;
}

/** What became of the kept slices when a configuration was put in force. */
export interface PreviousSliceChanges {
  /** `sealed` only where the text is another one. */
  readonly changed: readonly (Omit<SealedSlice, "sealed"> & { readonly sealed?: string })[];
  /** Owners who have no slice any more. */
  readonly removed: readonly string[];
}

/** What a checked configuration was refused for when it was compiled. */
export interface Refusals {
  /** Equal keys mean equal refusals. */
  readonly key: number;
  readonly list: readonly Refusal[];
}

/** A checked route; the document is in `text`, canonical JSON. */
export type RouteText = Omit<CheckedRoute, "doc">;

/** A checked certificate of a slice; the document is in `text`, canonical JSON. */
export type CertificateText = Omit<CheckedCertificate, "doc">;

export interface CheckedSettings extends Pick<CheckedConfig, "boot" | "settings" | "digest"> {
  /** By host; at most one for each, so that they are handed over whole. */
  readonly certificates: readonly CertificateText[];
  /** Of settings, certificates and all routes. */
  readonly needs: SecretNeeds;
}

export interface ValidationReport {
  readonly problems: readonly Problem[];
  readonly slices: readonly SliceStatus[];
  readonly degraded: readonly DegradedOwner[];
  /** How many owners are served as they wrote it; the boot file is none. */
  readonly currentOwners: number;
  /** Where a change would show. */
  readonly directories: readonly string[];
  /** Of what was read, see `signatureWith`; undefined when it is to be read again though nothing changes. */
  readonly signature: string | undefined;
}

export interface PublishedSource extends SliceSource {
  readonly boot: false;
}

/** The published slices beside the files. */
export interface PublishedSources {
  /** Equal keys mean equal sources. */
  readonly key: string;
  readonly sources: readonly PublishedSource[];
}

/** A slice that somebody sent: the digest of its canonical JSON, or what is wrong with it. */
export type ParsedSlice =
  | { readonly ok: true; readonly digest: string }
  | { readonly ok: false; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly message: string };

/** Slices of several owners that somebody sent, or what is wrong with the first that is not one. */
export type ParsedChanges =
  | { readonly ok: true; readonly changes: readonly SliceChange[] }
  | { readonly ok: false; readonly message: string };

/** A secret that a slice to be published asks for. */
export interface CandidateSecret {
  readonly file: string;
  readonly owner: string;
  readonly path: ValuePath;
  readonly form: "ref" | "sealed";
  readonly values: readonly string[];
}

/** A certificate that a slice to be published brings. */
export interface CandidateCertificate extends CertificateText {
  readonly file: string;
  readonly path: ValuePath;
}

export type ToValidator =
  /** Read and validate; `published` stays what it was when absent. */
  | {
      readonly type: "load";
      readonly published?: PublishedSources;
      readonly refusals: Refusals;
      /** For a thread that knows none yet. */
      readonly kept?: readonly SealedSlice[];
    }
  /**
   * Validate as if these were published, and hand nothing over. @param candidates owners whose slices are to be published
   * @param kept for a thread that never loads
   */
  | {
      readonly type: "validate";
      readonly published: PublishedSources;
      readonly candidates: readonly string[];
      readonly kept?: readonly SealedSlice[];
    }
  /** What was loaded last is in force. @param at epoch milliseconds */
  | { readonly type: "in-force"; readonly at: number }
  /** Read a slice that somebody sent. */
  | { readonly type: "parse"; readonly text: string; readonly owner: string }
  /** The same for several owners. */
  | { readonly type: "parse-changes"; readonly text: string }
  /** The last chunk was taken in; send the next. */
  | { readonly type: "ack" };

export type FromValidator =
  /** Nothing changed since the last load. */
  | { readonly type: "unchanged" }
  | ({ readonly type: "bad" } & ValidationReport)
  /** Chunks follow. `fresh`: forget all routes first. */
  | ({ readonly type: "good"; readonly fresh: boolean } & ValidationReport & CheckedSettings)
  | { readonly type: "chunk"; readonly changed: readonly RouteText[]; readonly removed: readonly string[] }
  | { readonly type: "done" }
  | ({ readonly type: "kept" } & PreviousSliceChanges)
  | { readonly type: "parsed"; readonly slice: ParsedSlice }
  | { readonly type: "parsed-changes"; readonly changes: ParsedChanges }
  | ({ readonly type: "validated" } & CandidateReport);

/** What is wrong with candidates as texts, and what of them only shows with the secrets at hand. */
export interface CandidateReport {
  readonly problems: readonly Problem[];
  readonly secrets: readonly CandidateSecret[];
  readonly certificates: readonly CandidateCertificate[];
  /** Absent with errors. */
  readonly files?: FileRules | undefined;
}

/** Name of a published slice in messages. */
export function publishedName(owner: string): string {
  return `published:${owner}`;
}

interface Signed {
  /** Equal signatures mean equal sources; undefined when reading should be tried again though nothing changes. */
  readonly signature: string | undefined;
}

/** Of what was read so far, and of more that has a key: the published slices, then what was refused. */
export function signatureWith({ signature }: Signed, { key }: { readonly key: string | number }): string | undefined {
  return signature === undefined ? undefined : `${signature} ${key}`;
}
