/**
 * Letters in one case, A to Z alone.
 *
 * `toLowerCase()` also folds letters that only look alike: the Kelvin sign (U+212A) becomes "k", so an address that
 * somebody else owns would equal the one that a rule names. Names of the internet know no case for ASCII alone (RFC 4343).
 */

/** "A" to "Z" become "a" to "z", everything else stays as it is. */
export function lowerAscii(text: string): string {
  return isAscii(text) ? text.toLowerCase() : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** "a" to "z" become "A" to "Z", everything else stays as it is. */
export function upperAscii(text: string): string {
  return isAscii(text) ? text.toUpperCase() : text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- all of ASCII is meant
  return /^[\0-\x7f]*$/.test(text);
}
