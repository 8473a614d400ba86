/** Limits on untrusted actions that leave a record behind. Per process, in memory. */
import type { Clock } from "./clock.ts";

export interface RateLimiter {
  /** Seconds to wait; 0: allowed, and one is used up. */
  take(peer: string): number;
}

/** A limit on failures: each attempt takes one, so that concurrent attempts count; a successful one gives it back. */
export interface FailureLimit extends RateLimiter {
  giveBack(peer: string): void;
}

/** Size of a burst, and refill per second. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** Most peers remembered; the longest unseen is dropped first. */
const MAX_PEERS = 10_000;

/** @param burst most at the same time @param perSecond refill */
export function createRateLimit(deps: { readonly clock: Clock }, burst: number, perSecond: number): FailureLimit {
  const buckets = new Map<string, Bucket>();
  let unseen: MapIterator<string> | undefined;

  const forgetOldest = (): void => {
    // Peers before the iterator are gone, and a returning peer moves to the end. A new iterator would visit all holes
    // at the start (as in shared/cache.ts).
    unseen ??= buckets.keys();
    const { value: oldest } = unseen.next();
    if (oldest === undefined) unseen = undefined;
    else buckets.delete(oldest);
  };

  return {
    take(peer) {
      const now = deps.clock.now();
      const bucket = buckets.get(peer) ?? { tokens: burst, filledAt: now };
      bucket.tokens = Math.min(burst, bucket.tokens + Math.max(0, ((now - bucket.filledAt) / 1000) * perSecond));
      bucket.filledAt = now;
      buckets.delete(peer);
      if (buckets.size >= MAX_PEERS) forgetOldest();
      buckets.set(peer, bucket);
      if (bucket.tokens < 1) return Math.ceil((1 - bucket.tokens) / perSecond);
      bucket.tokens -= 1;
      return 0;
    },
    giveBack(peer) {
      const bucket = buckets.get(peer);
      if (bucket) bucket.tokens = Math.min(burst, bucket.tokens + 1);
    },
  };
}

/** One peer must not use up the limit, and all of them together must not fill the store. */
export function createUntrustedLimit(
  deps: { readonly clock: Clock },
  rates: { readonly peer: Rate; readonly all: Rate },
): RateLimiter {
  const peers = createRateLimit(deps, rates.peer.burst, rates.peer.perSecond);
  const all = createRateLimit(deps, rates.all.burst, rates.all.perSecond);
  return { take: (peer) => peers.take(networkOf(peer)) || all.take("all") };
}

/** An IPv6 host can use a whole /64; any other address is one peer. */
export function networkOf(address: string): string {
  if (!address.includes(":") || address.toLowerCase().startsWith("::ffff:")) return address;
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros =
    tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0");
  return [...before, ...zeros, ...after].slice(0, 4).join(":");
}
