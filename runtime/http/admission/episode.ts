import { task } from "../../shared/faults/guard.ts";

/** Reports events that come in great numbers: once when they begin, and once when they are over. */
export interface Episode<Facts> {
  /** Counts one event. @param facts reported for the first one only */
  add(facts: Facts): void;
  close(): void;
}

export interface EpisodeWords<Facts> {
  readonly begins: (facts: Facts) => void;
  readonly isOver: (summary: { readonly count: number; readonly seconds: number }) => void;
}

/** An episode is over after this long without an event. */
const OVER_MS = 10_000;

export function createEpisode<Facts>({ begins, isOver }: EpisodeWords<Facts>): Episode<Facts> {
  let count = 0;
  let beganMs = 0;
  let lastMs = 0;
  let timer: NodeJS.Timeout | undefined;

  const lookLater = (ms: number): void => {
    timer = setTimeout(task("the end of an episode", look), ms);
    timer.unref();
  };
  const look = (): void => {
    const leftMs = lastMs + OVER_MS - performance.now();
    if (leftMs > 0) return lookLater(leftMs);
    timer = undefined;
    isOver({ count, seconds: Math.round((lastMs - beganMs) / 1000) });
    count = 0;
  };

  return {
    add(facts) {
      lastMs = performance.now();
      count += 1;
      if (timer !== undefined) return;
      beganMs = lastMs;
      begins(facts);
      lookLater(OVER_MS);
    },
    close() {
      clearTimeout(timer);
    },
  };
}
