/**
 * Normal form of names that some language's case-insensitive comparison treats as equal. Go and .NET fold the Kelvin
 * sign to k and the long s to s, Java also the dotless and the dotted i. C parsers cut at NUL and trailing blanks.
 */
export function foldCase(text: string): string {
  const isPlain = /^[a-z_0-9]*$/.test(text);
  if (isPlain) return text;
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  return foldLetters(text).replace(/[\0\s].*$/s, "");
}

/**
 * The same without word separators. Some parsers ignore hyphens and underscores (Go's encoding/json/v2), and Python
 * models often accept `snake_case` for `camelCase`.
 */
export function foldWords(text: string): string {
  const folded = foldCase(text);
  return /[-_]/.test(folded) ? folded.replace(/[-_]/g, "") : folded;
}

/** Folds only letters, without cutting: for names that can contain blanks. */
export function foldLetters(text: string): string {
  if (/^[\x20-\x7e]*$/.test(text)) return text.toLowerCase();
  return text
    .normalize("NFKC")
    .toUpperCase()
    .toLowerCase()
    .replace(/\u0307/g, "");
}
