/** Cookies in both directions (RFC 6265). Names and values are ours; foreign cookies are ignored, not checked. */
import { GatewayError } from "../shared/errors.ts";
import type { Exchange } from "./exchange.ts";

/** All cookies of a request, without duplicate names: another host may have planted one of the two. */
export function parseCookies(exchange: Exchange): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const twice = new Set<string>();
  for (const header of exchange.headerValues("cookie")) {
    for (const pair of header.split(";")) {
      const equals = pair.indexOf("=");
      if (equals === -1) continue;
      const name = pair.slice(0, equals).trim();
      if (found.has(name)) twice.add(name);
      found.set(name, unquote(pair.slice(equals + 1).trim()));
    }
  }
  for (const name of twice) found.delete(name);
  return found;
}

/**
 * One cookie of a request, without reading the others.
 *
 * @returns undefined if absent or duplicated
 */
export function readCookie(exchange: Exchange, name: string): string | undefined {
  const headers = exchange.headerValues("cookie");
  let value: string | undefined;
  for (const header of headers) {
    // Most requests carry it once or not at all: one search from each side instead of taking the header apart.
    const at = header.indexOf(name);
    if (at === -1) continue;
    if (headers.length === 1 && at === header.lastIndexOf(name) && isWholeName(header, at, name.length)) {
      const end = header.indexOf(";", at);
      return unquote(header.slice(at + name.length + 1, end === -1 ? undefined : end).trim());
    }
    for (const pair of header.split(";")) {
      const equals = pair.indexOf("=");
      if (equals === -1 || pair.slice(0, equals).trim() !== name) continue;
      if (value !== undefined) return undefined;
      value = unquote(pair.slice(equals + 1).trim());
    }
  }
  return value;
}

export interface CookieAttributes {
  /** Default "/". */
  readonly path?: string;
  /** Seconds; 0 deletes the cookie; absent = until the browser closes. */
  readonly maxAgeSeconds?: number;
  /** Default true. */
  readonly httpOnly?: boolean;
  /** Default true; a `__Host-` name needs it. */
  readonly secure?: boolean;
  /** Default "lax". */
  readonly sameSite?: "lax" | "strict" | "none";
}

/**
 * The value of a Set-Cookie header.
 *
 * @throws GatewayError `cookie.invalid` when name or value has a character that would change the header
 */
export function serializeCookie(name: string, value: string, attributes: CookieAttributes = {}): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || !/^[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*$/.test(value)) {
    throw new GatewayError(
      "cookie.invalid",
      `Cannot set cookie ${JSON.stringify(name)}: name or value has a character that cookies cannot carry`,
    );
  }
  let text = `${name}=${value}; Path=${attributes.path ?? "/"}`;
  if (attributes.maxAgeSeconds !== undefined) text += `; Max-Age=${Math.max(0, Math.floor(attributes.maxAgeSeconds))}`;
  if (attributes.httpOnly ?? true) text += "; HttpOnly";
  if (attributes.secure ?? true) text += "; Secure";
  const sameSite = attributes.sameSite ?? "lax";
  return `${text}; SameSite=${sameSite === "lax" ? "Lax" : sameSite === "strict" ? "Strict" : "None"}`;
}

/**
 * A Cookie header without some of its cookies; the others keep their bytes.
 *
 * @returns undefined when nothing is left
 */
export function withoutCookies(header: string, isOurs: (name: string, value: string) => boolean): string | undefined {
  let changed = false;
  const remaining: string[] = [];
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=");
    const name = (equals === -1 ? pair : pair.slice(0, equals)).trim();
    const value = equals === -1 ? "" : unquote(pair.slice(equals + 1).trim());
    if (isOurs(name, value)) changed = true;
    else if (name !== "" || equals !== -1) remaining.push(pair.trim());
  }
  if (!changed) return header;
  return remaining.length === 0 ? undefined : remaining.join("; ");
}

/** True when the match at `at` is the whole name of a pair as browsers write it, without extra spaces. */
function isWholeName(header: string, at: number, length: number): boolean {
  const begins = at === 0 || (header.charCodeAt(at - 1) === 32 && header.charCodeAt(at - 2) === 59);
  return begins && header.charCodeAt(at + length) === 61;
}

function unquote(value: string): string {
  return value.length >= 2 && value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value;
}
