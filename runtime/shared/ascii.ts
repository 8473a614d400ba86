/**
 * Lower-cases the letters A to Z only.
 *
 * `toLowerCase()` also folds letters that only look alike: the Kelvin sign (U+212A) becomes "k". An email address of
 * another user would then equal the one in a rule. Internet names ignore case for ASCII only (RFC 4343).
 */

/** "A" to "Z" become "a" to "z", everything else is unchanged. */
export function lowerAscii(text: string): string {
  return isAscii(text) ? text.toLowerCase() : text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** "a" to "z" become "A" to "Z", everything else is unchanged. */
export function upperAscii(text: string): string {
  return isAscii(text) ? text.toUpperCase() : text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

function isAscii(text: string): boolean {
  // oxlint-disable-next-line no-control-regex -- all of ASCII is meant
  return /^[\0-\x7f]*$/.test(text);
}
