/** Messages between the bundle and its validation thread. All are plain data. */
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
  /** Version that serves its owner, if not this slice. */
  readonly standing?: Exclude<ServedFrom, "current">;
}

/** An owner who is not served from the current version. */
export interface DegradedOwner {
  /** "unknown" for a file without a known owner. */
  readonly owner: string;
  readonly standing: Exclude<ServedFrom, "current">;
  readonly files: readonly string[];
  readonly problems: readonly Problem[];
  /** The current version is active, but some of its secrets could not be refreshed. */
  readonly late?: true;
}

/** An owner's last active slice, for the store. */
export interface SealedSlice {
  readonly owner: string;
  /** Active since (epoch milliseconds); null if not active now. */
  readonly since: number | null;
  /** Files and texts, sealed. */
  readonly sealed: string;
}

/** Changes of the previous slices after a configuration became active. */
export interface PreviousSliceChanges {
  /** `sealed` only if the text changed. */
  readonly changed: readonly (Omit<SealedSlice, "sealed"> & { readonly sealed?: string })[];
  /** Owners who no longer have a slice. */
  readonly removed: readonly string[];
}

/** Reasons why a checked configuration was rejected at compilation. */
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
  /** By host; at most one each, so they are sent in one message. */
  readonly certificates: readonly CertificateText[];
  /** Needs of settings, certificates and all routes. */
  readonly needs: SecretNeeds;
}

export interface ValidationReport {
  readonly problems: readonly Problem[];
  readonly slices: readonly SliceStatus[];
  readonly degraded: readonly DegradedOwner[];
  /** Number of owners served from their current version; the main configuration file does not count. */
  readonly currentOwners: number;
  /** Directories that the process watches for changes of the sources. */
  readonly directories: readonly string[];
  /** Signature of the sources, see `signatureWith`; undefined: read again even if nothing changes. */
  readonly signature: string | undefined;
}

export interface PublishedSource extends SliceSource {
  readonly boot: false;
}

/** The published slices, in addition to the files. */
export interface PublishedSources {
  /** Equal keys mean equal sources. */
  readonly key: string;
  readonly sources: readonly PublishedSource[];
}

/** Parsed slice of a publisher: the digest of its canonical JSON, or its problems. */
export type ParsedSlice =
  | { readonly ok: true; readonly digest: string }
  | { readonly ok: false; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly message: string };

/** Parsed slices of several owners, or the problem of the first invalid one. */
export type ParsedChanges =
  | { readonly ok: true; readonly changes: readonly SliceChange[] }
  | { readonly ok: false; readonly message: string };

/** A secret that a slice to be published needs. */
export interface CandidateSecret {
  readonly file: string;
  readonly owner: string;
  readonly path: ValuePath;
  readonly form: "ref" | "sealed";
  readonly values: readonly string[];
}

/** A certificate of a slice to be published. */
export interface CandidateCertificate extends CertificateText {
  readonly file: string;
  readonly path: ValuePath;
}

export type ToValidator =
  /** Reads and validates; absent `published`: unchanged. */
  | {
      readonly type: "load";
      readonly published?: PublishedSources;
      readonly refusals: Refusals;
      /** For a thread without any. */
      readonly kept?: readonly SealedSlice[];
    }
  /**
   * Validates as if these were published, without handing anything over. @param candidates owners whose slices are to
   * be published
   * @param kept for a thread that never loads
   */
  | {
      readonly type: "validate";
      readonly published: PublishedSources;
      readonly candidates: readonly string[];
      readonly kept?: readonly SealedSlice[];
    }
  /** The last load is active. @param at epoch milliseconds */
  | { readonly type: "in-force"; readonly at: number }
  /** Parses a publisher's slice. */
  | { readonly type: "parse"; readonly text: string; readonly owner: string }
  /** Parses slices of several owners. */
  | { readonly type: "parse-changes"; readonly text: string }
  /** The last chunk was received; send the next. */
  | { readonly type: "ack" };

export type FromValidator =
  /** Nothing changed since the last load. */
  | { readonly type: "unchanged" }
  | ({ readonly type: "bad" } & ValidationReport)
  /** Chunks follow. `fresh`: drop all routes first. */
  | ({ readonly type: "good"; readonly fresh: boolean } & ValidationReport & CheckedSettings)
  | { readonly type: "chunk"; readonly changed: readonly RouteText[]; readonly removed: readonly string[] }
  | { readonly type: "done" }
  | ({ readonly type: "kept" } & PreviousSliceChanges)
  | { readonly type: "parsed"; readonly slice: ParsedSlice }
  | { readonly type: "parsed-changes"; readonly changes: ParsedChanges }
  | ({ readonly type: "validated" } & CandidateReport);

/** Problems of the candidates' texts, and parts that can only be validated with secrets. */
export interface CandidateReport {
  readonly problems: readonly Problem[];
  readonly secrets: readonly CandidateSecret[];
  readonly certificates: readonly CandidateCertificate[];
  /** Absent if there are errors. */
  readonly files?: FileRules | undefined;
}

/** Name of a published slice in messages. */
export function publishedName(owner: string): string {
  return `published:${owner}`;
}

interface Signed {
  /** Equal signatures mean equal sources; undefined: read again even if nothing changes. */
  readonly signature: string | undefined;
}

/** Combines the signature of the sources with a key: of the published slices, then of the refusals. */
export function signatureWith({ signature }: Signed, { key }: { readonly key: string | number }): string | undefined {
  return signature === undefined ? undefined : `${signature} ${key}`;
}
