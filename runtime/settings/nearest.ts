/** Which known word somebody meant. */

/** The known word closest to `word`, when it is close enough to have been meant. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const written = word.toLowerCase().replaceAll("-", "_");
  const limit = Math.max(1, Math.floor(written.length * 0.4)) + 1;
  let best: string | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const plain = candidate.replaceAll("-", "_");
    const begun = written.length >= 5 && (plain.startsWith(`${written}_`) || written.startsWith(`${plain}_`));
    const distance = begun ? 1 : editDistance(written, plain, limit);
    // People get the beginning right: "cookie_expire" means "cookie_expiration", not "cookie_name".
    const score = distance - 0.3 * sharedBeginning(written, plain);
    if (distance < limit && score < bestScore) [best, bestScore] = [candidate, score];
  }
  return best;
}

function sharedBeginning(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

/** Edits from one word to the other (two letters changing places are one), or `limit` when there are at least that many. */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit || from.length > 100) return limit;
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? limit;
  for (let i = 1; i <= from.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= to.length; j++) {
      const replaced = at(i - 1, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1] ? at(i - 2, j - 2) + 1 : limit;
      rows[i]?.push(Math.min(replaced, swapped, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return Math.min(at(from.length, to.length), limit);
}
