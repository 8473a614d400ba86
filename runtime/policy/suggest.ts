/**
 * How many suggestions ("did you mean") one block of text gets.
 *
 * Each compares a word with all known ones, a tenth of a millisecond: text with 40,000 unknown words kept other owners from publishing
 * for half a minute. The first few say what is wrong. Counted for each block, not for each slice, so that what was found out about a
 * block may be used again.
 */
const MAX_SUGGESTIONS = 5;

let left = Number.POSITIVE_INFINITY;

/** Suggestions within `work`, which must not be asynchronous, are counted from the beginning. */
export function withFewSuggestions<T>(work: () => T, most = MAX_SUGGESTIONS): T {
  const before = left;
  left = most;
  try {
    return work();
  } finally {
    left = before;
  }
}

/** Takes one. */
export function maySuggest(): boolean {
  left--;
  return left >= 0;
}

/** The known word nearest to a mistyped one, for "did you mean"; undefined when none is near. */
export function nearestWord(word: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  // A third of the letters may be wrong: more than that and the suggestion is a guess.
  let bestDistance = Math.floor(Math.max(word.length, 3) / 3) + 1;
  for (const candidate of known) {
    if (Math.abs(word.length - candidate.length) >= bestDistance) continue;
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** ` "emial" is unknown, did you mean "email"?` or the list of what is known. */
export function unknownWord(what: string, word: string, known: readonly string[]): string {
  if (!maySuggest()) return `unknown ${what} "${word}"`;
  const near = nearestWord(word, known);
  const expected = near === undefined ? `must be one of ${known.join(", ")}` : `did you mean "${near}"?`;
  return `unknown ${what} "${word}", ${expected}`;
}

/** Optimal string alignment: insertions, deletions, substitutions and swaps of neighbours. Words over 64 letters are far. */
function editDistance(a: string, b: string): number {
  if (a.length > 64 || b.length > 64) return Infinity;
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, column) => column)];
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (rows[i - 1]?.[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(change, (rows[i - 1]?.[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      }
      row.push(least);
    }
    rows.push(row);
  }
  return rows[a.length]?.[b.length] ?? Infinity;
}
