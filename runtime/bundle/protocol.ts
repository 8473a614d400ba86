/** Messages between the bundle and its validating thread. Everything in them is plain data. */
import type { Problem } from "../config/load.ts";
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

export type ToWorker =
  /** Read and validate. */
  | { readonly type: "load" }
  /** The last chunk was taken in; send the next. */
  | { readonly type: "ack" };

export type FromWorker =
  /** Nothing changed since the last load. */
  | { readonly type: "unchanged" }
  | ({ readonly type: "bad" } & Findings)
  /** Chunks follow. `fresh`: forget all routes first. */
  | ({ readonly type: "good"; readonly fresh: boolean } & Findings & CheckedSettings)
  | { readonly type: "chunk"; readonly changed: readonly RouteText[]; readonly removed: readonly string[] }
  | { readonly type: "done" };
