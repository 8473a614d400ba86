/**
 * Tools that have changed under a lock, as known to all processes: one process serves the list, another the call.
 *
 * `tool-drift:<hash>`: one record per route, with the tools whose last listed definition differed from the lock.
 * Promises: drift seen by one process is denied by all others within 2 s, also by those started later. While the store
 * is unavailable, each process uses its own knowledge, and shares it afterwards. A server that changes its tools in
 * every list costs one write per second, and space for the locked names.
 */
import { hashSecret } from "../../shared/keys.ts";
import { isRecord } from "../../shared/is-record.ts";
import { epochSeconds, type Closable, type Clock } from "../../shared/clock.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { followFeed } from "../../store/follow-feed.ts";
import { firstFormats } from "../../store/formats.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import { keyLabel } from "../../features/mcp/locked-items.ts";
import { pageOf, type PageOf, type PageRequest } from "../../store/page-of.ts";
import { isOwnKey, isSeenKey, MAX_OWN, toolOfKey, type DriftChanges } from "./seen-tools.ts";
import { createToolLocks, type ToolLocks } from "./tool-locks.ts";

export const DRIFT_FEED = "tool-drift";
const TAG = "tool-drift";
const PREFIX = "tool-drift:";
export const DRIFT_FORMATS = firstFormats(["tool-drift"]);

/** From the last change of a route's tools; a process started later learns of them from a list. */
const RECORD_SECONDS = 90 * 24 * 3600;
const ENTRY_SECONDS = 3600;
/** Per route; far above the number of locked tools. */
const MAX_TOOLS = 10_000;
const MAX_ATTEMPTS = 5;
/** Between two writes: changes in every list are sent with the reads of the feed. */
const MIN_PAUSE_MS = 1_000;

interface DriftRecord {
  readonly route: string;
  /** Name, or key of a name and its viewer (seen-tools.ts), and the listed digest. */
  readonly tools: readonly (readonly [string, string])[];
}

export interface DriftDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** @throws GatewayError `store.unavailable` */
export async function openToolLocks({ store, clock, log }: DriftDeps): Promise<ToolLocks & Closable> {
  const pending = new Map<string, Map<string, string | undefined>>();
  let isStale = true;
  let working: Promise<void> | undefined;
  let workedAtMs = -Infinity;

  const locks = createToolLocks((routeKey, changes) => {
    const waiting = pending.get(routeKey) ?? new Map<string, string | undefined>();
    pending.set(routeKey, waiting);
    for (const [tool, digest] of changes) waiting.set(tool, digest);
    // New drift is written immediately; everything else with the next read.
    const isDrift = [...changes.values()].some((digest) => digest !== undefined);
    if (isDrift && !working && performance.now() - workedAtMs > MIN_PAUSE_MS) work();
  });

  const readAll = async (): Promise<void> => {
    isStale = false;
    try {
      for (const { value } of await store.list<DriftRecord>(TAG)) {
        if (!isDriftRecord(value)) continue;
        locks.learn(value.route, new Map(value.tools), pending.get(value.route) ?? NOTHING);
      }
    } catch (error) {
      isStale = true;
      throw error;
    }
  };

  const writeAll = async (): Promise<void> => {
    // Only the present ones: later changes wait for the next write.
    for (const [routeKey, changes] of Array.from(pending)) {
      const taken = new Map(changes);
      await writeRoute(routeKey, taken);
      for (const [tool, digest] of taken) if (changes.get(tool) === digest) changes.delete(tool);
      if (changes.size === 0) pending.delete(routeKey);
      await store.append(DRIFT_FEED, "changed", epochSeconds(clock) + ENTRY_SECONDS);
    }
  };

  const writeRoute = async (route: string, changes: DriftChanges): Promise<void> => {
    const key = PREFIX + hashSecret(route);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const record = await store.get<DriftRecord>(key);
      const tools = new Map(isDriftRecord(record?.value) ? record.value.tools : []);
      for (const [tool, digest] of changes) {
        if (digest === undefined) tools.delete(tool);
        else tools.set(tool, digest);
      }
      const value: DriftRecord = { route, tools: bounded([...tools]) };
      const expiresAt = epochSeconds(clock) + RECORD_SECONDS;
      const put = await store.put(key, value, { ifVersion: record?.version ?? 0, tags: [TAG], expiresAt });
      if (put.ok) return;
    }
    throw new TypeError("others were faster each time");
  };

  /** One at a time; failed writes are retried with the next read of the feed. */
  const work = (): void => {
    workedAtMs = performance.now();
    working = (async () => {
      await writeAll();
      if (isStale) await readAll();
    })()
      .catch((error: unknown) => log.warn({ reason: errorText(error) }, "cannot share drift of locked tools"))
      .finally(() => (working = undefined));
  };

  const follower = followFeed({
    store,
    log,
    feed: DRIFT_FEED,
    onEntry: () => (isStale = true),
    onRead() {
      if (!working && (isStale || pending.size > 0)) work();
    },
    wantsRead: () => isStale || pending.size > 0,
  });
  try {
    await readAll();
  } catch (error) {
    await follower.close();
    throw error;
  }

  return {
    ...locks,
    follow(routes) {
      locks.follow(routes);
      // Records may exist for a route that was added again.
      isStale = true;
    },
    async close() {
      await follower.close();
      await working;
    },
  };
}

/** Entries that count for all viewers come before those for some. */
function bounded(tools: DriftRecord["tools"]): DriftRecord["tools"] {
  const {
    own = [],
    seen = [],
    all = [],
  } = Object.groupBy(tools, ([key]) => (isOwnKey(key) ? "own" : isSeenKey(key) ? "seen" : "all"));
  return [...all.slice(-MAX_TOOLS), ...seen.slice(-MAX_TOOLS), ...own.slice(-MAX_OWN)];
}

const NOTHING: DriftChanges = new Map();

function isDriftRecord(value: unknown): value is DriftRecord {
  return isRecord(value) && typeof value["route"] === "string" && Array.isArray(value["tools"]);
}

/** Items of a route whose last listed definition differs from the lock. */
export interface RouteDrift {
  readonly id: string;
  readonly routeKey: string;
  /** "tool drop": listed to all viewers, and to some. */
  readonly forAll: readonly string[];
  readonly forSome: readonly string[];
}

/** @throws GatewayError `store.unavailable` */
export async function pageDrift(store: Pick<Store, "page">, page: PageRequest): Promise<PageOf<RouteDrift>> {
  const { found, ...rest } = await pageOf(store, { prefix: PREFIX, tag: TAG }, page, toDrift);
  return { ...rest, found: found.filter((drift) => drift !== undefined) };
}

/** @throws GatewayError `store.unavailable` */
export async function findDrift(store: Pick<Store, "get">, id: string): Promise<RouteDrift | undefined> {
  const record = await store.get<DriftRecord>(PREFIX + id);
  return record && toDrift(record);
}

/** @returns undefined: nothing differs now, or the record is unreadable */
function toDrift({ key, value }: StoredRecord<DriftRecord>): RouteDrift | undefined {
  if (!isDriftRecord(value)) return undefined;
  const keys = value.tools.flatMap(([each]) => (isSeenKey(each) ? [] : [each]));
  const { some = [], all = [] } = Object.groupBy(keys, (each) => (isOwnKey(each) ? "some" : "all"));
  const forSome = [...new Set(some.map((each) => keyLabel(toolOfKey(each))))];
  const drift = { id: key.slice(PREFIX.length), routeKey: value.route, forAll: all.map(keyLabel), forSome };
  return keys.length === 0 ? undefined : drift;
}
