/** Some of a list, by a seed: the same seed gives the same ones. */

/** xorshift32: small, and the same everywhere. */
export function randomOf(seed: number): () => number {
  let state = (Math.imul(seed, 0x9e3779b1) ^ 0x5bf03635) | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

export function sampleOf<T>(list: readonly T[], size: number, seed: number): readonly T[] {
  const random = randomOf(seed);
  return list
    .map((each, at) => ({ each, at, rank: random() }))
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, size)
    .toSorted((one, other) => one.at - other.at)
    .map(({ each }) => each);
}
