/**
 * `rate_limits` of routes: whether a request that policy let pass is within all of them.
 *
 * Untrusted input: none that is not bounded. Users and clients have been authenticated, and only tools that a limit names
 * are counted apart, so that nobody fills memory or store with names of their own. Promises: a request that is refused
 * counts for none of the limits; an error is no yes.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { RateLimit } from "../features/limits/compiled.ts";
import type { Closable, Clock } from "../shared/clock.ts";
import { type Gate, type Taken, UNAVAILABLE_MS } from "./gate.ts";
import { createRequestGate } from "./request-gate.ts";
import { createSharedCounts, type SharedCountsDeps } from "./shared-counts.ts";
import { createSlotGate } from "./slot-gate.ts";
import { task } from "../shared/faults/guard.ts";

/** Who asks, and for what. */
export interface LimitFacts {
  readonly user: string | undefined;
  readonly client: string | undefined;
  /** Of a tool call. */
  readonly tool: string | undefined;
}

/** The request is over a limit. */
export interface OverLimit {
  readonly ok: false;
  readonly limit: RateLimit;
  /** All limits that the request had to be within. */
  readonly limits: readonly RateLimit[];
  readonly retryAfterMs: number;
}

/** The store is away, and the limit is not counted without it. */
export interface NotCounted {
  readonly ok: false;
  readonly limit: RateLimit;
  readonly retryAfterMs: undefined;
}

export type Limited = OverLimit | NotCounted;

export interface Admitted {
  readonly ok: true;
  /** To be called when the request is over, where it counts for a limit of requests at a time. */
  readonly release: (() => void) | undefined;
}

export type Admission = Admitted | Limited;

/** What has become of requests, by limit. */
export interface LimitCounts {
  readonly route: string;
  readonly limit: string;
  /** Refused: over the limit. */
  limited: number;
  /** Refused: nobody could tell. */
  unavailable: number;
  /** Let pass by a count of this process alone. */
  alone: number;
}

export interface RateLimits extends Closable {
  /** A promise only where the store must be waited for. */
  take(route: CompiledRoute, facts: LimitFacts): Admission | Promise<Admission>;
  /** For metrics. */
  counts(): Iterable<LimitCounts>;
  /** Gives back, renews and forgets what is due. Called by itself once a second; tests call it. */
  tend(): void;
}

export interface RateLimitsDeps extends Omit<SharedCountsDeps, "clock"> {
  readonly clock: Clock;
  readonly snapshots: { current(): Snapshot; subscribe(listener: (next: Snapshot) => void): () => void };
}

interface RouteGate {
  readonly limit: RateLimit;
  readonly gate: Gate;
  readonly counts: LimitCounts;
}

const TEND_MS = 1_000;
/** Ticks between two looks at how many processes there are. */
const LOOK_EVERY = 10;
/** By then those that start together have shown signs of life. */
const SOON = 2;
const NOTHING_HELD: Admitted = { ok: true, release: undefined };

export function createRateLimits(deps: RateLimitsDeps): RateLimits {
  /** By what they count and how: they outlive a change of the configuration that does not change them. */
  const gates = new Map<string, RouteGate>();
  /** By route and name: under a changed configuration an older gate may still be there for what it holds. */
  const tallies = new Map<string, LimitCounts>();
  let ofRoutes = new WeakMap<CompiledRoute, readonly RouteGate[]>();
  let latestMs = deps.clock.now();
  const clock: Clock = { now: readClock };
  const shared = createSharedCounts({ ...deps, clock });
  let inForce = new Set<string>();
  let ticks = 0;

  follow(deps.snapshots.current());
  const unsubscribe = deps.snapshots.subscribe(follow);
  const timer = setInterval(task("the upkeep of rate limits", tend), TEND_MS);
  timer.unref();

  return {
    take(route, facts) {
      const all = gatesOf(route);
      const nowMs = readClock();
      return (all.length > 1 && refuseAtOnce(all, facts, nowMs)) || takeFrom(all, 0, facts, [], nowMs);
    },
    *counts() {
      yield* tallies.values();
    },
    tend,
    async close() {
      clearInterval(timer);
      unsubscribe();
      for (const { gate } of gates.values()) gate.retire();
      await shared.close();
    },
  };

  /** The clock, which is noticed to be set back wherever it is read. */
  function readClock(): number {
    const nowMs = deps.clock.now();
    if (nowMs < latestMs) for (const { gate } of gates.values()) gate.clockSetBack(nowMs);
    latestMs = nowMs;
    return nowMs;
  }

  function follow(next: Snapshot): void {
    const before = inForce.size;
    inForce = new Set();
    for (const route of next.routes) for (const limit of route.rateLimits ?? []) inForce.add(idOf(route, limit));
    if (before === 0 && inForce.size > 0) void shared.lookAround();
  }

  function tend(): void {
    if (gates.size === 0 && inForce.size === 0) return;
    const nowMs = readClock();
    const before = gates.size;
    for (const [id, { gate }] of gates) {
      gate.tend(nowMs);
      if (!inForce.has(id) && gate.isIdle()) gates.delete(id);
    }
    if (gates.size < before) {
      forgetTallies();
      // Nobody tends a gate that was forgotten: who still comes by an older configuration gets another one.
      ofRoutes = new WeakMap();
    }
    ticks += 1;
    if (ticks === SOON || ticks % LOOK_EVERY === 0) void shared.lookAround();
  }

  function gatesOf(route: CompiledRoute): readonly RouteGate[] {
    let of = ofRoutes.get(route);
    if (of === undefined) ofRoutes.set(route, (of = (route.rateLimits ?? []).map((limit) => gateOf(route, limit))));
    return of;
  }

  function gateOf(route: CompiledRoute, limit: RateLimit): RouteGate {
    const id = idOf(route, limit);
    const known = gates.get(id);
    if (known) return known;
    const counts = tallyOf(route.key, limit.name);
    const { most, windowMs, countsAlone } = limit;
    const onAlone = (): void => void (counts.alone += 1);
    const gateDeps = { counts: shared, clock, onAlone };
    // Not of how many there may be: what was counted stays counted when that is changed.
    const storeId = JSON.stringify([route.key, limit.name, windowMs === undefined ? "slots" : "requests"]);
    const gate =
      windowMs === undefined
        ? createSlotGate(gateDeps, { id: storeId, most, countsAlone })
        : createRequestGate(gateDeps, { id: storeId, most, windowMs, countsAlone });
    const made = { limit, gate, counts };
    gates.set(id, made);
    return made;
  }

  function tallyOf(route: string, limit: string): LimitCounts {
    const id = JSON.stringify([route, limit]);
    let counts = tallies.get(id);
    if (counts === undefined) tallies.set(id, (counts = { route, limit, limited: 0, unavailable: 0, alone: 0 }));
    return counts;
  }

  function forgetTallies(): void {
    const used = new Set([...gates.values()].map(({ counts }) => counts));
    for (const [id, counts] of tallies) if (!used.has(counts)) tallies.delete(id);
  }

  /** So that who keeps asking for what one limit refuses does not take of the others, and give back, each time. */
  function refuseAtOnce(all: readonly RouteGate[], facts: LimitFacts, nowMs: number): Limited | undefined {
    for (const each of all) {
      if (!appliesTo(each.limit, facts)) continue;
      const key = keyOf(each.limit, facts);
      const waitMs = each.gate.refuses(key, nowMs);
      if (waitMs !== 0) return judge(all, each, key, { waitMs }, facts, []);
    }
    return undefined;
  }

  function takeFrom(
    all: readonly RouteGate[],
    start: number,
    facts: LimitFacts,
    passed: Passed[],
    nowMs: number,
  ): Admission | Promise<Admission> {
    for (let index = start; index < all.length; index += 1) {
      const each = all[index] as RouteGate;
      if (!appliesTo(each.limit, facts)) continue;
      const key = keyOf(each.limit, facts);
      const taken = each.gate.take(key, nowMs);
      if (taken instanceof Promise)
        return taken.then((later) => {
          const refused = judge(all, each, key, later, facts, passed);
          return refused ?? takeFrom(all, index + 1, facts, passed, readClock());
        });
      const refused = judge(all, each, key, taken, facts, passed);
      if (refused) return refused;
    }
    return admit(passed);
  }

  /** @returns the refusal, after all that passed before was given back */
  function judge(
    all: readonly RouteGate[],
    each: RouteGate,
    key: string,
    taken: Taken,
    facts: LimitFacts,
    passed: Passed[],
  ): Limited | undefined {
    if (taken.waitMs === 0) {
      passed.push({ each, key, taken });
      return undefined;
    }
    for (const before of passed) before.each.gate.giveBack(before.key, before.taken);
    const { limit, counts } = each;
    if (taken.waitMs === UNAVAILABLE_MS) {
      counts.unavailable += 1;
      return { ok: false, limit, retryAfterMs: undefined };
    }
    counts.limited += 1;
    const limits = all.map((one) => one.limit).filter((one) => appliesTo(one, facts));
    return { ok: false, limit, limits, retryAfterMs: taken.waitMs };
  }
}

interface Passed {
  readonly each: RouteGate;
  readonly key: string;
  readonly taken: Taken;
}

function admit(passed: readonly Passed[]): Admitted {
  const held = passed.filter(({ each }) => each.limit.windowMs === undefined);
  if (held.length === 0) return NOTHING_HELD;
  let isReleased = false;
  return {
    ok: true,
    release() {
      if (isReleased) return;
      isReleased = true;
      for (const { each, key } of held) each.gate.release(key);
    },
  };
}

function appliesTo({ tools }: RateLimit, { tool }: LimitFacts): boolean {
  return tools === undefined || (tool !== undefined && tools.has(tool));
}

/** Lengths first: no two sets of names are written alike. */
function keyOf({ perUser, perClient, perTool }: RateLimit, { user, client, tool }: LimitFacts): string {
  let key = "";
  if (perUser) key = user === undefined ? "-" : `${user.length} ${user}`;
  if (perClient) key += client === undefined ? "\n-" : `\n${client.length} ${client}`;
  if (perTool) key += `\n${tool ?? ""}`;
  return key;
}

/** Where one of these differs, it is counted anew in this process. */
function idOf({ key }: CompiledRoute, { tools, ...limit }: RateLimit): string {
  return JSON.stringify([key, limit, tools && [...tools]]);
}
