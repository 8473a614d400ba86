import { createHash } from "node:crypto";

import type { Random } from "./types.ts";

/** Mulberry32, begun with the hash of seed and name: who draws how often from one generator changes nothing for another. */
export function createRandom(seed: number, name: string): Random {
  let state = createHash("sha256").update(`${seed} ${name}`).digest().readUInt32LE(0);
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
