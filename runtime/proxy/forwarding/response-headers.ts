/**
 * The headers of the response: the upstream's, then those that settings set, then the rewrite rules (D6).
 *
 * Untrusted input: the upstream's headers. Promises: no connection header, no cookie under our names, no foreign session ID,
 * no other request ID and no challenge of an MCP server leaves; the server writes the framing, and a declared length is the
 * length that was read.
 */
import { connectionTokens, headerTraits } from "../../shared/http/header-traits.ts";
import { isJsonMediaType } from "../../mcp/message-headers.ts";
import { setsOwnCookie } from "../../identity/cookie.ts";
import { upstreamHeader, type UpstreamHeaders } from "../../upstreams/transport-types.ts";
import { routeCorsHeaders } from "../cors.ts";
import type { RequestContext } from "../request-context.ts";
import { rewriteValue } from "../../features/headers/apply-response.ts";

export interface HeadToSend {
  /** Flat: name, value, … */
  readonly headers: string[];
  /** The declared length in bytes; undefined when the framing marks the end. */
  readonly length: number | undefined;
  readonly isEventStream: boolean;
}

const REQUEST_ID = "x-request-id";

/** @param sealSession replaces the upstream's MCP session ID by ours, undefined drops it; only called on MCP server routes */
export function responseHeaders(
  context: RequestContext,
  status: number,
  upstream: UpstreamHeaders,
  sealSession: (context: RequestContext, upstreamSession: string) => string | undefined,
): HeadToSend {
  const { prepared, corsOrigin } = context;
  // The ID that users quote must be the one in our records, whatever ID the upstream has.
  const headers: string[] = prepared.setResponseNames.has(REQUEST_ID) ? [] : [REQUEST_ID, context.exchange.id];
  const rewrites = prepared.rewriteResponse.size > 0 ? prepared.rewriteResponse : undefined;
  const listed = listedInConnection(upstream);
  let length: number | undefined;
  let isStream = false;

  for (let index = 0; index < upstream.length; index += 2) {
    const name = upstream[index] as string;
    const value = upstream[index + 1] as string;
    const traits = headerTraits(name);
    if (traits.dropFromResponse || prepared.setResponseNames.has(name) || listed?.has(name) === true) continue;
    if (corsOrigin !== undefined && name.startsWith("access-control-")) continue;
    switch (name) {
      case "content-length":
        // A 204 has none (RFC 9110 §8.6).
        if (status === 204 || length !== undefined) continue;
        length = Number(value);
        break;
      case "content-type":
        isStream = isEventStream(value);
        break;
      case REQUEST_ID:
        continue;
      case "set-cookie":
        addCookie(headers, context, value);
        continue;
      case "www-authenticate":
        // The client's credentials never reach the upstream, so its challenge could only bypass the gateway: clients look for
        // their authorization server there, and some send their refresh token to it.
        if (prepared.isMcpServer) continue;
        break;
      case "mcp-session-id":
        if (prepared.isMcpServer) {
          // Two session IDs are ambiguous.
          const sealed = upstreamHeader(upstream, name).length === 1 ? sealSession(context, value) : undefined;
          if (sealed !== undefined) headers.push(name, sealed);
          continue;
        }
        break;
      default:
    }
    const rules = rewrites?.get(name);
    headers.push(name, rules ? rewriteValue(rules, value) : value);
  }
  if (prepared.setResponse.length > 0) headers.push(...prepared.setResponse);
  if (corsOrigin !== undefined) headers.push(...routeCorsHeaders(corsOrigin));
  return { headers, length, isEventStream: isStream };
}

/** @param contentType value of the header */
export function isEventStream(contentType: string): boolean {
  // The type of most MCP responses: a fast path.
  if (contentType === "application/json") return false;
  return /^\s*text\/event-stream\s*(?:;|$)/i.test(contentType);
}

/** Returns true if the body has a content coding, so that it cannot be read. */
export function hasCoding(headers: UpstreamHeaders): boolean {
  return upstreamHeader(headers, "content-encoding").some((coding) => coding.toLowerCase() !== "identity");
}

/** How a response of an MCP server can be read; plain: not at all. */
export type BodyForm = "plain" | "body" | "events";

export function bodyForm(status: number, headers: UpstreamHeaders, isWhole: boolean): BodyForm {
  if (status !== 200 || isWhole || hasCoding(headers)) return "plain";
  const [type = ""] = upstreamHeader(headers, "content-type");
  return isEventStream(type) ? "events" : isJsonMediaType(type) ? "body" : "plain";
}

/** An upstream that set our session cookie could sign its users in as another user. */
function addCookie(headers: string[], context: RequestContext, cookie: string): void {
  const { prepared } = context;
  const value = rewriteValue(prepared.rewriteResponse.get("set-cookie"), cookie);
  const isOurs = [cookie, value].some((each) => setsOwnCookie(each, prepared.settings.cookie));
  if (!isOurs) headers.push("set-cookie", value);
}

function listedInConnection(upstream: UpstreamHeaders): ReadonlySet<string> | undefined {
  let listed: Set<string> | undefined;
  for (let index = 0; index < upstream.length; index += 2) {
    if (upstream[index] !== "connection") continue;
    const value = upstream[index + 1] as string;
    if (value === "keep-alive" || value === "close") continue;
    listed ??= new Set();
    for (const token of connectionTokens(value)) listed.add(token);
  }
  return listed;
}
