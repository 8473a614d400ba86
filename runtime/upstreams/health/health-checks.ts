/**
 * The health checks that the configuration in force asks for: begun when a route comes, stopped when it goes, and kept
 * with what they found as long as upstream and check stay the same. Routes that check the same upstream alike share one.
 */
import type { HealthCheck as CheckSettings } from "../../features/balancing/compiled.ts";
import type { Snapshot } from "../../config/snapshot.ts";
import type { Upstream, UpstreamConnect } from "../../features/connection/compiled.ts";
import type { Log } from "../../shared/log.ts";
import { poolKeyOf } from "../../features/connection/pool-key.ts";
import type { Transport } from "../transport-types.ts";
import { HealthCheck, type Schedule } from "./health-check.ts";
import { statesOf, type UpstreamState } from "../../features/balancing/apply-state.ts";

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
      for (const route of snapshot.routes) {
        const settings = route.balancing?.healthChecks ?? [];
        if (settings.length === 0) continue;
        for (const state of statesOf(route)) {
          const { upstream } = state;
          states.add(state);
          state.checks = settings.map((each) => {
            const key = keyOf(upstream, each);
            let check = kept.get(key) ?? checks.get(key);
            check ??= new HealthCheck(
              { transport: deps.transport, schedule, random, onChange },
              withOwnConnections(upstream),
              each,
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
}

/** A check that waited for one of few connections behind users' requests would say that the upstream is down. */
function withOwnConnections(upstream: Upstream): Upstream {
  const usual: UpstreamConnect = { http2: false, tls: { rejectUnauthorized: true }, poolKey: "" };
  const { limits: _of, ...connect } = upstream.connect ?? usual;
  return { ...upstream, connect: { ...connect, poolKey: `health check ${poolKeyOf(upstream)}` } };
}

function keyOf(upstream: Upstream, settings: CheckSettings): string {
  return `${poolKeyOf(upstream)}\0${upstream.host}\0${JSON.stringify(settings)}`;
}

function afterTime(action: () => void, afterMs: number): () => void {
  const timer = setTimeout(action, afterMs);
  timer.unref();
  return () => clearTimeout(timer);
}
