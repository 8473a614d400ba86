/**
 * Which of a route's upstreams takes the next request: smooth weighted round-robin that leaves out those that could
 * not be reached lately. With all of them failing the turn goes on as if none did: a guess must not close a route.
 */
import type { Upstream } from "../config/compiled.ts";
import type { Clock } from "../ports.ts";

export interface Balancer {
  /** @param except the one that just failed, left out when there is another */
  pick(clock: Clock, except?: Upstream): Upstream;
  /** Could not be reached: left out for a while, longer each time. */
  failed(upstream: Upstream, nowMs: number): void;
  reached(upstream: Upstream): void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

interface Peer {
  readonly upstream: Upstream;
  /** Smooth weighted round-robin: grows by the weight each turn, falls by the total when chosen. */
  current: number;
  failures: number;
  skipUntilMs: number;
}

export function createBalancer(to: readonly Upstream[]): Balancer {
  const [only] = to;
  if (!only) throw new TypeError("a route needs an upstream");
  if (to.length === 1) return { pick: () => only, failed: () => {}, reached: () => {} };

  const peers: Peer[] = to.map((upstream) => ({ upstream, current: 0, failures: 0, skipUntilMs: 0 }));
  const peerOf = (upstream: Upstream): Peer | undefined => peers.find((peer) => peer.upstream === upstream);
  return {
    pick(clock, except) {
      const nowMs = clock.now();
      const others = except === undefined ? peers : peers.filter((peer) => peer.upstream !== except);
      const healthy = others.filter((peer) => peer.skipUntilMs <= nowMs);
      return next(healthy.length > 0 ? healthy : others).upstream;
    },
    failed(upstream, nowMs) {
      const peer = peerOf(upstream);
      if (!peer) return;
      peer.skipUntilMs = nowMs + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** peer.failures);
      peer.failures += 1;
    },
    reached(upstream) {
      const peer = peerOf(upstream);
      if (!peer) return;
      peer.failures = 0;
      peer.skipUntilMs = 0;
    },
  };
}

function next(peers: readonly Peer[]): Peer {
  let best = peers[0] as Peer;
  let total = 0;
  for (const peer of peers) {
    peer.current += peer.upstream.weight;
    total += peer.upstream.weight;
    if (peer.current > best.current) best = peer;
  }
  best.current -= total;
  return best;
}
