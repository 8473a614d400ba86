/**
 * Whether texts contain a part, in time linear in the text.
 *
 * The platform's search compares the part again at each position: "aaaa…baaaa…" in "aaaa…", 50 KB in 100 KB, takes a
 * second.
 */

/** Most comparisons left to the platform, which is faster for all ordinary rules. */
const MAX_PLAIN_WORK = 16_384;
const SHORT = 8;

export function compileContains(part: string): (text: string) => boolean {
  if (part.length <= SHORT) return (text) => text.includes(part);
  let fallbacks: Int32Array | undefined;
  return (text) => {
    if (text.length * part.length <= MAX_PLAIN_WORK) return text.includes(part);
    return search(text, part, (fallbacks ??= fallbacksOf(part)));
  };
}

/** Knuth-Morris-Pratt table: how much of the part still matches when the character after `length` of it does not. */
function fallbacksOf(part: string): Int32Array {
  const fallbacks = new Int32Array(part.length + 1);
  let length = 0;
  for (let index = 1; index < part.length; index += 1) {
    const char = part.charCodeAt(index);
    while (length > 0 && part.charCodeAt(length) !== char) length = fallbacks[length] as number;
    if (part.charCodeAt(length) === char) length += 1;
    fallbacks[index + 1] = length;
  }
  return fallbacks;
}

function search(text: string, part: string, fallbacks: Int32Array): boolean {
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    const char = text.charCodeAt(index);
    while (length > 0 && part.charCodeAt(length) !== char) length = fallbacks[length] as number;
    if (part.charCodeAt(length) === char) length += 1;
    if (length === part.length) return true;
  }
  return false;
}
