/**
 * Whoever gets copies of the records: the record store, and sinks. Consumers live in the thread of the records, behind the
 * authorization log.
 */
import type { Closable } from "../shared/clock.ts";

/** One record as it may be shown: what its tool was called with is there as redaction left it. */
export interface RecordCopy {
  readonly value: Readonly<Record<string, unknown>>;
}

/** One of them: it reads the queue of the copies (`record-queue/`) at its own pace. */
export interface RecordConsumer extends Closable {
  /** Resolves when all that was taken is kept. */
  flush?(): Promise<void>;
  /** False: what comes cannot be kept; with `audit_required` nothing may pass then. */
  readonly canKeep: boolean;
  /** For metrics, /status and the console: plain numbers and texts, structured-clonable. */
  status(): ConsumerStatus;
}

/** All of them, with their queue. */
export interface RecordConsumers extends Closable {
  /** In the order of the log; never throws, never waits. */
  take(copies: readonly RecordCopy[]): void;
  /** Resolves when all that was taken is kept (store), or in the spool (sinks). */
  flush(): Promise<void>;
  readonly canKeep: boolean;
  status(): readonly ConsumerStatus[];
}

/** The operator's log, as the thread of the records hands it on. Messages are constants. */
export interface ConsumerLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
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
