/**
 * Heartbeat of this process in the store, with its active configuration. Publishers use it to see that a change is
 * live.
 *
 * The record of a killed process stays as long as a process can serve without the store, because a publisher cannot
 * distinguish the two. All other readers count a process for 20 s.
 */
import { hostname } from "node:os";

import { errorText } from "../shared/errors.ts";
import { isRunning, processSpace } from "../shared/net/process-space.ts";
import { randomSecret } from "../shared/keys.ts";
import type { Log } from "../shared/log.ts";
import { epochSeconds, type Closable, type Clock } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { WITHOUT_STORE_MS } from "../store/watch/store-health.ts";
import type { Bundle } from "./bundle.ts";
import { publishedName } from "./validation/protocol.ts";
import type { DegradedStatus } from "./report.ts";
import { recur } from "../shared/timing/recurring.ts";

export interface PresenceRow {
  readonly id: string;
  /** Digest of the active snapshot. */
  readonly digest: string;
  /** Generation of the active publication; 0 if nothing was ever published. */
  readonly published: number;
  /** A later generation that this process rejected. */
  readonly refused?: { readonly generation: number; readonly problems: readonly string[] };
  /** Owners whose published slice this process does not serve. */
  readonly degraded?: readonly { readonly owner: string; readonly problems: readonly string[] }[];
  /** IDs of its shared secrets, current first; absent without one, and in records of older versions. */
  readonly secrets?: readonly string[];
  /** Process namespace of the number in the id; absent in records of older versions. */
  readonly space?: string;
  /** Epoch seconds. */
  readonly seen: number;
}

export interface PresenceDeps {
  readonly store: Store;
  /** Id of this process, unique among all processes that share the store. */
  readonly id: string;
  readonly bundle: Pick<Bundle, "status" | "onReport">;
  /** IDs of the shared secrets, current first; absent without one. */
  readonly secrets?: readonly string[] | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export const PRESENCE_TAG = "status";
const BEAT_EVERY_MS = 2_000;
/** Two heartbeats may be lost before a publisher stops waiting for a process. */
export const SILENT_AFTER_MS = 5_000;
/** Other readers count a process for longer, so that a short store outage loses none. */
const COUNTED_SECONDS = 20;
/** Until then a process without the store may serve its last state, so a publisher must name it. */
const EXPIRES_AFTER_SECONDS = WITHOUT_STORE_MS / 1000 + COUNTED_SECONDS;
/** Heartbeat that removes predecessors again: the record of one killed just before our start is too recent at first. */
const CLEANUP_AT_BEAT = 4;
/** Enough for an operator to see why; the rest is in that process's log. */
const MAX_PROBLEMS = 5;
const MAX_EXPLAINED = 50;

/** Processes with a heartbeat in the last 20 s. @throws GatewayError `store.unavailable` */
export async function readPresence(store: Pick<Store, "list" | "now">): Promise<readonly PresenceRow[]> {
  const [rows, now] = await Promise.all([readAllPresence(store), store.now()]);
  return rows.filter(({ seen }) => now - seen < COUNTED_SECONDS);
}

/**
 * Processes that may serve, including those without a heartbeat for minutes. @throws GatewayError `store.unavailable`
 */
export async function readAllPresence(store: Pick<Store, "list">): Promise<readonly PresenceRow[]> {
  return (await store.list<PresenceRow>(PRESENCE_TAG)).map(({ value }) => value);
}

/**
 * Whether a process of this host has certainly ended: its record is old, and no process has its number.
 *
 * @param own name of the calling process; an old record with the same process number is from an earlier container on
 *   this host
 */
export function hasEnded({ id, seen, space }: PresenceRow, nowSeconds: number, own?: string): boolean {
  const prefix = `${hostname()}-`;
  if (!id.startsWith(prefix) || nowSeconds - seen < SILENT_AFTER_MS / 1000) return false;
  const named = /^(\d+)-[\w-]{4}(?:\/\d+)?$/.exec(id.slice(prefix.length));
  if (!named) return false;
  const pid = Number(named[1]);
  if (pid === process.pid) return own !== undefined && baseOf(id) !== baseOf(own);
  // From another host or container with the same name: it may serve.
  if (space !== processSpace()) return false;
  return !isRunning(pid);
}

/** Removes a worker's suffix, leaving its supervisor's name. */
function baseOf(id: string): string {
  return id.replace(/\/\d+$/, "");
}

export function presenceKey(id: string): string {
  return `status:${id}`;
}

/** Unique name for this process that shows an operator where it runs. */
export function processName(): string {
  return `${hostname()}-${process.pid}-${randomSecret(3)}`;
}

/** Resolves after the first heartbeat was written or failed. */
export async function startPresence({ store, id, bundle, secrets, clock, log }: PresenceDeps): Promise<Closable> {
  let closed = false;
  let writing = Promise.resolve();
  let queued = false;
  let beats = 0;
  const unsubscribe = bundle.onReport(() => void beat());
  const stopTimer = recur("heartbeat", BEAT_EVERY_MS, beat);
  await beat();
  await removeEnded();

  return {
    async close() {
      closed = true;
      unsubscribe();
      stopTimer();
      await writing;
      // Otherwise publishers wait for this process until the record expires.
      await store.delete(presenceKey(id)).catch(() => false);
    },
  };

  /** One write at a time; changes during a write go into the next one. */
  function beat(): Promise<void> {
    if (queued) return writing;
    queued = true;
    return (writing = writing.then(async () => {
      queued = false;
      if (closed) return;
      beats += 1;
      if (beats === CLEANUP_AT_BEAT) void removeEnded();
      try {
        await store.put(presenceKey(id), row(), {
          tags: [PRESENCE_TAG],
          expiresAt: nowSeconds() + EXPIRES_AFTER_SECONDS,
        });
      } catch (error) {
        log.debug({ reason: errorText(error) }, "cannot write heartbeat");
      }
    }));
  }

  /** A killed process leaves its record, and publishers would name it as a laggard until that expires. */
  async function removeEnded(): Promise<void> {
    try {
      for (const each of await readAllPresence(store))
        if (hasEnded(each, nowSeconds(), id)) await store.delete(presenceKey(each.id));
    } catch (error) {
      log.debug({ reason: errorText(error) }, "cannot remove entries of ended processes");
    }
  }

  function row(): PresenceRow {
    const { digest, published, lastError, degraded } = bundle.status();
    const common = {
      id,
      digest,
      ...(secrets && { secrets }),
      space: processSpace(),
      seen: nowSeconds(),
      ...behind(degraded),
    };
    if (!published) return { ...common, published: 0 };
    const { generation, inForce } = published;
    if (!lastError || lastError.partial || generation <= inForce) return { ...common, published: inForce };
    const problems = lastError.problems.slice(0, MAX_PROBLEMS);
    return { ...common, published: inForce, refused: { generation, problems } };
  }

  function nowSeconds(): number {
    return epochSeconds(clock);
  }
}

/** Degraded owners of published slices, which publishers check; the first few with their reasons. */
function behind(degraded: readonly DegradedStatus[]): Pick<PresenceRow, "degraded"> {
  const published = degraded.filter(({ owner, files, late }) => late !== true && files.includes(publishedName(owner)));
  if (published.length === 0) return {};
  const reasons = (problems: readonly string[], index: number): readonly string[] =>
    index < MAX_EXPLAINED ? problems.slice(0, MAX_PROBLEMS) : [];
  return { degraded: published.map(({ owner, problems }, index) => ({ owner, problems: reasons(problems, index) })) };
}
