import { task } from "../../shared/faults/guard.ts";

/** Tells of what comes in great numbers: once when it begins, and once when it is over. */
export interface Episode<Facts> {
  /** It happened. @param facts of the first one are told */
  add(facts: Facts): void;
  close(): void;
}

export interface EpisodeWords<Facts> {
  readonly begins: (facts: Facts) => void;
  readonly isOver: (told: { readonly count: number; readonly seconds: number }) => void;
}

/** Without any for so long it is over. */
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
