/** Messages between the bundle and its validating thread. Everything in them is plain data. */
import type { Problem, SliceSource } from "../config/load.ts";
import type { ValuePath } from "../config/problem.ts";
import type { BootDoc, SettingsDoc } from "../config/settings.ts";
import type { SecretNeeds } from "./secret-needs.ts";

export interface SliceStatus {
  readonly owner: string;
  readonly file: string;
  /** No error in this slice. */
  readonly ok: boolean;
  readonly problems: readonly Problem[];
}

/** A checked route; the document is in `text`, canonical JSON. */
export interface RouteText {
  readonly key: string;
  readonly owner: string;
  readonly name: string;
  readonly text: string;
}

export interface CheckedSettings {
  readonly boot: BootDoc;
  readonly settings: SettingsDoc;
  readonly digest: string;
  /** Of settings and all routes. */
  readonly needs: SecretNeeds;
}

export interface Findings {
  readonly problems: readonly Problem[];
  readonly slices: readonly SliceStatus[];
  /** Where a change would show. */
  readonly directories: readonly string[];
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

/** A secret that a slice to be published asks for. */
export interface CandidateSecret {
  readonly file: string;
  readonly path: ValuePath;
  readonly form: "ref" | "sealed";
  readonly values: readonly string[];
}

export type ToWorker =
  /** Read and validate; `published` stays what it was when absent. */
  | { readonly type: "load"; readonly published?: PublishedSources }
  /** Validate as if these were published, and hand nothing over. @param candidates files that are to be published */
  | { readonly type: "judge"; readonly published: PublishedSources; readonly candidates: readonly string[] }
  /** The last chunk was taken in; send the next. */
  | { readonly type: "ack" };

export type FromWorker =
  /** Nothing changed since the last load. */
  | { readonly type: "unchanged" }
  | ({ readonly type: "bad" } & Findings)
  /** Chunks follow. `fresh`: forget all routes first. */
  | ({ readonly type: "good"; readonly fresh: boolean } & Findings & CheckedSettings)
  | { readonly type: "chunk"; readonly changed: readonly RouteText[]; readonly removed: readonly string[] }
  | { readonly type: "done" }
  | { readonly type: "judged"; readonly problems: readonly Problem[]; readonly secrets: readonly CandidateSecret[] };
