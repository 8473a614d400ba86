/** The built-in check: denies by a list of words, and removes secrets. */
import { deny, partOf, PASS, textsOf, withTexts, type Check } from "./verdict.ts";

/** What looks like a secret wherever it is. */
const SECRETS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[^]*?-----END [A-Z ]*PRIVATE KEY-----/g,
  /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bgh[pousr]_[A-Za-z0-9]{36,}\b/g,
  /\bsk-[\w-]{20,}/g,
];

/** @param words any of which denies, in any case */
export function builtIn(words: readonly string[]): Check {
  const wanted = words.map((word) => word.toLowerCase());
  return async (question) => {
    const [part, value] = partOf(question);
    const texts = textsOf(value).map((text) => text.toLowerCase());
    const word = wanted.find((each) => texts.some((text) => text.includes(each)));
    if (word !== undefined) return deny(`contains "${word}"`);
    let count = 0;
    const changed = await withTexts(value, (text) =>
      SECRETS.reduce((before, secret) => before.replaceAll(secret, () => ((count += 1), "[removed]")), text),
    );
    if (count === 0) return PASS;
    return { verdict: "mutate", reason: `${count} secret${count === 1 ? "" : "s"} removed`, [part]: changed };
  };
}
