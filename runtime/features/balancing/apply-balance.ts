/**
 * Selects the upstream for the next request. Upstreams that were recently unreachable, failed a health check or were
 * ejected are skipped. If none remains, all are used: an estimate must not close a route, unless
 * `healthy_panic_threshold: 0` is set.
 */
import type { BalancedRoute } from "./compiled.ts";
import type { Upstream } from "../connection/compiled.ts";
import { pauseAfter, type Pauses } from "../../shared/backoff.ts";
import type { Clock } from "../../shared/clock.ts";
import { chooserOf, type Caller, type Peer } from "./apply-choose.ts";
import type { UpstreamFailure } from "../connection/failure.ts";
import { createOutliers } from "./apply-outliers.ts";
import { hasState, statesOf, type UpstreamState } from "./apply-state.ts";

export interface Balancer {
  /**
   * @param except the one that just failed, skipped if there is another
   * @returns undefined if none is healthy and the route uses only healthy ones
   */
  pick(clock: Clock, caller: Caller, except?: Upstream): Upstream | undefined;
  /** Unreachable: skipped for a while, longer each time. */
  failed(upstream: Upstream, nowMs: number): void;
  reached(upstream: Upstream): void;
  /** Receives the outcome of every request; undefined if no setting needs it. */
  readonly tracker: Tracker | undefined;
}

/** Calls per attempt, in this order: begun; then answered, failed or neither; then ended. */
export interface Tracker {
  begun(upstream: Upstream): void;
  /** @returns true if the upstream is ejected from now on, by this and earlier responses */
  answered(upstream: Upstream, status: number, nowMs: number): boolean;
  failed(upstream: Upstream, failure: UpstreamFailure, nowMs: number): boolean;
  ended(upstream: Upstream): void;
}

const PAUSES: Pauses = { firstMs: 1_000, mostMs: 30_000 };

/** A route with its own response (`redirect`, `response`) has no upstream, and none is ever picked. */
export function createBalancer(route: BalancedRoute): Balancer {
  const { to, balancing } = route;
  const [only] = to;
  if (!hasState(route)) return { pick: () => only, failed: () => {}, reached: () => {}, tracker: undefined };

  const states = statesOf(route);
  const panicPercent = balancing?.panicPercent;
  const peers: Peer[] = to.map((upstream, index) => ({
    upstream,
    state: states[index] as UpstreamState,
    current: 0,
  }));
  const choose = chooserOf(balancing?.policy ?? "round_robin");
  const byUpstream = new Map(peers.map((peer) => [peer.upstream, peer]));
  const peerOf = (upstream: Upstream): Peer | undefined => byUpstream.get(upstream);

  const usable = (nowMs: number): readonly Peer[] => {
    const healthy = onlyThose(peers, ({ state }) => state.isHealthy(nowMs));
    if (healthy.length === 0) return panicPercent === 0 ? [] : peers;
    return healthy.length * 100 < (panicPercent ?? 0) * peers.length ? peers : healthy;
  };

  return {
    pick(clock, caller, except) {
      const nowMs = clock.now();
      let from = usable(nowMs);
      if (from.length === 0) return undefined;
      if (except !== undefined) from = orAll(from, (peer) => peer.upstream !== except);
      return choose(
        orAll(from, ({ state }) => !state.isSkipped(nowMs)),
        caller,
      ).upstream;
    },
    failed(upstream, nowMs) {
      const state = peerOf(upstream)?.state;
      if (!state) return;
      state.skipSinceMs = nowMs;
      state.skipUntilMs = nowMs + pauseAfter(state.unreachedInARow, PAUSES);
      state.unreachedInARow += 1;
    },
    reached(upstream) {
      const state = peerOf(upstream)?.state;
      if (!state) return;
      state.unreachedInARow = 0;
      state.skipUntilMs = 0;
    },
    tracker: trackerOf(),
  };

  function trackerOf(): Tracker | undefined {
    const settings = balancing?.outliers;
    if (settings === undefined && balancing?.policy !== "least_request") return undefined;
    const outliers = settings && createOutliers(settings, states);
    const count = (upstream: Upstream, change: number): void => {
      const state = peerOf(upstream)?.state;
      if (state) state.underWay += change;
    };
    return {
      begun: (upstream) => count(upstream, 1),
      ended: (upstream) => count(upstream, -1),
      answered(upstream, status, nowMs) {
        const state = outliers && peerOf(upstream)?.state;
        return state !== undefined && outliers?.answered(state, status, nowMs) === true;
      },
      failed(upstream, failure, nowMs) {
        const state = outliers && peerOf(upstream)?.state;
        return state !== undefined && outliers?.failed(state, failure, nowMs) === true;
      },
    };
  }
}

/** The better ones, or all if none is. */
function orAll(peers: readonly Peer[], isBetter: (peer: Peer) => boolean): readonly Peer[] {
  const better = onlyThose(peers, isBetter);
  return better.length > 0 ? better : peers;
}

/** Returns the list itself in the common case that all match: called for each request. */
function onlyThose(peers: readonly Peer[], isMeant: (peer: Peer) => boolean): readonly Peer[] {
  return peers.every(isMeant) ? peers : peers.filter(isMeant);
}
