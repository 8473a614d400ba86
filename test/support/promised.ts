/**
 * Promised times of the product, on a host of any speed: only time in which this process ran counts. While it was suspended
 * (a quota, other processes), so was the gateway.
 */
const TICK_MS = 10;

/**
 * For `expect.poll`: looks as long as the promised time is not over, then only fails.
 *
 * @param ms the promise, from the first look on
 */
export function promised<T>(ms: number, look: () => T | Promise<T>): () => Promise<T> {
  let passedMs = 0;
  let ticker: NodeJS.Timeout | undefined;
  return async () => {
    ticker ??= countTicks();
    if (passedMs > ms) throw new Error(`It was not seen within the ${ms} ms that are promised`);
    return look();
  };

  function countTicks(): NodeJS.Timeout {
    let last = performance.now();
    const timer = setInterval(() => {
      const now = performance.now();
      passedMs += Math.min(now - last, 2 * TICK_MS);
      last = now;
      if (passedMs > ms) clearInterval(timer);
    }, TICK_MS);
    return timer.unref();
  }
}

/** How soon sign-outs, revocations and blocks take effect at all replicas. */
export const within2s = <T>(look: () => T | Promise<T>): (() => Promise<T>) => promised(2_000, look);
