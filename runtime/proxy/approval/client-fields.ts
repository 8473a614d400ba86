/**
 * The client's own header fields of a call, as far as they reach its server: they may say which account or which system is
 * meant, so an approval is bound to them and its page shows them.
 *
 * Not stripped instead: without its field a call would be made, and mean another system than its user configured.
 *
 * Untrusted input: the fields. Promise: two calls with the same result send the server the same, except fields that say how
 * a message travels. Values of fields that carry credentials are digests here, since other users approve the call.
 */
import { withoutCookies } from "../../http/cookies.ts";
import { isOwnCookieName } from "../../identity/cookie.ts";
import { sha256 } from "../../shared/canonical-json.ts";
import { headerTraits } from "../../shared/http/header-traits.ts";
import type { RequestContext } from "../request-context.ts";

export type ClientField = readonly [name: string, value: string];

/** @returns sorted by name, which is in lower case */
export function clientFields({ exchange, prepared }: RequestContext): readonly ClientField[] {
  const { rawHeaders } = exchange;
  const fields: ClientField[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const { lower, folded, dropFromRequest } = headerTraits(rawHeaders[index] as string);
    // What settings read of a field reaches the server, too, under another name.
    const isLeftOut = isAboutTransport(lower) || dropFromRequest || prepared.notFromClient.has(folded);
    if (isLeftOut && !isRead(prepared, lower)) continue;
    const value = rawHeaders[index + 1] as string;
    const kept =
      lower === "cookie" ? withoutCookies(value, (name) => isOwnCookieName(name, prepared.settings.cookie)) : value;
    if (kept !== undefined) fields.push([lower, SECRET.test(lower) ? `not shown, SHA-256 ${sha256(kept)}` : kept]);
  }
  return fields.sort(([one], [other]) => (one < other ? -1 : one > other ? 1 : 0));
}

function isRead({ setRequest }: RequestContext["prepared"], lower: string): boolean {
  return setRequest.some(({ template }) =>
    template?.parts.some((part) => part.kind === "request.headers" && part.lowerName === lower),
  );
}

function isAboutTransport(lower: string): boolean {
  return TRANSPORT.has(lower) || lower.startsWith("sec-") || lower.startsWith("x-b3-");
}

/** Clients send another value each time, or the gateway has read it and sends its own. */
const TRANSPORT: ReadonlySet<string> = new Set([
  "accept",
  "accept-charset",
  "accept-encoding",
  "accept-language",
  "authorization",
  "b3",
  "baggage",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "dnt",
  "gateway-passes",
  "host",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "origin",
  "pragma",
  "priority",
  "referer",
  "te",
  "traceparent",
  "tracestate",
  "upgrade-insecure-requests",
  "user-agent",
  "x-correlation-id",
]);

const SECRET = /auth|cookie|credential|key|passw|secret|session-?id|signature|token/;
