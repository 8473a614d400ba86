/**
 * `rate_limits` of routes: whether a request that policy allowed is within all of them.
 *
 * Untrusted input: none that is not bounded. Users and clients are authenticated, and only tools that a limit names are
 * counted separately, so that no caller can fill memory or store with invented names. Promises: a denied request counts
 * for none of the limits; an error never allows a request.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { RateLimit } from "../features/limits/compiled.ts";
import type { Closable, Clock } from "../shared/clock.ts";
import { type Gate, type Taken, UNAVAILABLE_MS } from "./gate.ts";
import { RequestGate } from "./request-gate.ts";
import { createSharedCounts, type SharedCounts, type SharedCountsDeps } from "./shared-counts.ts";
import { SlotGate } from "./slot-gate.ts";
import { recur } from "../shared/timing/recurring.ts";

/** The caller, and the target. */
export interface LimitFacts {
  readonly user: string | undefined;
  readonly client: string | undefined;
  /** Name of the called tool. */
  readonly tool: string | undefined;
}

/** The request is over a limit. */
export interface OverLimit {
  readonly ok: false;
  readonly limit: RateLimit;
  /** All limits that applied to the request. */
  readonly limits: readonly RateLimit[];
  readonly retryAfterMs: number;
}

/** The store is unavailable, and the limit is not counted without it. */
export interface NotCounted {
  readonly ok: false;
  readonly limit: RateLimit;
  readonly retryAfterMs: undefined;
}

export type Limited = OverLimit | NotCounted;

export interface Admitted {
  readonly ok: true;
  /** Must be called when the request is over, if it counts for a limit on concurrent requests. */
  readonly release: (() => void) | undefined;
}

export type Admission = Admitted | Limited;

/** Results of requests, by limit. */
export interface LimitCounts {
  readonly route: string;
  readonly limit: string;
  /** Denied: over the limit. */
  limited: number;
  /** Denied: the count is unknown. */
  unavailable: number;
  /** Allowed by this process's own count. */
  alone: number;
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
/** Ticks between two checks of the number of processes. */
const LOOK_EVERY = 10;
/** By then, processes that start together have sent heartbeats. */
const SOON = 2;
const NOTHING_HELD: Admitted = { ok: true, release: undefined };

export class RateLimits implements Closable {
  readonly #deps: RateLimitsDeps;
  /** Detects at each read that the system's clock was set back. */
  readonly #clock: Clock = { now: () => this.#readClock() };
  /** Also counts for history rules. */
  readonly shared: SharedCounts;
  /** By the counted key and the limit: they outlive configuration changes that do not affect them. */
  readonly #gates = new Map<string, RouteGate>();
  /** By route and name: after a configuration change an older gate may remain for its held slots. */
  readonly #tallies = new Map<string, LimitCounts>();
  #ofRoutes = new WeakMap<CompiledRoute, readonly RouteGate[]>();
  #latestMs: number;
  #inForce = new Set<string>();
  #ticks = 0;
  readonly #unsubscribe: () => void;
  readonly #stopTimer: () => void;

  constructor(deps: RateLimitsDeps) {
    this.#deps = deps;
    this.#latestMs = deps.clock.now();
    this.shared = createSharedCounts({ ...deps, clock: this.#clock });
    this.#follow(deps.snapshots.current());
    this.#unsubscribe = deps.snapshots.subscribe((next) => this.#follow(next));
    this.#stopTimer = recur("the upkeep of rate limits", TEND_MS, () => this.tend());
  }

  /** A promise only if it must wait for the store. */
  take(route: CompiledRoute, facts: LimitFacts): Admission | Promise<Admission> {
    const all = this.#gatesOf(route);
    const nowMs = this.#readClock();
    return (all.length > 1 && this.#refuseAtOnce(all, facts, nowMs)) || this.#takeFrom(all, 0, facts, [], nowMs);
  }

  *counts(): Iterable<LimitCounts> {
    yield* this.#tallies.values();
  }

  /** Returns, renews and removes what is due. Called automatically once a second; tests call it. */
  tend(): void {
    if (this.#gates.size === 0 && this.#inForce.size === 0) return;
    const nowMs = this.#readClock();
    const before = this.#gates.size;
    for (const [id, { gate }] of this.#gates) {
      gate.tend(nowMs);
      if (!this.#inForce.has(id) && gate.isIdle()) this.#gates.delete(id);
    }
    if (this.#gates.size < before) {
      this.#forgetTallies();
      // Removed gates are no longer maintained: a request with an older configuration gets a new one.
      this.#ofRoutes = new WeakMap();
    }
    this.#ticks += 1;
    if (this.#ticks === SOON || this.#ticks % LOOK_EVERY === 0) void this.shared.lookAround();
  }

  async close(): Promise<void> {
    this.#stopTimer();
    this.#unsubscribe();
    for (const { gate } of this.#gates.values()) gate.retire();
    await this.shared.close();
  }

  /** Reads the clock, and detects on each read whether it was set back. */
  #readClock(): number {
    const nowMs = this.#deps.clock.now();
    if (nowMs < this.#latestMs) for (const { gate } of this.#gates.values()) gate.clockSetBack(nowMs);
    this.#latestMs = nowMs;
    return nowMs;
  }

  #follow(next: Snapshot): void {
    const before = this.#inForce.size;
    this.#inForce = new Set();
    for (const route of next.routes) for (const limit of route.rateLimits ?? []) this.#inForce.add(idOf(route, limit));
    if (before === 0 && this.#inForce.size > 0) void this.shared.lookAround();
  }

  #gatesOf(route: CompiledRoute): readonly RouteGate[] {
    let of = this.#ofRoutes.get(route);
    if (of === undefined)
      this.#ofRoutes.set(route, (of = (route.rateLimits ?? []).map((limit) => this.#gateOf(route, limit))));
    return of;
  }

  #gateOf(route: CompiledRoute, limit: RateLimit): RouteGate {
    const id = idOf(route, limit);
    const known = this.#gates.get(id);
    if (known) return known;
    const counts = this.#tallyOf(route.key, limit.name);
    const { most, windowMs, countsAlone } = limit;
    const onAlone = (): void => void (counts.alone += 1);
    const gateDeps = { counts: this.shared, clock: this.#clock, onAlone };
    // Without the limit's number: counts remain when only that changes.
    const storeId = JSON.stringify([route.key, limit.name, windowMs === undefined ? "slots" : "requests"]);
    const gate =
      windowMs === undefined
        ? new SlotGate(gateDeps, { id: storeId, most, countsAlone })
        : new RequestGate(gateDeps, { id: storeId, most, windowMs, countsAlone });
    const made = { limit, gate, counts };
    this.#gates.set(id, made);
    return made;
  }

  #tallyOf(route: string, limit: string): LimitCounts {
    const id = JSON.stringify([route, limit]);
    let counts = this.#tallies.get(id);
    if (counts === undefined) this.#tallies.set(id, (counts = { route, limit, limited: 0, unavailable: 0, alone: 0 }));
    return counts;
  }

  #forgetTallies(): void {
    const used = new Set([...this.#gates.values()].map(({ counts }) => counts));
    for (const [id, counts] of this.#tallies) if (!used.has(counts)) this.#tallies.delete(id);
  }

  /** Denies early, so that a caller over one limit does not take from the others, and give back, each time. */
  #refuseAtOnce(all: readonly RouteGate[], facts: LimitFacts, nowMs: number): Limited | undefined {
    for (const each of all) {
      if (!appliesTo(each.limit, facts)) continue;
      const key = keyOf(each.limit, facts);
      const waitMs = each.gate.refuses(key, nowMs);
      if (waitMs !== 0) return settleTaken(all, each, key, { waitMs }, facts, []);
    }
    return undefined;
  }

  #takeFrom(
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
          const refused = settleTaken(all, each, key, later, facts, passed);
          return refused ?? this.#takeFrom(all, index + 1, facts, passed, this.#readClock());
        });
      const refused = settleTaken(all, each, key, taken, facts, passed);
      if (refused) return refused;
    }
    return admit(passed);
  }
}

/** @returns the refusal, after undoing the earlier counts */
function settleTaken(
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

/** Lengths first, so that two different sets of names never share a text. */
function keyOf({ perUser, perClient, perTool }: RateLimit, { user, client, tool }: LimitFacts): string {
  let key = "";
  if (perUser) key = user === undefined ? "-" : `${user.length} ${user}`;
  if (perClient) key += client === undefined ? "\n-" : `\n${client.length} ${client}`;
  if (perTool) key += `\n${tool ?? ""}`;
  return key;
}

/** If one of these differs, this process starts a new count. */
function idOf({ key }: CompiledRoute, { tools, ...limit }: RateLimit): string {
  return JSON.stringify([key, limit, tools && [...tools]]);
}
