/**
 * Whoever gets copies of the records: the record store, and sinks. Consumers live in the thread of the records, behind the
 * authorization log.
 */
import type { Closable } from "../shared/clock.ts";

/** One record as it may be shown: what its tool was called with is there as redaction left it. */
export interface RecordCopy {
  readonly value: Readonly<Record<string, unknown>>;
}

export interface RecordConsumer extends Closable {
  /** In the order of the log; never throws, never waits. */
  take(copies: readonly RecordCopy[]): void;
  /** Resolves when all that was taken is kept (store), or in the spool (sinks). */
  flush(): Promise<void>;
  /** False: what comes cannot be kept; with `audit_required` nothing may pass then. */
  readonly canKeep: boolean;
  /** For metrics, /status and the console: plain numbers and texts, structured-clonable. */
  status(): ConsumerStatus;
}

export interface ConsumerStatus {
  readonly name: string;
  readonly kind: "record_store" | "otlp" | "http" | "syslog";
  readonly isAway: boolean;
  /** Records that are taken and not kept, or not sent. */
  readonly waiting: number;
  readonly taken: number;
  readonly lost: number;
  readonly lastError?: string;
  /** Milliseconds since the epoch. */
  readonly lastSuccessAt?: number;
}
