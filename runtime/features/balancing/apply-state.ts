/**
 * What is known of each upstream of each route. It outlives reloads as long as the route keeps the upstream, so that a
 * change elsewhere does not send requests to what was known to be broken.
 */
import type { BalancedRoute } from "./compiled.ts";
import type { Upstream } from "../connection/compiled.ts";
import { poolKeyOf } from "../connection/pool-key.ts";
import { changedMembers } from "../../shared/changes/changed-members.ts";

/** The latest word of one health check. */
export interface CheckResult {
  readonly kind: "http" | "tcp" | "grpc";
  readonly healthy: boolean;
  /** Why the latest check failed; "" when it did not. */
  readonly lastError: string;
}

export class UpstreamState {
  readonly route: string;
  readonly upstream: Upstream;
  /** As `to` has it, without the weight. */
  readonly address: string;
  /** Of its health checks; all must be healthy. */
  checks: readonly CheckResult[] = [];
  /** Requests under way; counted where somebody asks for it. */
  underWay = 0;
  /** Could not be reached: a guess for a while, longer each time. */
  unreachedInARow = 0;
  skipSinceMs = 0;
  skipUntilMs = 0;
  errorsInARow = 0;
  gatewayErrorsInARow = 0;
  ejectedSinceMs = 0;
  ejectedUntilMs = 0;
  /** Since it was last without trouble for long; makes each ejection longer. */
  ejectionsInARow = 0;
  ejections = 0;

  constructor(route: string, upstream: Upstream) {
    this.route = route;
    this.upstream = upstream;
    this.address = addressOf(upstream);
  }

  /** Before its beginning the clock was set back: a pause of seconds would last for hours. */
  isEjected(nowMs: number): boolean {
    return nowMs < this.ejectedUntilMs && nowMs >= this.ejectedSinceMs;
  }

  isSkipped(nowMs: number): boolean {
    return nowMs < this.skipUntilMs && nowMs >= this.skipSinceMs;
  }

  /** What is known to be so; in contrast to `skipUntilMs`, which is guessed. */
  isHealthy(nowMs: number): boolean {
    return !this.isEjected(nowMs) && this.checks.every(({ healthy }) => healthy);
  }
}

/** As `to` has it, without the weight. */
export function addressOf({ origin, basePath }: Upstream): string {
  return origin + basePath;
}

/** The states of a route's upstreams, in the order of `to`. */
const byRoute = new WeakMap<BalancedRoute, readonly UpstreamState[]>();
/** Of the route's version before, until its own are made. */
const inherited = new WeakMap<BalancedRoute, readonly UpstreamState[]>();

/** Made when they are first asked for: a change of many routes does not wait for all of them. */
export function statesOf(route: BalancedRoute): readonly UpstreamState[] {
  let states = byRoute.get(route);
  if (states) return states;
  const known = new Map(inherited.get(route)?.map((state) => [keyOf(state.upstream), state]));
  states = route.to.map((upstream) => known.get(keyOf(upstream)) ?? new UpstreamState(route.key, upstream));
  byRoute.set(route, states);
  inherited.delete(route);
  return states;
}

/** Among the upstreams of a route. */
const keyOf = (upstream: Upstream): string => `${poolKeyOf(upstream)}\0${upstream.basePath}`;

/** Nothing need be known of an upstream that takes every request whatever happens. */
export function hasState({ to, balancing }: Pick<BalancedRoute, "to" | "balancing">): boolean {
  return to.length > 1 || (to.length === 1 && balancing !== undefined);
}

/** As the status page shows it. */
export interface UpstreamStatus {
  readonly route: string;
  readonly upstream: string;
  /** Takes requests, as far as checks and earlier answers say. */
  readonly healthy: boolean;
  readonly checks: readonly { readonly kind: string; readonly healthy: boolean; readonly last_error: string }[];
  /** Epoch seconds; null while it is not left out. */
  readonly left_out_until: number | null;
  /** How often it was left out. */
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

/** Hands states on from one configuration to the next. */
export interface UpstreamStates {
  /** Before the routes are used. What it no longer has is forgotten. */
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
        // The states, not the route: versions that no request came to would hold each other.
        const states = last && hasState(last) ? (byRoute.get(last) ?? inherited.get(last)) : undefined;
        if (states && hasState(route)) inherited.set(route, states);
      }
    },
    *all() {
      for (const route of current) if (hasState(route)) yield* new Set(statesOf(route));
    },
  };
}
