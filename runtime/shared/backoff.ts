/** Pauses after failures: their length, and which of many servers is paused. In this process only. */
import { steadyClock, type Clock } from "./clock.ts";

export interface Pauses {
  readonly firstMs: number;
  readonly mostMs: number;
}

/**
 * Doubles the pause with each failure, up to the limit.
 *
 * @param failures in a row before this one
 * @param random 0 … 1: share of the second half, so that many clients do not return at the same time
 */
export function pauseAfter(failures: number, { firstMs, mostMs }: Pauses, random = 1): number {
  return (Math.min(mostMs, firstMs * 2 ** failures) / 2) * (1 + random);
}

export interface Backoff {
  next(): number;
  /** Ends the pause after a success. */
  reset(): void;
}

export function createBackoff({
  random = Math.random,
  ...pauses
}: Pauses & { readonly random?: () => number }): Backoff {
  let failures = 0;
  return {
    next: () => pauseAfter(failures++, pauses, random()),
    reset: () => void (failures = 0),
  };
}

/** Pauses by key, so that only what failed waits. */
export interface Cooldowns {
  /** Whether the pause of a key is still running. */
  has(key: string): boolean;
  begin(key: string, forMs: number): void;
  end(key: string): void;
}

/** Keys remembered; beyond it all may be queried again. */
const MAX_COOLDOWNS = 10_000;

export function createCooldowns(wallClock: Clock, limit = MAX_COOLDOWNS): Cooldowns {
  const clock = steadyClock(wallClock);
  /** Key → end of its pause. */
  const ends = new Map<string, number>();
  return {
    has: (key) => clock.now() < (ends.get(key) ?? 0),
    begin(key, forMs) {
      if (ends.size >= limit) {
        for (const [each, endsAtMs] of ends) if (endsAtMs <= clock.now()) ends.delete(each);
        if (ends.size >= limit) ends.clear();
      }
      ends.set(key, clock.now() + forMs);
    },
    end: (key) => void ends.delete(key),
  };
}
