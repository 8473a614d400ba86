/** Time: the only input from outside besides sockets and files. Tests pass their own. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export const systemClock: Clock = { now: () => Date.now() };

/**
 * For pauses and ages that only this process remembers. When the system clock is set back, this one pauses and then
 * continues. Otherwise a pause of one second that began while the clock was hours ahead would last for hours.
 */
export function steadyClock(clock: Clock): Clock {
  let latestMs = clock.now();
  let aheadMs = 0;
  return {
    now() {
      const nowMs = clock.now() + aheadMs;
      if (nowMs >= latestMs) return (latestMs = nowMs);
      aheadMs += latestMs - nowMs;
      return latestMs;
    },
  };
}

/** Whole seconds since the epoch, the unit of every `expiresAt` (as in JWT `exp`). */
export function epochSeconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000);
}

/** "2026-11-20T18:00:00Z" */
export function timeText(epochSeconds: number): string {
  return new Date(epochSeconds * 1000).toISOString().replace(".000Z", "Z");
}

/** One request to a token endpoint for fresh tokens, however many callers wait for it. For metrics and traces. */
export interface TokenRefresh {
  /** "identity": a user's, at the identity provider; "upstream": an Internal Token, at an upstream's server. */
  readonly of: "identity" | "upstream";
  /** Key of the route that an Internal Token belongs to. */
  readonly route?: string;
  /** "refused" and "unconfirmed" end the connection or the sessions; "unavailable" and "outage" cost no token. */
  readonly result: "ok" | "refused" | "unconfirmed" | "unavailable" | "outage";
  readonly tookMs: number;
}

/** Result of a sign-out, for metrics. */
export interface SignOutResult {
  /** "page": on the user's own page; the others are requested by issuers. */
  readonly kind: "page" | "back-channel" | "global-revocation";
  /** "local": signed out here, but the provider could not be reached to end its session. */
  readonly result: "ok" | "refused" | "unavailable" | "local";
}

/** Something with a lifetime. Its creator must close it. */
export interface Closable {
  close(): Promise<void>;
}

/** Returns the result of `work`, or that of `late` after `ms`; the work then continues. @throws errors of either */
export async function within<T>(ms: number, work: Promise<T>, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    return await Promise.race([work, over.then(late)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Number of parts that the time is split into; this number of late parts does not count. */
const PARTS = 4;

/**
 * The same, measured in time in which this process runs: without CPU time, or while stopped, it receives nothing.
 * Otherwise the time could be over before the process reads data that arrived meanwhile.
 */
export function withinAwake<T>(ms: number, work: Promise<T>, late: () => T): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const partMs = ms / PARTS;
  let left = PARTS;
  let leftLate = PARTS;
  let sinceMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    const isLate = nowMs - sinceMs > 2 * partMs;
    sinceMs = nowMs;
    if (isLate && leftLate > 0) leftLate -= 1;
    else left -= 1;
    if (left > 0) return;
    clearInterval(timer);
    try {
      resolve(late());
    } catch (error) {
      reject(error);
    }
  }, partMs);
  void work.then(resolve, reject).finally(() => clearInterval(timer));
  return promise;
}
