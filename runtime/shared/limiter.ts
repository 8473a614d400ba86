/** At most so many at once; the others wait their turn. */
export interface Limiter {
  take<T>(work: () => Promise<T>): Promise<T>;
}

export function createLimiter(atOnce: number): Limiter {
  const waiting: (() => void)[] = [];
  let running = 0;
  return {
    async take(work) {
      if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
      else running += 1;
      try {
        return await work();
      } finally {
        // The place goes to the next one, or becomes free.
        const next = waiting.shift();
        if (next) next();
        else running -= 1;
      }
    },
  };
}
