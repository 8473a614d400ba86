/** When traffic works again: the first success of every kind of operation, and of a request at each replica, that began after a moment. */
import type { Operation } from "./history/history.ts";
import type { Traffic } from "./world/types.ts";

export interface Recovery {
  /** To be told each operation as it ends. */
  see(operation: Operation): void;
  /** @returns when the last of them ended; undefined when not all came within the bound, or nothing is to be waited for any more */
  since(ms: number, replicas: readonly string[], withinMs: number): Promise<number | undefined>;
  /** Not all of what is waited for now. */
  missing(): readonly string[];
}

interface Waiting {
  readonly sinceMs: number;
  readonly wanted: Set<string>;
  readonly done: (at: number | undefined) => void;
}

export function createRecovery(kinds: () => Traffic["kinds"], stop: AbortSignal): Recovery {
  let waiting: Waiting | undefined;
  return {
    see({ kind, replica, began, ended, outcome }) {
      if (!waiting || outcome !== "ok" || began < waiting.sinceMs) return;
      waiting.wanted.delete(kind);
      if (kind === "request" && replica !== undefined) waiting.wanted.delete(`request at ${replica}`);
      if (waiting.wanted.size === 0) waiting.done(ended);
    },
    since(sinceMs, replicas, withinMs) {
      const { promise, resolve } = Promise.withResolvers<number | undefined>();
      const timer = setTimeout(() => resolve(undefined), withinMs);
      const give = (): void => resolve(undefined);
      stop.addEventListener("abort", give);
      waiting = {
        sinceMs,
        wanted: new Set([...kinds(), ...replicas.map((name) => `request at ${name}`)]),
        done: resolve,
      };
      return promise.finally(() => {
        clearTimeout(timer);
        stop.removeEventListener("abort", give);
      });
    },
    missing: () => [...(waiting?.wanted ?? [])],
  };
}
