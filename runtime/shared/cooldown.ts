/** Pauses after a server could not be asked: by key, so that only what failed waits. In this process alone. */
import { steadyClock, type Clock } from "./clock.ts";

export interface Cooldowns {
  /** Whether it is too early to ask again. */
  has(key: string): boolean;
  begin(key: string, forMs: number): void;
  end(key: string): void;
}

/** Keys remembered; past it all are asked for again. */
const MAX_COOLDOWNS = 10_000;

export function createCooldowns(wallClock: Clock, limit = MAX_COOLDOWNS): Cooldowns {
  const clock = steadyClock(wallClock);
  /** Key → its end. */
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
