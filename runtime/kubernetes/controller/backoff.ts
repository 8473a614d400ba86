/** How long to wait before the next try. */

export interface Backoff {
  /** Milliseconds: doubled with each failure up to a limit, and spread so that many do not come at once. */
  next(): number;
  /** All is well again. */
  reset(): void;
}

export interface BackoffOptions {
  readonly firstMs: number;
  readonly mostMs: number;
  /** 0 … 1. */
  readonly random?: () => number;
}

export function createBackoff({ firstMs, mostMs, random = Math.random }: BackoffOptions): Backoff {
  let failures = 0;
  return {
    next() {
      const full = Math.min(mostMs, firstMs * 2 ** failures);
      failures = Math.min(failures + 1, 30);
      return full / 2 + (full / 2) * random();
    },
    reset() {
      failures = 0;
    },
  };
}
