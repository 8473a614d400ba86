/** What the outside world gives us besides sockets and files: time. Tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/** Whole seconds since the epoch, the unit of every `expiresAt` (as in JWT `exp`). */
export function epochSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}

/** Something with a lifetime. Whoever creates it closes it. */
export interface Closable {
  close(): Promise<void>;
}
