/** Messages between a gateway's first thread and its records thread. All can be cloned. */
import type { DeclaredArguments } from "../audit/redaction/plan.ts";
import type { RedactorOptions } from "../audit/redaction/redactor.ts";
import type { ConsumerStatus } from "../audit/record-consumer.ts";
import type { RecordStoreOptions } from "../record-store/back-end.ts";
import type { RecordSinkOptions } from "../record-sinks/options.ts";

export interface RecordThreadSettings {
  /** ID of this run of this process. */
  readonly instance: string;
  /** "stdout", a path or a descriptor, see audit/record-writer.ts. */
  readonly destination: string | number;
  readonly closeTimeoutMs: number;
  /** Redaction of copies; absent: there are none. */
  readonly redaction?: RedactorOptions;
  /** Settings for tamper-evident records. */
  readonly audit?: {
    /** Private key of the signer, 32 bytes. */
    readonly seed: Uint8Array;
    /** Last checkpoints of other runs. */
    readonly seen: readonly string[];
  };
  /** Directory for pending records of the store and sinks; absent: in memory. Sinks always have one. */
  readonly spool?: string;
  /** Opened after the log, like the sinks. */
  readonly recordStore?: RecordStoreOptions;
  readonly sinks?: readonly RecordSinkOptions[];
}

export type ToRecordThread =
  | {
      readonly type: "entries";
      readonly chunk: number;
      /**
       * Memory of that chunk, with its first batch. Shared, since transferring it would create garbage for each batch.
       */
      readonly memory: SharedArrayBuffer | undefined;
      readonly length: number;
    }
  /** The chunk is no longer used. */
  | { readonly type: "forget"; readonly chunk: number }
  /** A configuration took effect: routes with declarations for tool arguments, by key. */
  | { readonly type: "arguments"; readonly declared: ReadonlyMap<string, DeclaredArguments> }
  | { readonly type: "flush"; readonly id: number }
  | { readonly type: "reopen" }
  | { readonly type: "close" };

export interface RecordState {
  readonly canKeep: boolean;
  readonly consumers: readonly ConsumerStatus[];
}

export type LogLevel = "debug" | "info" | "warn" | "error";

export type FromRecordThread =
  | { readonly type: "ready" }
  /** The thread did not start. */
  | { readonly type: "failed"; readonly code: string; readonly message: string }
  /** The chunk's lines are in the log; it can be reused. */
  | {
      readonly type: "written";
      readonly chunk: number;
      readonly length: number;
      /** Latest checkpoint in the chunk. */
      readonly note: string | undefined;
    }
  | { readonly type: "flushed"; readonly id: number; readonly isLost: boolean }
  | { readonly type: "error"; readonly code: string; readonly message: string; readonly queued: number }
  | { readonly type: "state"; readonly state: RecordState }
  /** The thread's own line: it comes back with its position. */
  | { readonly type: "line"; readonly line: string }
  | { readonly type: "log"; readonly level: LogLevel; readonly fields: object; readonly message: string }
  | { readonly type: "closed"; readonly note: string | undefined };
