/**
 * Header names with a meaning to the gateway, in one place, each with its reason.
 *
 * Untrusted input: header names as the client or the upstream wrote them. Promise: a name that only looks different
 * (`X_Gateway_Assertion`, `x-GATEWAY-assertion`) is checked like the name that an upstream framework reads: many turn
 * "-" into "_" or the reverse, so both forms reach the same variable there.
 */

import { isProxyClaimName } from "./proxy-claims.ts";

/** About one connection, not about the message: never forwarded in either direction (RFC 9110 §7.6.1). */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  // Meant for the proxy that is reached first: us (RFC 9110 §11.7).
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-authentication-info",
]);

/** An upstream's claim about its own host: browsers that follow it would bypass the gateway. */
const UPSTREAM_ONLY = ["alt-svc"] as const;

/** The framing of the message we read is not the framing of the one we write. */
const REQUEST_FRAMING = [
  "content-length",
  // The gateway responds to it: it reads the body only when needed.
  "expect",
  // Set from the route; see features/headers/apply-host.ts.
  "host",
] as const;

/**
 * Origin or destination of a request, as claimed by an earlier hop. The gateway sets its own. An upstream that believes
 * a client's value would see another address, host or path than the policy saw.
 */
const FORWARDED = ["forwarded", "via", "x-request-id"] as const;

/** Frameworks route by these instead of the request line: the policy would have decided on another request. */
const OVERRIDES = [
  "x-original-url",
  "x-original-uri",
  "x-original-host",
  "x-original-method",
  "x-rewrite-url",
  "x-host",
  "x-http-method",
  "x-http-method-override",
  "x-method-override",
] as const;

/** Their meaning changes when they occur twice, since readers pick different ones. A request with two is rejected. */
const SINGLE = [
  "host",
  "content-length",
  "transfer-encoding",
  "content-type",
  "content-encoding",
  "authorization",
  "cookie",
  "origin",
  "expect",
  "upgrade",
  "mcp-session-id",
  "mcp-protocol-version",
  "mcp-method",
  "mcp-name",
  "last-event-id",
  "sec-fetch-site",
  "sec-fetch-mode",
] as const;

/** Names with this prefix belong to the gateway: the assertion under both its names, and claim headers. */
const OWN_PREFIX = "x-gateway-";
const FORWARDED_PREFIX = "x-forwarded-";

/** Counts how often a request passed a gateway; sent in requests to upstreams, see proxy/forwarding/hop-count.ts. */
export const HOP_COUNT_HEADER = "gateway-passes";

export interface HeaderTraits {
  /** The name as written. One string for all requests that write it so: its hash is already computed for look-ups. */
  readonly name: string;
  readonly lower: string;
  /** The name that upstream frameworks may read, see `foldHeaderName`. */
  readonly folded: string;
  /** Never forwarded, whatever the client says. */
  readonly dropFromRequest: boolean;
  /** Dropped unless the operator trusts it (`trusted_proxy_headers`); visible only to settings that name it. */
  readonly isProxyClaim: boolean;
  readonly dropFromResponse: boolean;
  /** A separate bit for each name that may occur once; 0 otherwise. */
  readonly singleBit: number;
  /** Handled separately when requests are forwarded. */
  readonly special:
    | "none"
    | "host"
    | "cookie"
    | "authorization"
    | "dpop"
    | "mcp-session-id"
    | "connection"
    | "accept-encoding"
    | "content-type"
    | "last-event-id"
    | "set-cookie"
    | "content-length"
    | "gateway-passes"
    | "te";
}

const notAnswered: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...UPSTREAM_ONLY]);
const neverForwarded: ReadonlySet<string> = new Set([...HOP_BY_HOP, ...REQUEST_FRAMING, ...FORWARDED, ...OVERRIDES]);
const single: ReadonlyMap<string, number> = new Map(SINGLE.map((name, index) => [name, 1 << index]));
const specials: ReadonlySet<string> = new Set([
  "host",
  "cookie",
  "authorization",
  "dpop",
  "mcp-session-id",
  "last-event-id",
  "connection",
  "accept-encoding",
  "content-type",
  "set-cookie",
  "content-length",
  "gateway-passes",
  "te",
]);

/** Names repeat: looking one up is cheaper than lower-casing it. Bounded, so that invented names cannot fill memory. */
const known = new Map<string, HeaderTraits>();
const MAX_KNOWN = 2048;
const MAX_KNOWN_LENGTH = 64;

/** Returns the traits of a header name in any case or form. */
export function headerTraits(name: string): HeaderTraits {
  return known.get(name) ?? learn(name);
}

/** The last name with each of these hashes: the few that repeat in each message are not cut out and hashed again. */
const recent: (HeaderTraits | undefined)[] = Array.from({ length: 512 }, () => undefined);

/** Does the same for a part of a head. @param hash any number that is the same for the same name */
export function headerTraitsAt(text: string, start: number, end: number, hash: number): HeaderTraits {
  const place = hash & (recent.length - 1);
  const last = recent[place];
  if (last !== undefined && last.name.length === end - start && text.startsWith(last.name, start)) return last;
  const traits = headerTraits(text.slice(start, end));
  if (traits.name.length <= MAX_KNOWN_LENGTH) recent[place] = traits;
  return traits;
}

function learn(name: string): HeaderTraits {
  // A copy: a slice of a head would keep the whole head in memory.
  const traits = describe(Buffer.from(name).toString());
  if (known.size < MAX_KNOWN && name.length <= MAX_KNOWN_LENGTH) known.set(traits.name, traits);
  return traits;
}

function describe(name: string): HeaderTraits {
  const lower = name.toLowerCase();
  const folded = foldHeaderName(lower);
  const reserved = neverForwarded.has(folded) || folded.startsWith(OWN_PREFIX) || folded.startsWith(FORWARDED_PREFIX);
  const isClaim = isProxyClaimName(folded);
  // "content_type" is not an HTTP header, but a CGI-like upstream reads it as CONTENT_TYPE: a second, uninspected one.
  const disguised = folded !== lower && (single.has(folded) || specials.has(folded));
  return {
    name,
    lower,
    folded,
    dropFromRequest: reserved || disguised || isClaim,
    // Another form of the name is never trusted.
    isProxyClaim: isClaim && folded === lower,
    dropFromResponse: notAnswered.has(lower),
    singleBit: single.get(lower) ?? 0,
    special: specials.has(lower) ? (lower as HeaderTraits["special"]) : "none",
  };
}

/**
 * The name under which upstream frameworks may read a header: lower case, everything but letters and digits as "-". CGI
 * variables have "_" for both "-" and "_", and some servers also write it for ".", "~" and the rest.
 */
export function foldHeaderName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "-");
}

/** The names listed in a Connection header, lower case: they are also about this connection only (RFC 9110 §7.6.1). */
export function connectionTokens(value: string): readonly string[] {
  return value
    .toLowerCase()
    .split(",")
    .map((token) => token.trim())
    .filter((token) => token !== "");
}

/** Checks whether text can be sent as a header value unchanged (RFC 9110 §5.5), one byte per character. */
export function isHeaderText(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}

/**
 * A field's value without the blanks around it (OWS, RFC 9110 §5.6.3). Character by character: an expression for
 * trailing blanks starts again at every inner blank, which took seconds.
 */
export function trimBlanks(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charCodeAt(start))) start += 1;
  while (end > start && isBlank(value.charCodeAt(end - 1))) end -= 1;
  return start === 0 && end === value.length ? value : value.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
