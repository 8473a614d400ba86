/** Operations of a database for stored records. */
import type { Closable } from "../shared/clock.ts";
import type { Row } from "./row.ts";
import type { Bounds } from "./segments.ts";

export interface Batch {
  readonly rows: readonly Row[];
  readonly ended: readonly LateOutcome[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Outcome of a request whose record is already stored. */
export interface LateOutcome {
  /** ID of the record, unless another record had it. */
  readonly id: bigint;
  /** Part of its text, with a comma or a brace after it; unique among the texts with this ID. */
  readonly mark: string;
  readonly result: string;
  /** Null: the outcome of the decision stays. */
  readonly outcome: number | null;
}

/**
 * One writer; several may use one database. Opened by the first call, and reopened by the first one after a failure.
 */
export interface RecordBackEnd extends Closable {
  /** Writes all of it or nothing; skips records that are already stored. @throws `BackEndError` */
  write(batch: Batch): Promise<void>;
  /**
   * Does one piece of background work: a segment to drop, an index to create.
   * @returns whether there is more to do immediately
   * @throws `BackEndError`
   */
  maintain(now: number): Promise<boolean>;
}

/** Location of the records. Plain data, for other threads. */
export type RecordPlace =
  | { readonly kind: "sqlite"; readonly path: string; readonly isTemporary: boolean }
  | { readonly kind: "postgres"; readonly url: string };

export interface RecordStoreOptions extends Bounds {
  readonly place: RecordPlace;
}

export class BackEndError extends Error {
  /** busy: another writer is active, which is not a problem. */
  readonly reason: "busy" | "failed";

  constructor(reason: "busy" | "failed", message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Version of the tables; newer ones are left unchanged. 2: the column `request`. */
export const SCHEMA_VERSION = 2;

export function newerVersion(version: number): BackEndError {
  return new BackEndError(
    "failed",
    `its tables have version ${version}, this program knows versions up to ${SCHEMA_VERSION}: update the gateway, or use another database`,
  );
}
