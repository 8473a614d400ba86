/** Results of the last seconds: work is done once, for all windows that show its result. */
import type { Clock } from "../../shared/clock.ts";

interface Remembered<T> {
  readonly result: Promise<T>;
  readonly atMs: number;
}

const MAX_KEYS = 256;

/** @returns a function that does the work of a key unless it was done in the last `forMs`. Failed work is not remembered */
export function remember<T>(clock: Clock, forMs: number): (key: string, work: () => Promise<T>) => Promise<T> {
  const known = new Map<string, Remembered<T>>();
  return (key, work) => {
    const nowMs = clock.now();
    const last = known.get(key);
    // A clock that was set back must not keep a result for hours.
    if (last && Math.abs(nowMs - last.atMs) < forMs) return last.result;
    const entry = { result: work(), atMs: nowMs };
    known.delete(key);
    known.set(key, entry);
    if (known.size > MAX_KEYS) known.delete(known.keys().next().value as string);
    entry.result.catch(() => {
      if (known.get(key) === entry) known.delete(key);
    });
    return entry.result;
  };
}
