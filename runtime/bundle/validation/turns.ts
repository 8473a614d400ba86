/**
 * Fair queue for work that runs one at a time: the waiting owner with the least recent work time is next.
 *
 * An owner with many or slow requests then waits for the others, and they wait at most for the work in flight.
 */
export interface Turns {
  /** @param who owner of the work; the empty name precedes all others */
  take<T>(who: string, work: () => Promise<T>): Promise<T>;
}

/** Work times are reset after this time. */
const MEMORY_MS = 60_000;

/** @param nowMs monotonic */
export function createTurns(nowMs: () => number = () => performance.now()): Turns {
  const waiting: { readonly who: string; readonly run: () => Promise<void> }[] = [];
  let usedMs = new Map<string, number>();
  let sinceMs = nowMs();
  let isBusy = false;

  return {
    take: (who, work) =>
      new Promise((resolve, reject) => {
        const run = async (): Promise<void> => {
          const startedMs = nowMs();
          // Also if `work` throws synchronously: otherwise the queue would stop.
          await Promise.resolve().then(work).then(resolve, reject);
          if (who !== "") usedMs.set(who, (usedMs.get(who) ?? 0) + nowMs() - startedMs);
        };
        waiting.push({ who, run });
        void serve();
      }),
  };

  async function serve(): Promise<void> {
    if (isBusy) return;
    isBusy = true;
    for (let next = pick(); next; next = pick()) await next.run();
    isBusy = false;
  }

  /** Among equals, first come, first served. */
  function pick(): (typeof waiting)[number] | undefined {
    if (nowMs() - sinceMs > MEMORY_MS) {
      usedMs = new Map();
      sinceMs = nowMs();
    }
    let best = 0;
    for (const [at, { who }] of waiting.entries()) if (usedBy(who) < usedBy(waiting[best]?.who ?? "")) best = at;
    return waiting.splice(best, 1)[0];
  }

  function usedBy(who: string): number {
    return who === "" ? -1 : (usedMs.get(who) ?? 0);
  }
}
