/**
 * Fields after a body: which may be forwarded, and how many.
 *
 * Untrusted input: trailers as the client or the upstream sent them. A server that reads them after the message was
 * checked may merge them into its head (some do). Promise: no trailer states anything that must be known before the
 * body, or that a header could not state here: framing, routing, identity, handling, decoding, and what browsers and
 * caches obey. Everything else passes, since gRPC applications choose names freely.
 *
 * @see RFC 9110 §6.5.1, §6.6.2
 */
import type { OutgoingHttpHeaders } from "node:http2";

import { isHeaderName } from "./header-syntax.ts";
import { connectionTokens, headerTraits, isHeaderText } from "./header-traits.ts";

/** Per message. */
const MAX_FIELDS = 100;
/** Names and values together; gRPC implementations take 8 to 16 KiB by default. */
const MAX_BYTES = 16_384;

/**
 * In addition to those in `headerTraits()`: hop-by-hop, framing, forwarding, overrides, identity, and names that may
 * occur once.
 */
const NEVER: ReadonlySet<string> = new Set([
  // Identity of the sender.
  "authentication-info",
  "cookie2",
  "dpop",
  "set-cookie2",
  "www-authenticate",
  // Handling of the request, and its trace.
  "cache-control",
  "from",
  "max-forwards",
  "pragma",
  "prefer",
  "range",
  "traceparent",
  "tracestate",
  "user-agent",
  // Derived from the response.
  "age",
  "allow",
  "alt-svc",
  "clear-site-data",
  "date",
  "expires",
  "link",
  "location",
  "nel",
  "origin-agent-cluster",
  "permissions-policy",
  "referer",
  "referrer-policy",
  "refresh",
  "report-to",
  "reporting-endpoints",
  "retry-after",
  "server",
  "service-worker-allowed",
  "sourcemap",
  "speculation-rules",
  "strict-transport-security",
  "vary",
  "warning",
  "x-content-type-options",
  "x-frame-options",
  "x-sendfile",
]);

/** The same for prefixes. */
const NEVER_PREFIXES = [
  "accept",
  "access-control-",
  "content-",
  "cross-origin-",
  "if-",
  "mcp-",
  "proxy-",
  "sec-",
  "surrogate-",
  "x-accel-",
] as const;

/** Known only after the body, and meant for trailers (RFC 9530 §2). */
const ALLOWED_ALL_THE_SAME: ReadonlySet<string> = new Set(["content-digest"]);

/** Checked under the name that an upstream framework may read, see `foldHeaderName()`. */
export function mayBeTrailer(name: string): boolean {
  const traits = headerTraits(name);
  if (traits.dropFromRequest || traits.dropFromResponse || traits.singleBit !== 0 || traits.special !== "none")
    return false;
  const { folded } = traits;
  if (ALLOWED_ALL_THE_SAME.has(folded)) return true;
  return !NEVER.has(folded) && !NEVER_PREFIXES.some((prefix) => folded.startsWith(prefix));
}

/** @param te value of TE */
export function asksForTrailers(te: string): boolean {
  return connectionTokens(te).includes("trailers");
}

/**
 * @param trailers flat: name, value, …
 * @param isKept whether the route forwards an allowed name
 * @returns those to forward, names in lower case; undefined when there are too many, whatever their names
 */
export function allowedTrailers(
  trailers: readonly string[],
  isKept: (lower: string, folded: string) => boolean,
): string[] | undefined {
  if (trailers.length > 2 * MAX_FIELDS) return undefined;
  const allowed: string[] = [];
  let bytes = 0;
  for (let index = 0; index < trailers.length; index += 2) {
    const name = trailers[index] as string;
    const value = trailers[index + 1] as string;
    bytes += name.length + value.length;
    const { lower, folded } = headerTraits(name);
    if (mayBeTrailer(name) && isHeaderText(value) && isKept(lower, folded)) allowed.push(lower, value);
  }
  return bytes > MAX_BYTES ? undefined : allowed;
}

/** Message to the sender of too many trailers, also for the log. */
export const TOO_MANY_TRAILERS = `its trailers are more than ${MAX_FIELDS} fields or ${MAX_BYTES} bytes`;

/** @param values of Trailer @returns the allowed names, as a value of Trailer; "" for none */
export function announcedTrailers(
  values: readonly string[],
  isKept: (lower: string, folded: string) => boolean,
): string {
  const names = values.flatMap(connectionTokens).filter((name) => {
    const { lower, folded } = headerTraits(name);
    return isHeaderName(name) && mayBeTrailer(name) && isKept(lower, folded);
  });
  return names.slice(0, MAX_FIELDS).join(", ");
}

/** Trailers in the form that node:http2 expects. @param flat names in lower case */
export function trailerObject(flat: readonly string[]): OutgoingHttpHeaders {
  // Without a prototype: "__proto__" is a name like any other.
  const object = Object.create(null) as Record<string, string[]>;
  for (let index = 0; index < flat.length; index += 2) {
    (object[flat[index] as string] ??= []).push(flat[index + 1] as string);
  }
  return object;
}
