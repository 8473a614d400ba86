/** Modified tokens. */

/** The text with another last character: never by chance the text itself, as with a fixed end. */
export function withChangedEnd(text: string): string {
  return text.slice(0, -1) + (text.endsWith("A") ? "B" : "A");
}

/**
 * One of our tokens, as it begins: not in the middle of other letters and digits, since any four characters turn up in
 * random base64url now and then.
 */
export const OWN_TOKEN = /(?<![\w-])gw[tr]_/;
