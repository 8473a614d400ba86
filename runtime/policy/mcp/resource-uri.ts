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
  const normal = normalResourcePrefix(text);
  if (normal === undefined || !URL.canParse(text)) return normal;
  const { href, pathname } = new URL(text);
  const parsed = normalResourcePrefix(href);
  // An address without a path equals the root path.
  return parsed === normal || (pathname === "/" && parsed === addRoot(normal)) ? parsed : undefined;
}

function addRoot(normal: string): string {
  return normal.replace(/^[^:]*:\/\/[^/?#]*/, "$&/");
}

/**
 * Normal form of a URI or of a URI prefix. @returns undefined if it is neither, or if its text could be read as another
 * one
 */
export function normalResourcePrefix(text: string): string | undefined {
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  if (/[\0-\x20\\\x7f-\x9f]/.test(text) || !text.isWellFormed()) return undefined;
  const parts = /^([A-Za-z][A-Za-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(.*)$/s.exec(text);
  if (!parts) return undefined;
  const [, scheme = "", authority, path = "", rest = ""] = parts;
  if (text.replace(/%(?:[0-9A-Fa-f]{2})/g, "").includes("%")) return undefined;
  const host = authority === undefined ? "" : normalText(authority);
  if (host.includes("@")) return undefined;
  const normal = normalText(path);
  const tail = normalTail(rest);
  if (!isPlainPath(normal) || !isPlainTail(tail)) return undefined;
  return `${scheme.toLowerCase()}:${authority === undefined ? "" : `//${host.toLowerCase()}`}${normal}${tail}`;
}

/**
 * Whether servers could read a text as the URI of a skill. A text without a clear scheme could be one: parsers drop a blank
 * before it, and some decode escapes first.
 */
export function mayBeSkillUri(text: string): boolean {
  return !/^(?!skill:)[a-z][a-z0-9+.-]*:/i.test(text);
}

/** The rule's matcher in normal form: whole URIs, and pieces of them. */
export function normalResourceMatch(match: StringMatch): StringMatch {
  const whole = (text: string): string => normalResourceUri(text) ?? normalText(text);
  const { is, not, contains, starts_with: start, ends_with: end, in: list, not_in: others } = match;
  return {
    ...(is !== undefined && { is: whole(is) }),
    ...(not !== undefined && { not: whole(not) }),
    ...(contains !== undefined && { contains: normalText(contains) }),
    ...(start !== undefined && { starts_with: normalResourcePrefix(start) ?? normalText(start) }),
    ...(end !== undefined && { ends_with: normalText(end) }),
    ...(list && { in: list.map(whole) }),
    ...(others && { not_in: others.map(whole) }),
  };
}

function isPlainPath(normal: string): boolean {
  // An encoded "/" or "\" is a separator for some servers, text for others; NUL ends paths in C. Some servers decode
  // twice.
  if (/%(?:25)*(?:2F|2E|5C|00)/i.test(normal)) return false;
  return normal.split("/").every((segment, index, all) => {
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
function normalText(text: string): string {
  return normalizeEscapes(text, /[!-~]/, /[%/\\?#]/);
}

/** The same after "?" or "#", where other characters are separators. */
function normalTail(text: string): string {
  return normalizeEscapes(text, /[!-~]/, /[%\\#&=+;]/);
}

function normalizeEscapes(text: string, plain: RegExp, reserved: RegExp): string {
  if (!text.includes("%")) return text;
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (escapes) => {
    const decoded = Buffer.from(escapes.replaceAll("%", ""), "hex").toString("utf8");
    // Escapes that are not valid UTF-8 stay unchanged.
    if (decoded.includes("\ufffd")) return normalizeOneByOne(escapes, plain, reserved);
    return decoded.replace(/./gsu, (char) =>
      // oxlint-disable-next-line no-control-regex -- exactly these are meant
      (char > "\x9f" || plain.test(char)) && !reserved.test(char) ? char : encode(char),
    );
  });
}

function normalizeOneByOne(escapes: string, plain: RegExp, reserved: RegExp): string {
  return escapes.replace(/%(..)/g, (escape, digits: string) => {
    const char = String.fromCharCode(Number.parseInt(digits, 16));
    return plain.test(char) && !reserved.test(char) ? char : escape.toUpperCase();
  });
}

function encode(char: string): string {
  return [...Buffer.from(char)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`.toUpperCase()).join("");
}
