/** Chance that is the same in every run. */
import { createHash } from "node:crypto";

/** Numbers in [0, 1). */
export type Random = () => number;

/** Mulberry32. A text is hashed first: with a text for each of many generators, draws do not affect each other. */
export function createRandom(seed: number | string): Random {
  let state = typeof seed === "number" ? seed : createHash("sha256").update(seed).digest().readUInt32LE(0);
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
