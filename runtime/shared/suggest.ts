/**
 * Suggestions ("did you mean") per block of text.
 *
 * Each compares a word with all known ones and takes 0.1 ms: text with 40,000 unknown words kept other owners from
 * publishing for half a minute. The first few are enough to show the problem. Counted per block, not per slice, so that
 * the result for a block can be reused.
 */
const MAX_SUGGESTIONS = 5;

let left = Number.POSITIVE_INFINITY;

/** Restarts the count for suggestions within `work`, which must not be asynchronous. */
export function withFewSuggestions<T>(work: () => T, most = MAX_SUGGESTIONS): T {
  const before = left;
  left = most;
  try {
    return work();
  } finally {
    left = before;
  }
}

/** Uses up one suggestion. */
export function maySuggest(): boolean {
  left--;
  return left >= 0;
}

/** The known word closest to `word`, if it is close enough to be the intended one. */
export function nearest(word: string, known: Iterable<string>): string | undefined {
  const written = word.toLowerCase().replaceAll("-", "_");
  const limit = Math.max(1, Math.floor(written.length * 0.4)) + 1;
  let best: string | undefined;
  let bestScore = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const plain = candidate.toLowerCase().replaceAll("-", "_");
    const isPrefix = written.length >= 5 && (plain.startsWith(`${written}_`) || written.startsWith(`${plain}_`));
    const distance = isPrefix ? 1 : editDistance(written, plain, limit);
    // Most typing errors are near the end: "cookie_expire" means "cookie_expiration", not "cookie_name".
    const score = distance - 0.3 * sharedBeginning(written, plain);
    if (distance < limit && score < bestScore) [best, bestScore] = [candidate, score];
  }
  return best;
}

/** ` "emial" is unknown, did you mean "email"?` or the list of known words. */
export function unknownWord(what: string, word: string, known: readonly string[]): string {
  if (!maySuggest()) return `unknown ${what} "${word}"`;
  const near = nearest(word, known);
  const expected = near === undefined ? `must be one of ${known.join(", ")}` : `did you mean "${near}"?`;
  return `unknown ${what} "${word}", ${expected}`;
}

function sharedBeginning(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return length;
}

/** Longer words are not compared. */
const MAX_LENGTH = 100;
const ROWS = [0, 1, 2].map(() => new Uint8Array(2 * MAX_LENGTH)) as [Uint8Array, Uint8Array, Uint8Array];

/** Edits from one word to the other (swapping two letters is one), or `limit` when there are at least that many. */
function editDistance(from: string, to: string, limit: number): number {
  if (Math.abs(from.length - to.length) >= limit || from.length > MAX_LENGTH) return limit;
  // Three rows are enough: this one, and two for swapped letters.
  let [before, last, row] = ROWS;
  for (let j = 0; j <= to.length; j++) last[j] = j;
  for (let i = 1; i <= from.length; i++) {
    row[0] = i;
    let least = i;
    for (let j = 1; j <= to.length; j++) {
      const replaced = (last[j - 1] ?? limit) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? limit) + 1 : limit;
      const distance = Math.min(replaced, swapped, (last[j] ?? limit) + 1, (row[j - 1] ?? limit) + 1);
      row[j] = distance;
      least = Math.min(least, distance);
    }
    // A swap reaches back two rows and adds one.
    if (least > limit) return limit;
    [before, last, row] = [last, row, before];
  }
  return Math.min(last[to.length] ?? limit, limit);
}
