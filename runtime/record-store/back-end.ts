/** What a database does for the records that are kept. */
import type { Closable } from "../shared/clock.ts";
import type { Row } from "./row.ts";
import type { Bounds } from "./segments.ts";

export interface Batch {
  readonly rows: readonly Row[];
  readonly ended: readonly LateOutcome[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** What became of the request of a record that was written before. */
export interface LateOutcome {
  /** That the record has, unless another one had it. */
  readonly id: bigint;
  /** Stands in its text, with a comma or a brace behind it, and in no other one's of this id. */
  readonly mark: string;
  readonly result: string;
  /** Null: as it was decided. */
  readonly outcome: number | null;
}

/** One writer; several may work on one database. Opened by the first call, and again by the first one after a failure. */
export interface RecordBackEnd extends Closable {
  /** All of it or nothing; a record that was written already is not written again. @throws `BackEndError` */
  write(batch: Batch): Promise<void>;
  /**
   * One piece of what is to be done beside: a segment that is over, an index.
   * @returns whether there is more to do at once
   * @throws `BackEndError`
   */
  maintain(now: number): Promise<boolean>;
}

/** Where the records lie. Plain: it is handed to threads. */
export type RecordPlace =
  | { readonly kind: "sqlite"; readonly path: string; readonly isTemporary: boolean }
  | { readonly kind: "postgres"; readonly url: string };

export interface RecordStoreOptions extends Bounds {
  readonly place: RecordPlace;
}

export class BackEndError extends Error {
  /** busy: another writer has its turn, and nothing is wrong. */
  readonly reason: "busy" | "failed";

  constructor(reason: "busy" | "failed", message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Of the tables; a newer one is left alone. 2: the column `request`. */
export const SCHEMA_VERSION = 2;

export function newerVersion(version: number): BackEndError {
  return new BackEndError(
    "failed",
    `its tables have version ${version}, this program knows versions up to ${SCHEMA_VERSION}: update, or name another place`,
  );
}
