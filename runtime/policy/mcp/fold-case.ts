/**
 * One spelling for everything that some language's case-insensitive comparison calls equal: Go and .NET fold the Kelvin
 * sign to k and the long s to s, Java also the dotless and the dotted i; NUL and blanks at the end are cut by C parsers.
 */
export function foldCase(text: string): string {
  const isPlain = /^[a-z_0-9]*$/.test(text);
  if (isPlain) return text;
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  return foldLetters(text).replace(/[\0\s].*$/s, "");
}

/**
 * The same without what stands between words. Some parsers ignore dashes and low lines (Go's encoding/json/v2), and Python's models
 * often take `snake_case` for `camelCase`.
 */
export function foldWords(text: string): string {
  const folded = foldCase(text);
  return /[-_]/.test(folded) ? folded.replace(/[-_]/g, "") : folded;
}

/** Letters alone, without cutting anything: of names that may have blanks in them. */
export function foldLetters(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text.toLowerCase();
  return text
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .replace(/\u0307/g, "");
}
