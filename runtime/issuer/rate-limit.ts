/** A bound on how often one peer may do something that leaves a record behind. Per process, in memory. */
import type { Clock } from "../ports.ts";

export interface RateLimit {
  /** Seconds to wait; 0 = go on, and one is used up. */
  take(peer: string): number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Peers remembered at most; the longest unseen is forgotten first. */
const MAX_PEERS = 10_000;

/** @param burst how many at once @param perSecond how many more each second */
export function createRateLimit(deps: { readonly clock: Clock }, burst: number, perSecond: number): RateLimit {
  const buckets = new Map<string, Bucket>();
  return {
    take(peer) {
      const now = deps.clock.now();
      const bucket = buckets.get(peer) ?? { tokens: burst, filledAt: now };
      bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, ((now - bucket.filledAt) / 1000) * perSecond));
      bucket.filledAt = now;
      buckets.delete(peer);
      const oldest = buckets.size >= MAX_PEERS ? buckets.keys().next().value : undefined;
      if (oldest !== undefined) buckets.delete(oldest);
      buckets.set(peer, bucket);
      if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perSecond);
      bucket.tokens -= 1;
      return 0;
    },
  };
}
