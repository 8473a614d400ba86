/** What checks are given, what they say, and how long what was taken away may go on. Pure, like all checks. */
import type { FaultSpan, History, Operation, Outcome } from "../history/history.ts";
import type { Kind } from "../history/operations.ts";

/** A line of a record file. */
export interface Recorded {
  readonly replica: string;
  /** Of the request. */
  readonly tag: string;
}

/** A tool call that reached the upstream. */
export interface ReachedCall {
  readonly tool: string;
  /** Of its arguments. */
  readonly key: string;
}

export interface Evidence extends History {
  readonly records: readonly Recorded[];
  /** Of tools that need an approval. */
  readonly calls: readonly ReachedCall[];
  /** How long a session lasts at most. */
  readonly sessionSeconds: number;
  /** All replicas go by the clock of the store (PostgreSQL); otherwise each by its own. Default: true. */
  readonly hasOneClock?: boolean;
  /** Added to each bound in seconds, where nothing must depend on how busy the machine is. Default: 0. */
  readonly slackMs?: number;
}

export interface Violation {
  readonly text: string;
  /** Ids of the operations that show it. */
  readonly operations: readonly number[];
}

export interface Check {
  readonly name: string;
  /** What the gateway promises. */
  readonly promise: string;
  readonly find: (evidence: Evidence) => readonly Violation[];
}

/** Revocations and blocks are in force in all processes after this (operations/incidents.md). */
export const LEARNT_MS = 2_000;
/** Without a feed, what a process knows is read again after this at the latest, while the store answers (decision 10). */
export const READ_AGAIN_MS = 20_000;
/** While the store is away, whoever was verified goes on for this long (decision 10). */
export const AWAY_MS = 300_000;

/** What keeps a process from learning anything. */
const DEAF: readonly string[] = ["store", "stopped", "clock"];

export function operationsOf<K extends Kind>(history: History, kind: K): readonly Operation<K>[] {
  return history.operations.filter((each) => each.kind === kind) as unknown as readonly Operation<K>[];
}

/**
 * When a replica must know at the latest what was acknowledged at `at`.
 *
 * Within 2 s, where nothing keeps it from learning in that time. Otherwise once nothing has done so for as long as it takes to
 * read everything again; and in any case 5 minutes and that later, since then it must refuse whom it cannot ask about.
 *
 * @param replica absent: whichever was asked
 * @param slackMs of the evidence
 */
export function knownBy(faults: readonly FaultSpan[], replica: string | undefined, at: number, slackMs = 0): number {
  const deaf = faults
    .filter(({ disturbs }) => disturbs.some((each) => DEAF.includes(each)))
    .filter(({ replicas }) => replica === undefined || replicas.includes(replica))
    .toSorted((a, b) => a.began - b.began);
  let from = at;
  let within = LEARNT_MS + slackMs;
  for (const { began, ended } of deaf) {
    if (ended < from || began > from + within) continue;
    from = Math.max(from, ended);
    within = READ_AGAIN_MS + LEARNT_MS + slackMs;
  }
  return Math.min(from + within, at + AWAY_MS + READ_AGAIN_MS + LEARNT_MS + slackMs);
}

/** @returns by key, in the order of the operations */
export function groupBy<T>(all: readonly T[], keyOf: (each: T) => string): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(all, keyOf);
}

export function isDone({ outcome }: { readonly outcome: Outcome }): boolean {
  return outcome === "ok";
}

/** Done, or perhaps done. */
export function mayBeDone({ outcome }: { readonly outcome: Outcome }): boolean {
  return outcome !== "refused";
}
