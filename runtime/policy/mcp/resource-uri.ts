/**
 * Normal form of a resource's URI, on which rules decide.
 *
 * Untrusted input: the URI. A URI that servers could read as another resource has no normal form, and rules about it
 * are undecided: a path that goes up, an encoded separator, an empty segment, a user in the address, and anything that
 * parsing turns into another address (`file:/etc`, `https://a.example:443/`).
 *
 * @see RFC 3986 §6.2.2; WHATWG URL, used by the TypeScript SDK
 */
import type { StringMatch } from "../match.ts";

/** @returns undefined if it is not a URI, or could be read as another one */
export function normalResourceUri(text: string): string | undefined {
  const spelled = spellResourceUri(text);
  if (spelled === undefined || !URL.canParse(text)) return spelled;
  const { href, pathname } = new URL(text);
  const parsed = spellResourceUri(href);
  // An address without a path equals the root path.
  return parsed === spelled || (pathname === "/" && parsed === addRoot(spelled)) ? parsed : undefined;
}

function addRoot(spelled: string): string {
  return spelled.replace(/^[^:]*:\/\/[^/?#]*/, "$&/");
}

/**
 * Normal form of a URI or of a URI prefix. @returns undefined if it is neither, or if its text could be read as another
 * one
 */
export function spellResourceUri(text: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  if (/[\0-\x20\\\x7f-\x9f]/.test(text) || !text.isWellFormed()) return undefined;
  const parts = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(text);
  if (!parts) return undefined;
  const [, scheme = "", authority, path = "", rest = ""] = parts;
  if (text.replace(/%(?:[0-9A-Fa-f]{2})/g, "").includes("%")) return undefined;
  const host = authority === undefined ? "" : spellText(authority);
  if (host.includes("@")) return undefined;
  const spelled = spellText(path);
  const tail = spellTail(rest);
  if (!isPlainPath(spelled) || !isPlainTail(tail)) return undefined;
  return `${scheme.toLowerCase()}:${authority === undefined ? "" : `//${host.toLowerCase()}`}${spelled}${tail}`;
}

/** The rule's matcher in normal form: whole URIs, and pieces of them. */
export function spellResourceMatch(match: StringMatch): StringMatch {
  const whole = (text: string): string => normalResourceUri(text) ?? spellText(text);
  const { is, not, contains, starts_with: start, ends_with: end, in: list, not_in: others } = match;
  return {
    ...(is !== undefined && { is: whole(is) }),
    ...(not !== undefined && { not: whole(not) }),
    ...(contains !== undefined && { contains: spellText(contains) }),
    ...(start !== undefined && { starts_with: spellText(start) }),
    ...(end !== undefined && { ends_with: spellText(end) }),
    ...(list && { in: list.map(whole) }),
    ...(others && { not_in: others.map(whole) }),
  };
}

function isPlainPath(spelled: string): boolean {
  // An encoded "/" or "\" is a separator for some servers, text for others; NUL ends paths in C. Some servers decode
  // twice.
  if (/%(?:25)*(?:2F|2E|5C|00)/i.test(spelled)) return false;
  return spelled.split("/").every((segment, index, all) => {
    // Some servers strip parameters before resolving "..".
    const name = segment.split(";", 1)[0] ?? "";
    return !isDots(name) && (segment !== "" || index === 0 || index === all.length - 1);
  });
}

/** File servers that strip the scheme and use the rest as a path also resolve ".." here. */
function isPlainTail(tail: string): boolean {
  return !tail.split("/").slice(1).some(isDots) && !/%(?:25)*(?:5C|00)/i.test(tail);
}

function isDots(segment: string): boolean {
  return segment === "." || segment === "..";
}

/** Decodes escapes of characters that can appear literally, and writes the other escapes in upper case. */
function spellText(text: string): string {
  return spell(text, /[!-~]/, /[%/\\?#]/);
}

/** The same after "?" or "#", where other characters are separators. */
function spellTail(text: string): string {
  return spell(text, /[!-~]/, /[%\\#&=+;]/);
}

function spell(text: string, plain: RegExp, kept: RegExp): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (escapes) => {
    const decoded = Buffer.from(escapes.replaceAll("%", ""), "hex").toString("utf8");
    // Escapes that are not valid UTF-8 stay unchanged.
    if (decoded.includes("\ufffd")) return spellOneByOne(escapes, plain, kept);
    return decoded.replace(/./gsu, (char) =>
      // oxlint-disable-next-line no-control-regex -- exactly these are meant
      (char > "\x9f" || plain.test(char)) && !kept.test(char) ? char : encode(char),
    );
  });
}

function spellOneByOne(escapes: string, plain: RegExp, kept: RegExp): string {
  return escapes.replace(/%(..)/g, (escape, digits: string) => {
    const char = String.fromCharCode(Number.parseInt(digits, 16));
    return plain.test(char) && !kept.test(char) ? char : escape.toUpperCase();
  });
}

function encode(char: string): string {
  return [...Buffer.from(char)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`.toUpperCase()).join("");
}
