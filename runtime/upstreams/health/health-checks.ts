/**
 * Health checks of the active configuration: started with a route, stopped with it, and kept, with their results, while
 * upstream and check stay the same. Routes of one owner with the same upstream and check share one. The work for a change is
 * proportional to the changed routes, and done in turns between requests.
 */
import type { HealthCheckSettings } from "../../features/balancing/compiled.ts";
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import type { Upstream, UpstreamConnect } from "../../features/connection/compiled.ts";
import type { Log } from "../../shared/log.ts";
import { sha256 } from "../../shared/canonical-json.ts";
import { changedMembers } from "../../shared/changes/changed-members.ts";
import { Counted } from "../../shared/changes/counted.ts";
import { createSpreadWork, type SpreadWork } from "../../shared/changes/spread-work.ts";
import { poolKeyOf } from "../../features/connection/pool-key.ts";
import type { Transport } from "../transport-types.ts";
import { createCheckSlots, type Pace, paces, USUAL_PACE, type CheckLoad } from "./check-budget.ts";
import { HealthCheck, type Schedule } from "./health-check.ts";
import { statesOf, type UpstreamState } from "../../features/balancing/apply-state.ts";
import { task } from "../../shared/faults/guard.ts";

export interface HealthChecksDeps {
  readonly transport: Transport;
  readonly log: Log;
  readonly schedule?: Schedule;
  readonly random?: () => number;
  readonly spreadWork?: SpreadWork;
}

export interface HealthChecks {
  follow(snapshot: Pick<Snapshot, "routes">): void;
  /** True if checks have connections with this key; see `Transport.retain`. */
  usesPool(key: string): boolean;
  readonly size: number;
  close(): void;
}

interface OwnChecks {
  readonly checks: Map<string, { readonly check: HealthCheck; uses: number }>;
  readonly intervals: Counted<number>;
  readonly pace: { -readonly [K in keyof Pace]: Pace[K] };
  /** Largest factor of the waits in progress. */
  longest: number;
  /** Factor of the last log message. */
  reportedFactor: number;
}

/** Waits are restarted only if they became shorter than this fraction. */
const SHORTER = 0.9;

export function createHealthChecks(deps: HealthChecksDeps): HealthChecks {
  const { schedule = afterTime, random = Math.random, spreadWork = createSpreadWork() } = deps;
  const owners = new Map<string, OwnChecks>();
  const pools = new Counted<string>();
  /** The route that set a state's checks: a state passes to the next version of its route first. */
  const givenBy = new WeakMap<UpstreamState, CompiledRoute>();
  const slots = createCheckSlots();
  let followed: readonly CompiledRoute[] = [];

  const onChange = ({ upstream, kind, healthy, lastError }: HealthCheck): void => {
    const fields = { upstream: upstream.origin, check: kind };
    if (healthy) deps.log.info(fields, "upstream is healthy");
    else deps.log.warn({ ...fields, reason: lastError }, "upstream is unhealthy");
  };

  return {
    get size() {
      let size = 0;
      for (const { checks } of owners.values()) size += checks.size;
      return size;
    },
    follow({ routes }) {
      const { added, removed } = changedMembers(followed, routes);
      followed = routes;
      if (added.some(isChecked) || removed.some(isChecked))
        spreadWork.add(change(added.filter(isChecked), removed.filter(isChecked)));
    },
    usesPool: (key) => pools.has(key),
    close() {
      spreadWork.close();
      for (const { checks } of owners.values()) for (const { check } of checks.values()) check.stop();
      owners.clear();
    },
  };

  /** Adds the new routes' uses before it removes the old ones, so that shared checks stay. */
  function* change(added: readonly CompiledRoute[], removed: readonly CompiledRoute[]): Generator<void> {
    const fresh: HealthCheck[] = [];
    for (const route of added) {
      for (const state of statesOf(route)) {
        givenBy.set(state, route);
        state.checks = settingsOf(route).map((settings) => use(route.owner, state.upstream, settings, fresh));
        yield;
      }
    }
    for (const route of removed) {
      for (const state of statesOf(route)) {
        if (givenBy.get(state) === route) state.checks = [];
        for (const settings of settingsOf(route)) leave(route.owner, state.upstream, settings);
        yield;
      }
    }
    const hurried = spread();
    for (const check of fresh) {
      check.begin();
      yield;
    }
    for (const { checks } of hurried) {
      for (const { check } of checks.values()) {
        check.hurry();
        yield;
      }
    }
  }

  function use(owner: string, upstream: Upstream, settings: HealthCheckSettings, fresh: HealthCheck[]): HealthCheck {
    let own = owners.get(owner);
    if (!own) {
      own = { checks: new Map(), intervals: new Counted(), pace: { ...USUAL_PACE }, longest: 1, reportedFactor: 1 };
      owners.set(owner, own);
    }
    const key = keyOf(upstream, settings);
    let known = own.checks.get(key);
    if (!known) {
      const takeSlot = (): (() => void) | undefined => slots.take(owner);
      const checkDeps = { transport: deps.transport, schedule, random, takeSlot, onChange };
      known = { check: new HealthCheck(checkDeps, withOwnConnections(upstream), settings, own.pace), uses: 0 };
      own.checks.set(key, known);
      own.intervals.add(settings.intervalMs);
      pools.add(poolKeyOf(known.check.upstream));
      fresh.push(known.check);
    }
    known.uses += 1;
    return known.check;
  }

  function leave(owner: string, upstream: Upstream, settings: HealthCheckSettings): void {
    const own = owners.get(owner);
    const key = keyOf(upstream, settings);
    const known = own?.checks.get(key);
    if (!own || !known) return;
    known.uses -= 1;
    if (known.uses > 0) return;
    known.check.stop();
    own.checks.delete(key);
    own.intervals.remove(settings.intervalMs);
    pools.remove(poolKeyOf(known.check.upstream));
    if (own.checks.size === 0) owners.delete(owner);
  }

  /** @returns owners whose checks wait longer than necessary */
  function spread(): readonly OwnChecks[] {
    const hurried: OwnChecks[] = [];
    const loads = new Map([...owners].map(([owner, own]) => [owner, loadOf(own)]));
    for (const [owner, pace] of paces(loads)) {
      const own = owners.get(owner) as OwnChecks;
      Object.assign(own.pace, pace);
      const { stretch } = pace;
      const isShorter = stretch < own.longest * SHORTER;
      if (isShorter) hurried.push(own);
      own.longest = isShorter ? stretch : Math.max(own.longest, stretch);
      const factor = Math.round(stretch * 10) / 10;
      if (factor > 1 && own.reportedFactor !== factor)
        deps.log.warn({ owner, factor }, "too many health checks, intervals extended");
      own.reportedFactor = factor;
    }
    return hurried;
  }
}

const settingsOf = ({ balancing }: CompiledRoute): readonly HealthCheckSettings[] => balancing?.healthChecks ?? [];
const isChecked = (route: CompiledRoute): boolean => settingsOf(route).length > 0;

/** The load of an owner's checks as configured. */
function loadOf({ checks, intervals }: OwnChecks): CheckLoad {
  let perSecond = 0;
  for (const [intervalMs, count] of intervals.entries()) perSecond += (count * 1000) / intervalMs;
  return { checks: checks.size, perSecond };
}

/** On a shared connection limit, a check could wait behind users' requests and report the upstream as down. */
function withOwnConnections(upstream: Upstream): Upstream {
  const usual: UpstreamConnect = { http2: false, tls: { rejectUnauthorized: true }, poolKey: "" };
  const { limits: _of, ...connect } = upstream.connect ?? usual;
  return { ...upstream, connect: { ...connect, poolKey: `health check ${poolKeyOf(upstream)}` } };
}

/**
 * The owner is not part of the key, but each owner has its own checks: a shared one could stretch another owner's intervals.
 */
function keyOf(upstream: Upstream, settings: HealthCheckSettings): string {
  let digest = digests.get(settings);
  if (digest === undefined) digests.set(settings, (digest = sha256(JSON.stringify(settings))));
  return `${poolKeyOf(upstream)}\0${upstream.host}\0${digest}`;
}

/** Digests instead of texts: a path may have megabytes, in the keys of a thousand upstreams. */
const digests = new WeakMap<HealthCheckSettings, string>();

function afterTime(action: () => void, afterMs: number): () => void {
  const timer = setTimeout(task("a health check", action), afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}
