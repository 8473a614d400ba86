/**
 * The client's own header fields of a call, as far as they reach its server. They may select an account or a system, so an
 * approval is bound to them and its page shows them.
 *
 * Not stripped instead: without its field a call would still be made, but to another system than its user configured.
 *
 * Untrusted input: the fields. Promise: two calls with the same result send the server the same, except fields about the
 * transport of a message. Values of fields with credentials are digests here, since other users approve the call.
 */
import { withoutCookies } from "../../http/cookies.ts";
import { isOwnCookieName } from "../../identity/cookie.ts";
import { sha256 } from "../../shared/canonical-json.ts";
import { headerTraits } from "../../shared/http/header-traits.ts";
import type { RequestContext } from "../request-context.ts";

export type ClientField = readonly [name: string, value: string];

/** @returns sorted by name; names are in lower case */
export function clientFields({ exchange, prepared }: RequestContext): readonly ClientField[] {
  const { rawHeaders } = exchange;
  const fields: ClientField[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const { lower, folded, dropFromRequest } = headerTraits(rawHeaders[index] as string);
    // A field that settings read also reaches the server, under another name.
    const isOmitted = isAboutTransport(lower) || dropFromRequest || prepared.notFromClient.has(folded);
    if (isOmitted && !isRead(prepared, lower)) continue;
    const value = rawHeaders[index + 1] as string;
    const forwarded =
      lower === "cookie" ? withoutCookies(value, (name) => isOwnCookieName(name, prepared.settings.cookie)) : value;
    if (forwarded !== undefined)
      fields.push([lower, SECRET.test(lower) ? `not shown, SHA-256 ${sha256(forwarded)}` : forwarded]);
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

/** Fields whose value changes with each call, or that the gateway has read and replaces by its own. */
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
