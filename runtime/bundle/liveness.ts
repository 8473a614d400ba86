/**
 * Whether a publication is active in every process that may serve.
 *
 * A process without a heartbeat is either dead, or disconnected from the store and serving its last state for some
 * minutes. So a publisher waits only some seconds for it, then names it as a laggard until its record expires.
 */
import { setTimeout as delay } from "node:timers/promises";

import type { Store } from "../store/store.ts";
import { hasEnded, type PresenceRow, readAllPresence } from "./presence.ts";

export interface Laggard {
  readonly id: string;
  readonly reason: string;
}

export interface Liveness {
  /** Processes that may serve. */
  readonly replicas: number;
  /** Processes in which it is not (yet) active. */
  readonly laggards: readonly Laggard[];
}

/** Result of waiting. "silent": active except in processes without a heartbeat. */
export type Awaited = "live" | "behind" | "silent";

export interface AwaitLive {
  readonly store: Pick<Store, "list">;
  /** Longest wait for all. */
  readonly waitMs: number;
  readonly findSilent: FindSilent;
  readonly onAwaited?: ((result: Awaited) => void) | undefined;
}

const ASK_EVERY_MS = 20;
/** After the first second, faster polling gains nothing. */
const ASK_LATER_EVERY_MS = 250;

/** Processes that may serve, as all responses about liveness count them. @throws GatewayError `store.unavailable` */
export async function readServing(store: Pick<Store, "list">): Promise<readonly PresenceRow[]> {
  return (await readAllPresence(store)).filter((row) => !hasEnded(row, Date.now() / 1000));
}

/** Waits until each process activated or rejected the generation, at most `waitMs`. */
export async function awaitLive(
  { store, waitMs, findSilent, onAwaited }: AwaitLive,
  generation: number,
  owners: readonly string[],
): Promise<Liveness> {
  const startedMs = performance.now();
  for (;;) {
    const rows = await readServing(store);
    const waitedMs = performance.now() - startedMs;
    const silent = findSilent(rows);
    const present = rows.filter((row) => !silent.has(row));
    const behind = present.filter((row) => isBehind(row, generation, owners));
    // A rejection is final: do not wait for processes that rejected.
    const refused = behind.every((row) => row.published >= generation || (row.refused?.generation ?? 0) >= generation);
    if (refused || waitedMs >= waitMs) {
      const wasAwaited = [...silent].some((row) => isBehind(row, generation, owners));
      onAwaited?.(behind.length > 0 ? "behind" : wasAwaited ? "silent" : "live");
      return livenessOf(rows, generation, owners, silent);
    }
    await delay(waitedMs < 1_000 ? ASK_EVERY_MS : ASK_LATER_EVERY_MS);
  }
}

/** Returns the rows without a new heartbeat for the configured time since they were first seen. */
export type FindSilent = (rows: readonly PresenceRow[]) => ReadonlySet<PresenceRow>;

/** Uses only this process's clock, since clocks of other hosts may differ. Observations carry over to the next call. */
export function watchSilence(silentMs: number): FindSilent {
  let known = new Map<string, { readonly seen: number; readonly atMs: number }>();
  return (rows) => {
    const nowMs = performance.now();
    const before = known;
    known = new Map();
    return new Set(
      rows.filter(({ id, seen }) => {
        const last = before.get(id);
        const atMs = last?.seen === seen ? last.atMs : nowMs;
        known.set(id, { seen, atMs });
        return last !== undefined && nowMs - atMs >= silentMs;
      }),
    );
  };
}

/** @param silent members of `rows` without a heartbeat, as known to the caller */
export function livenessOf(
  rows: readonly PresenceRow[],
  generation: number,
  owners: readonly string[],
  silent: ReadonlySet<PresenceRow> = new Set(),
): Liveness {
  const behind = rows.filter((row) => isBehind(row, generation, owners));
  const laggards = behind.map((row) => {
    const { id, reason } = laggardOf(row, generation, owners);
    return { id, reason: silent.has(row) ? `${reason}${NO_HEARTBEAT}` : reason };
  });
  return { replicas: rows.length, laggards };
}

/** Why a process can be a laggard for minutes, and when that ends. */
const NO_HEARTBEAT =
  ", without a heartbeat: it stopped, or it cannot reach the store and still serves this; ignored 5 minutes after its last heartbeat";

export function isBehind(
  { published, degraded = [] }: PresenceRow,
  generation: number,
  owners: readonly string[],
): boolean {
  return published < generation || degraded.some(({ owner }) => owners.includes(owner));
}

/** A laggard's reason without the problems, which concern all owners' configurations. */
export function withoutRefusal(reason: string): string {
  return reason.split(REFUSED, 1)[0] as string;
}

function laggardOf(
  { id, published, refused, degraded = [] }: PresenceRow,
  generation: number,
  owners: readonly string[],
): Laggard {
  const state = `is at generation ${published}`;
  if (published < generation) {
    const reason = refused ? `${state}${REFUSED}${refused.generation}: ${refused.problems.join("; ")}` : state;
    return { id, reason };
  }
  const reasons = degraded
    .filter(({ owner }) => owners.includes(owner))
    .map(({ owner, problems }) => `does not serve what "${owner}" published: ${problems.join("; ")}`);
  return { id, reason: `${state} and ${reasons.join(", ")}` };
}

/** Separates a process's generation from why it is not newer. */
export const REFUSED = " and refused ";
