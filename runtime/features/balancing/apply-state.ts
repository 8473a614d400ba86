/**
 * State of each upstream of each route. It survives reloads as long as the route keeps the upstream, so that an
 * unrelated change sends no requests to a broken one.
 */
import type { BalancedRoute } from "./compiled.ts";
import type { Upstream } from "../connection/compiled.ts";
import { poolKeyOf } from "../connection/pool-key.ts";
import { changedMembers } from "../../shared/changes/changed-members.ts";

/** Latest result of one health check. */
export interface CheckResult {
  readonly kind: "http" | "tcp" | "grpc";
  readonly healthy: boolean;
  /** Reason of the latest failure; "" after a success. */
  readonly lastError: string;
}

export class UpstreamState {
  readonly route: string;
  readonly upstream: Upstream;
  /** As in `to`, without the weight. */
  readonly address: string;
  /** Results of its health checks; all must be healthy. */
  checks: readonly CheckResult[] = [];
  /** Requests in flight; counted only if a setting needs it. */
  underWay = 0;
  /** Unreachable: an estimate for a while, longer each time. */
  unreachedInARow = 0;
  skipSinceMs = 0;
  skipUntilMs = 0;
  errorsInARow = 0;
  gatewayErrorsInARow = 0;
  ejectedSinceMs = 0;
  ejectedUntilMs = 0;
  /** Consecutive ejections, until a long time without trouble; each lengthens the next. */
  ejectionsInARow = 0;
  ejections = 0;

  constructor(route: string, upstream: Upstream) {
    this.route = route;
    this.upstream = upstream;
    this.address = addressOf(upstream);
  }

  /** Not before its start: after the clock was set back, a pause of seconds would last hours. */
  isEjected(nowMs: number): boolean {
    return nowMs < this.ejectedUntilMs && nowMs >= this.ejectedSinceMs;
  }

  isSkipped(nowMs: number): boolean {
    return nowMs < this.skipUntilMs && nowMs >= this.skipSinceMs;
  }

  /** Last check and ejection; `skipUntilMs` is an estimate. */
  isHealthy(nowMs: number): boolean {
    return !this.isEjected(nowMs) && this.checks.every(({ healthy }) => healthy);
  }
}

/** As in `to`, without the weight. */
export function addressOf({ origin, basePath }: Upstream): string {
  return origin + basePath;
}

/** The states of a route's upstreams, in the order of `to`. */
const byRoute = new WeakMap<BalancedRoute, readonly UpstreamState[]>();
/** States of the route's previous version, until this one has its own. */
const inherited = new WeakMap<BalancedRoute, readonly UpstreamState[]>();

/** Created at first use, so that a change of many routes does not wait for all of them. */
export function statesOf(route: BalancedRoute): readonly UpstreamState[] {
  let states = byRoute.get(route);
  if (states) return states;
  const known = new Map(inherited.get(route)?.map((state) => [keyOf(state.upstream), state]));
  states = route.to.map((upstream) => known.get(keyOf(upstream)) ?? new UpstreamState(route.key, upstream));
  byRoute.set(route, states);
  inherited.delete(route);
  return states;
}

/** Key of an upstream within its route. */
const keyOf = (upstream: Upstream): string => `${poolKeyOf(upstream)}\0${upstream.basePath}`;

/** An upstream that receives every request unconditionally needs no state. */
export function hasState({ to, balancing }: Pick<BalancedRoute, "to" | "balancing">): boolean {
  return to.length > 1 || (to.length === 1 && balancing !== undefined);
}

/** Upstream on the status page. */
export interface UpstreamStatus {
  readonly route: string;
  readonly upstream: string;
  /** Receives requests, according to checks and earlier responses. */
  readonly healthy: boolean;
  readonly checks: readonly { readonly kind: string; readonly healthy: boolean; readonly last_error: string }[];
  /** Epoch seconds; null while not ejected. */
  readonly left_out_until: number | null;
  /** Number of ejections. */
  readonly ejections: number;
}

export function statusOf(state: UpstreamState, nowMs: number): UpstreamStatus {
  const { route, address, ejections } = state;
  const ejectedUntilMs = state.isEjected(nowMs) ? state.ejectedUntilMs : 0;
  const leftOutUntilMs = Math.max(ejectedUntilMs, state.isSkipped(nowMs) ? state.skipUntilMs : 0);
  return {
    route,
    upstream: address,
    healthy: state.isHealthy(nowMs) && !state.isSkipped(nowMs),
    checks: state.checks.map(({ kind, healthy, lastError }) => ({ kind, healthy, last_error: lastError })),
    left_out_until: leftOutUntilMs > 0 ? Math.ceil(leftOutUntilMs / 1000) : null,
    ejections,
  };
}

/** Carries states over from one configuration to the next. */
export interface UpstreamStates {
  /** Called before the routes are used. Drops states of removed upstreams. */
  follow(next: { readonly routes: readonly BalancedRoute[] }): void;
  all(): Iterable<UpstreamState>;
}

export function createUpstreamStates(): UpstreamStates {
  let current: readonly BalancedRoute[] = [];
  return {
    follow({ routes }) {
      const { added, removed } = changedMembers(current, routes);
      current = routes;
      const before = new Map(removed.map((route) => [route.key, route]));
      for (const route of added) {
        const last = before.get(route.key);
        // The states, not the route: otherwise versions without requests would reference each other.
        const states = last && hasState(last) ? (byRoute.get(last) ?? inherited.get(last)) : undefined;
        if (states && hasState(route)) inherited.set(route, states);
      }
    },
    *all() {
      for (const route of current) if (hasState(route)) yield* new Set(statesOf(route));
    },
  };
}
