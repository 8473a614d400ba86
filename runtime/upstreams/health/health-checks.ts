/**
 * The health checks that the configuration in force asks for: begun when a route comes, stopped when it goes, and kept
 * with what they found as long as upstream and check stay the same. Routes of one owner that check the same upstream alike share
 * one.
 */
import type { HealthCheck as CheckSettings } from "../../features/balancing/compiled.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import type { Upstream, UpstreamConnect } from "../../features/connection/compiled.ts";
import type { Log } from "../../shared/log.ts";
import { sha256 } from "../../shared/canonical-json.ts";
import { poolKeyOf } from "../../features/connection/pool-key.ts";
import type { Transport } from "../transport-types.ts";
import { createCheckSlots, type Pace, paces, type Wanted } from "./check-budget.ts";
import { HealthCheck, type Schedule } from "./health-check.ts";
import { statesOf, type UpstreamState } from "../../features/balancing/apply-state.ts";
import { task } from "../../shared/faults/guard.ts";

export interface HealthChecksDeps {
  readonly transport: Transport;
  readonly log: Log;
  readonly schedule?: Schedule;
  readonly random?: () => number;
}

export interface HealthChecks {
  follow(snapshot: Snapshot): void;
  /** Connections that checks use; see `Transport.retain`. */
  poolKeys(): Iterable<string>;
  readonly size: number;
  close(): void;
}

export function createHealthChecks(deps: HealthChecksDeps): HealthChecks {
  const { schedule = afterTime, random = Math.random } = deps;
  let checks = new Map<string, HealthCheck>();
  let checked = new Set<UpstreamState>();

  const slots = createCheckSlots();
  /** Owner → by how much it was last said that its checks are stretched. */
  let told = new Map<string, number>();

  const onChange = ({ upstream, kind, healthy, lastError }: HealthCheck): void => {
    const fields = { upstream: upstream.origin, check: kind };
    if (healthy) deps.log.info(fields, "upstream is healthy");
    else deps.log.warn({ ...fields, reason: lastError }, "upstream is unhealthy");
  };

  return {
    get size() {
      return checks.size;
    },
    follow(snapshot) {
      const kept = new Map<string, HealthCheck>();
      const states = new Set<UpstreamState>();
      const pacesNow = paces(wantedBy(snapshot));
      tell(pacesNow);
      for (const route of snapshot.routes) {
        const settings = route.balancing?.healthChecks ?? [];
        if (settings.length === 0) continue;
        const { owner } = route;
        const pace = pacesNow.get(owner);
        for (const state of statesOf(route)) {
          const { upstream } = state;
          states.add(state);
          state.checks = settings.map((each) => {
            const key = keyOf(owner, upstream, each);
            let check = kept.get(key) ?? checks.get(key);
            if (check && pace) check.pace = pace;
            check ??= new HealthCheck(
              { transport: deps.transport, schedule, random, takeSlot: () => slots.take(owner), onChange },
              withOwnConnections(upstream),
              each,
              pace,
            );
            kept.set(key, check);
            return check;
          });
        }
      }
      for (const [key, check] of checks) if (!kept.has(key)) check.stop();
      // The route stays, its checks went.
      for (const state of checked) if (!states.has(state)) state.checks = [];
      checks = kept;
      checked = states;
    },
    *poolKeys() {
      for (const { upstream } of checks.values()) yield poolKeyOf(upstream);
    },
    close() {
      for (const check of checks.values()) check.stop();
      checks.clear();
    },
  };

  function tell(now: ReadonlyMap<string, Pace>): void {
    const next = new Map<string, number>();
    for (const [owner, { stretch }] of now) {
      const factor = Math.round(stretch * 10) / 10;
      if (factor <= 1) continue;
      next.set(owner, factor);
      if (told.get(owner) !== factor)
        deps.log.warn({ owner, factor }, "health checks are made less often than written");
    }
    told = next;
  }
}

/** What each owner's checks would be, if they were made as written. */
function wantedBy({ routes }: Snapshot): ReadonlyMap<string, Wanted> {
  const wanted = new Map<string, Wanted>();
  const counted = new Set<string>();
  for (const { owner, balancing, ...route } of routes) {
    for (const settings of balancing?.healthChecks ?? []) {
      for (const upstream of route.to) {
        const key = keyOf(owner, upstream, settings);
        if (counted.has(key)) continue;
        counted.add(key);
        const { checks, perSecond } = wanted.get(owner) ?? { checks: 0, perSecond: 0 };
        wanted.set(owner, { checks: checks + 1, perSecond: perSecond + 1000 / settings.intervalMs });
      }
    }
  }
  return wanted;
}

/** A check that waited for one of few connections behind users' requests would say that the upstream is down. */
function withOwnConnections(upstream: Upstream): Upstream {
  const usual: UpstreamConnect = { http2: false, tls: { rejectUnauthorized: true }, poolKey: "" };
  const { limits: _of, ...connect } = upstream.connect ?? usual;
  return { ...upstream, connect: { ...connect, poolKey: `health check ${poolKeyOf(upstream)}` } };
}

/** Of one owner: what one of them asks for does not make another one's checks rarer. */
function keyOf(owner: string, upstream: Upstream, settings: CheckSettings): string {
  let digest = digests.get(settings);
  if (digest === undefined) digests.set(settings, (digest = sha256(JSON.stringify(settings))));
  return `${owner}\0${poolKeyOf(upstream)}\0${upstream.host}\0${digest}`;
}

/** Of each check once: its path may have megabytes, which each of a thousand upstreams would be named by. */
const digests = new WeakMap<CheckSettings, string>();

function afterTime(action: () => void, afterMs: number): () => void {
  const timer = setTimeout(task("a health check", action), afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}
