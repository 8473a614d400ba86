/**
 * The history of a soak: every operation's call and return, and the spans of faults, on one clock, in memory and as JSON lines in a
 * file. One process makes all traffic and strikes all faults, so the order of its events is the order of the world as far as anybody
 * outside can see it: an operation took effect somewhere between its call and its return, or, where no answer came, perhaps at
 * any time after its call, perhaps never.
 */
import { createHash } from "node:crypto";
import { closeSync, openSync, writeSync } from "node:fs";

import type { Kind, Operation, Operations, Outcome } from "./operations.ts";

export type { Kind, Operation, Operations, Outcome } from "./operations.ts";

/** What a fault keeps from working, as far as checks have to know it. */
export type Disturbance =
  /** The store gives no answers (or none in time), so the feed neither. */
  | "store"
  /** The store answers and takes no writes. */
  | "writes"
  /** Processes end with what they hold in memory. */
  | "killed"
  /** Processes stand still. */
  | "stopped"
  /** Their wall clock is stepped. */
  | "clock"
  /** Records of decisions cannot be written. */
  | "records"
  /** Connections between clients and replicas, or replicas and upstreams, break. */
  | "network"
  | "provider"
  | "upstream"
  /** A replica keeps the configuration that it has. */
  | "bundle";

/** From before a fault strikes until after it is healed. */
export interface FaultSpan {
  readonly id: number;
  /** "store-killed" */
  readonly family: string;
  readonly disturbs: readonly Disturbance[];
  /** The replicas that it touches. */
  readonly replicas: readonly string[];
  readonly detail?: string;
  readonly began: number;
  /** Healed; Infinity while it lasts. */
  readonly ended: number;
  /** When all kinds of traffic had their first success after it was healed. */
  readonly recovered?: number;
}

/** What checks are given. */
export interface History {
  readonly operations: readonly Operation[];
  readonly faults: readonly FaultSpan[];
}

export interface OpenOperation<K extends Kind> {
  readonly began: number;
  /** Once; later calls change nothing. */
  end(outcome: Outcome, facts?: Partial<Operations[K]["end"]>): void;
}

export interface OpenFault {
  /** To be called when it is healed. */
  end(): void;
  /** To be called when all traffic works again. */
  recovered(): void;
}

export interface By {
  readonly actor: string;
  readonly replica?: string;
}

export interface Recorder extends History {
  begin<K extends Kind>(kind: K, by: By, facts: Operations[K]["begin"]): OpenOperation<K>;
  /** To be called before it strikes. */
  fault(span: Pick<FaultSpan, "family" | "disturbs" | "replicas" | "detail">): OpenFault;
  /** Ends what is open (unknown) and closes the file. */
  close(): void;
}

export interface RecorderOptions {
  /** Milliseconds since the soak began; never goes back. */
  readonly now: () => number;
  /** Where its lines go; absent: nowhere. */
  readonly file?: string;
  /** Told each operation as it ends: for progress and figures. */
  readonly onEnd?: (operation: Operation) => void;
}

/** Short name of a secret or an id, equal for equal ones: no history says what could be used. */
export function mark(value: string): string {
  return createHash("sha256").update(value).digest("base64url").slice(0, 16);
}

const LINES_AT_ONCE = 512;

export function createRecorder({ now, file, onEnd }: RecorderOptions): Recorder {
  type Writable<T> = { -readonly [P in keyof T]: T[P] };
  const operations: Operation[] = [];
  const faults: Writable<FaultSpan>[] = [];
  const open = new Map<number, OpenOperation<Kind>>();
  const descriptor = file === undefined ? undefined : openSync(file, "w", 0o600);
  let lines: string[] = [];
  const flush = (): void => {
    if (descriptor !== undefined && lines.length > 0) writeSync(descriptor, `${lines.join("\n")}\n`);
    lines = [];
  };
  const keep = (line: object): void => {
    if (descriptor === undefined) return;
    lines.push(JSON.stringify(line));
    if (lines.length >= LINES_AT_ONCE) flush();
  };

  return {
    operations,
    faults,
    begin: (kind, by, facts) => {
      const operation = {
        id: operations.length,
        kind,
        ...by,
        began: now(),
        ended: Infinity,
        outcome: "unknown" as Outcome,
        facts: facts as object,
      };
      operations.push(operation as Operation);
      const end = (outcome: Outcome, more: object = {}): void => {
        if (!open.delete(operation.id)) return;
        // One without an answer may take effect later: only an answer bounds it.
        if (outcome !== "unknown") operation.ended = now();
        operation.outcome = outcome;
        operation.facts = { ...operation.facts, ...more };
        keep(operation);
        onEnd?.(operation as Operation);
      };
      const handle = { began: operation.began, end };
      open.set(operation.id, handle);
      return handle;
    },
    fault: (span) => {
      const fault: Writable<FaultSpan> = { id: faults.length, ...span, began: now(), ended: Infinity };
      faults.push(fault);
      return {
        end: () => {
          fault.ended = now();
          keep({ fault });
        },
        recovered: () => {
          fault.recovered = now();
          keep({ fault });
        },
      };
    },
    close: () => {
      for (const each of open.values()) each.end("unknown");
      flush();
      if (descriptor !== undefined) closeSync(descriptor);
    },
  };
}
