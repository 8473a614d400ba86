/**
 * Consumers of copies of the records: the record store, and sinks. They run in the thread of the records, after the
 * authorization log.
 */
import type { Closable } from "../shared/clock.ts";

/** One record in the form that may be shown, with redacted tool arguments. */
export interface RecordCopy {
  readonly value: Readonly<Record<string, unknown>>;
}

/** One consumer: it reads the queue of the copies (`record-queue/`) at its own pace. */
export interface RecordConsumer extends Closable {
  /** Resolves when all accepted records are stored. */
  flush?(): Promise<void>;
  /** False: records cannot be stored; with `audit_required` all requests are then denied. */
  readonly canKeep: boolean;
  /** For metrics, /status and the console: plain numbers and texts, structured-clonable. */
  status(): ConsumerStatus;
}

/** All consumers, with their queue. */
export interface RecordConsumers extends Closable {
  /** Takes records in the order of the log; never throws, never waits. */
  take(copies: readonly RecordCopy[]): void;
  /** Resolves when all accepted records are stored (store), or spooled (sinks). */
  flush(): Promise<void>;
  readonly canKeep: boolean;
  status(): readonly ConsumerStatus[];
}

/** The operator's log, passed on by the records thread. Messages are constants. */
export interface ConsumerLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

export interface ConsumerStatus {
  readonly name: string;
  readonly kind: "record_store" | "otlp" | "http" | "syslog";
  readonly isAway: boolean;
  /** Accepted records that are not stored or sent yet. */
  readonly waiting: number;
  readonly taken: number;
  readonly lost: number;
  readonly lastError?: string;
  /** Milliseconds since the epoch. */
  readonly lastSuccessAt?: number;
}
