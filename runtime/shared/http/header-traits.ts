/**
 * Which header names mean something to the gateway, in one place, each with its reason.
 *
 * Untrusted input: header names as the client or the upstream wrote them. Promise: a name that only looks different
 * (`X_Gateway_Assertion`, `x-GATEWAY-assertion`) is checked like the name an upstream framework would take it for: many
 * turn "-" into "_" or the reverse, so both spellings reach the same variable there.
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

/** An upstream's word about its own host: followed by browsers, it would lead them around the gateway. */
const UPSTREAM_ONLY = ["alt-svc"] as const;

/** The framing of the message we read is not the framing of the one we write. */
const REQUEST_FRAMING = [
  "content-length",
  // Answered by ourselves: the body is read only when somebody wants it.
  "expect",
  // Set from the route; see features/headers/apply-host.ts.
  "host",
] as const;

/**
 * Where a request came from or went to, as somebody before us claims. We set our own; an upstream that believes these
 * from a client would see another address, host or path than the policy saw.
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

/** Meaning changes when they stand twice, and each reader picks another one; a request with two is refused. */
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

/** Every name with this beginning is ours: the assertion under both its names, and claim headers. */
const OWN_PREFIX = "x-gateway-";
const FORWARDED_PREFIX = "x-forwarded-";

/** Counts how often a request came through a gateway; standing in requests to upstreams, see proxy/forwarding/hop-count.ts. */
export const HOP_COUNT_HEADER = "gateway-passes";

/** What is known of a header name. */
export interface HeaderTraits {
  /** As it was written. One string for all requests that write it so: what looks names up has its hash already. */
  readonly name: string;
  readonly lower: string;
  /** The name that upstream frameworks may take it for, see `foldHeaderName`. */
  readonly folded: string;
  /** Never sent on by us, whatever the client says. */
  readonly dropFromRequest: boolean;
  /** Of those: sent on where the operator vouches for it (`trusted_proxy_headers`), and seen where settings name it. */
  readonly isProxyClaim: boolean;
  readonly dropFromResponse: boolean;
  /** A bit of its own for names that may stand once; 0 otherwise. */
  readonly singleBit: number;
  /** Handled apart when requests are forwarded. */
  readonly special:
    | "none"
    | "host"
    | "cookie"
    | "authorization"
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

/** What is known of a header name in any spelling. */
export function headerTraits(name: string): HeaderTraits {
  return known.get(name) ?? learn(name);
}

/** The last name with each of these hashes: the few that repeat in each message are not cut out and hashed again. */
const recent: (HeaderTraits | undefined)[] = Array.from({ length: 512 }, () => undefined);

/** The same of a part of a head. @param hash any number that is the same for the same name */
export function headerTraitsAt(text: string, start: number, end: number, hash: number): HeaderTraits {
  const place = hash & (recent.length - 1);
  const last = recent[place];
  if (last !== undefined && last.name.length === end - start && text.startsWith(last.name, start)) return last;
  const traits = headerTraits(text.slice(start, end));
  if (traits.name.length <= MAX_KNOWN_LENGTH) recent[place] = traits;
  return traits;
}

function learn(name: string): HeaderTraits {
  // A copy: as a part of a head it would keep the whole head in memory.
  const traits = describe(Buffer.from(name).toString());
  if (known.size < MAX_KNOWN && name.length <= MAX_KNOWN_LENGTH) known.set(traits.name, traits);
  return traits;
}

function describe(name: string): HeaderTraits {
  const lower = name.toLowerCase();
  const folded = foldHeaderName(lower);
  const reserved = neverForwarded.has(folded) || folded.startsWith(OWN_PREFIX) || folded.startsWith(FORWARDED_PREFIX);
  const isClaim = isProxyClaimName(folded);
  // "content_type" is no header of HTTP, but it is CONTENT_TYPE to a CGI-like upstream: a second, uninspected one.
  const disguised = folded !== lower && (single.has(folded) || specials.has(folded));
  return {
    name,
    lower,
    folded,
    dropFromRequest: reserved || disguised || isClaim,
    // Under another spelling nobody vouches for it.
    isProxyClaim: isClaim && folded === lower,
    dropFromResponse: notAnswered.has(lower),
    singleBit: single.get(lower) ?? 0,
    special: specials.has(lower) ? (lower as HeaderTraits["special"]) : "none",
  };
}

/**
 * The name under which upstream frameworks may read a header: lower case, everything but letters and digits as "-".
 * CGI variables have "_" for "-" and "_" alike, and some servers write it for ".", "~" and the rest, too.
 */
export function foldHeaderName(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "-");
}

/** The names listed in a Connection header, lower case: they are about this connection too (RFC 9110 §7.6.1). */
export function connectionTokens(value: string): readonly string[] {
  return value
    .toLowerCase()
    .split(",")
    .map((token) => token.trim())
    .filter((token) => token !== "");
}

/** Text that can stand in a header as it is (RFC 9110 §5.5), each character one byte. */
export function isHeaderText(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}

/**
 * A field's value without the blanks around it (OWS, RFC 9110 §5.6.3). Char by char: an expression for the end of a text
 * looks at it anew from every blank within, which took seconds.
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
