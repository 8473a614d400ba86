/**
 * The one writer that shows foreign text (from servers, clients, users, other parties' files) to people: on console
 * pages, in terminals, in Terraform messages.
 *
 * Untrusted input: the text. Promises: nothing in it steers a terminal or hides its surroundings, C1 controls and
 * bidirectional marks included; JSON stays the same JSON; `foreignText` is bounded; `withoutSent` returns no text that
 * repeats what was sent to its author, in the forms in which servers repeat requests.
 */
import { escapeUnits, visibleText } from "./visible-text.ts";

const MAX_CHARACTERS = 200;

/** Nothing invisible, on one line, and bounded. States how much it truncates. */
export function foreignText(text: string, maxCharacters = MAX_CHARACTERS): string {
  if (text.length <= maxCharacters) return visibleText(text);
  // Does not split a character of two units.
  const shown = text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, "");
  return `${visibleText(shown)}… (${text.length - shown.length} more characters)`;
}

/** The same for a text of several lines. */
export function foreignLines(text: string, maxCharacters: number): string {
  const shown = text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, "");
  const lines = shown.split(/\r?\n/).map(visibleText).join("\n");
  return shown.length === text.length ? lines : `${lines}… (${text.length - shown.length} more characters)`;
}

/** Everything that a terminal or log viewer may obey. Columns of a table may be far apart: spaces are unchanged. */
export const STEERING = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Complete output of a command. Within JSON the escapes are JSON's own. */
export function terminalText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(STEERING, escapeUnits);
}

/** Sentences may contain parts of tokens; a shorter part is useless to an attacker. */
const WINDOW = 16;
const MAX_READ = 16_384;
const REPEATED = "(omitted: it repeats what was sent)";

/** @param sent tokens and the like; texts shorter than 4 characters are ignored */
export function withoutSent(text: string, sent: readonly string[]): string {
  if (text === "") return text;
  const secrets = sent.map(plain).filter((secret) => secret.length >= 4);
  if (secrets.length === 0) return text;
  // A longer text is truncated: unchecked text is never shown.
  const read = text.slice(0, MAX_READ);
  return secrets.some((secret) => formsOf(read).some((form) => repeats(form, secret))) ? REPEATED : read;
}

function repeats(text: string, secret: string): boolean {
  const size = Math.min(WINDOW, secret.length);
  for (let at = 0; at + size <= secret.length; at++) if (text.includes(secret.slice(at, at + size))) return true;
  return false;
}

/** Only letters and digits, in lower case. */
function plain(text: string): string {
  return text.replace(/[^A-Za-z0-9]+/g, "").toLowerCase();
}

/** The text itself, unescaped as often as two servers may have escaped it, and decoded; forwards and backwards. */
function formsOf(text: string): readonly string[] {
  const once = unescaped(text);
  const all = new Set([text, once, unescaped(once)]);
  for (const each of Array.from(all)) for (const decoded of decodings(each)) all.add(decoded).add(unescaped(decoded));
  return [...all].flatMap((each) => {
    const short = plain(each);
    return [short, Array.from(short).reverse().join("")];
  });
}

/** Escapes of JSON, JavaScript, addresses, HTML and quoted-printable text. */
function unescaped(text: string): string {
  return text
    .replaceAll(
      /\\u\{?([0-9a-fA-F]{1,6})\}?|\\x([0-9a-fA-F]{2})|[%=]([0-9a-fA-F]{2})|&#x([0-9a-fA-F]{1,6});?/g,
      (whole, ...of) =>
        character(whole, Number.parseInt(of.slice(0, 4).find((digits) => digits !== undefined) as string, 16)),
    )
    .replaceAll(/&#([0-9]{1,7});?|\\([0-7]{3})/g, (whole, decimal?: string, octal?: string) =>
      character(whole, decimal === undefined ? Number.parseInt(octal ?? "", 8) : Number(decimal)),
    );
}

function character(whole: string, code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
}

function decodings(text: string): readonly string[] {
  const found: string[] = [];
  // Encoded text may have line breaks after 60 or 76 characters.
  const joined = text.replaceAll(/[\r\n\t "']+|\\[nrt]/g, " ");
  for (const each of [joined, joined.replaceAll(" ", "")]) {
    for (const [run] of each.matchAll(/[A-Za-z0-9+/_-]{6,}/g))
      for (let start = 0; start < 4; start++) found.push(Buffer.from(run.slice(start), "base64").toString("latin1"));
    for (const [run] of each.matchAll(/(?:[0-9a-fA-F]{2}[ :,-]?){4,}/g))
      found.push(Buffer.from(run.replaceAll(/[^0-9a-fA-F]/g, ""), "hex").toString("latin1"));
  }
  return found;
}
