/**
 * Whose turn it is at something that does one thing at a time: of those who wait, whoever had the least of it lately.
 *
 * An owner who asks for much, or for what takes long, then waits for the others, and they wait for no more than what is under way.
 */
export interface Turns {
  /** @param who for whom; the empty name goes before all others */
  take<T>(who: string, work: () => Promise<T>): Promise<T>;
}

/** What somebody had is forgotten after that. */
const MEMORY_MS = 60_000;

/** @param nowMs monotonic */
export function createTurns(nowMs: () => number = () => performance.now()): Turns {
  const waiting: { readonly who: string; readonly run: () => Promise<void> }[] = [];
  let hadMs = new Map<string, number>();
  let sinceMs = nowMs();
  let isBusy = false;

  return {
    take: (who, work) =>
      new Promise((resolve, reject) => {
        const run = async (): Promise<void> => {
          const beganMs = nowMs();
          // Also where it throws at once: else nothing would have its turn any more.
          await Promise.resolve().then(work).then(resolve, reject);
          if (who !== "") hadMs.set(who, (hadMs.get(who) ?? 0) + nowMs() - beganMs);
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

  /** Of equals the one who came first. */
  function pick(): (typeof waiting)[number] | undefined {
    if (nowMs() - sinceMs > MEMORY_MS) {
      hadMs = new Map();
      sinceMs = nowMs();
    }
    let best = 0;
    for (const [at, { who }] of waiting.entries()) if (had(who) < had(waiting[best]?.who ?? "")) best = at;
    return waiting.splice(best, 1)[0];
  }

  function had(who: string): number {
    return who === "" ? -1 : (hadMs.get(who) ?? 0);
  }
}
