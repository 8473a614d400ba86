/** Trailers on their way through a route: header settings of the route also apply to them. */
import type { Upstream } from "../../features/connection/compiled.ts";
import { rewriteValue } from "../../features/headers/apply-response.ts";
import { allowedTrailers, announcedTrailers, TOO_MANY_TRAILERS } from "../../shared/http/trailers.ts";
import { connectionTokens } from "../../shared/http/header-traits.ts";
import { upstreamHeader, type UpstreamHeaders } from "../../upstreams/transport-types.ts";
import type { RequestContext } from "../request-context.ts";
import { bodyError } from "./request-body.ts";

/**
 * True if trailers pass, in either direction. TE is not required: it is about the client's handling of response trailers,
 * every HTTP/1.1 recipient can read them, and ours have names without another meaning. HTTP/1.0 cannot carry them. Messages
 * of MCP servers are forwarded as inspected, with nothing after them. A route that removes TE wants no trailers, except if
 * both sides speak HTTP/2: gRPC has its status there.
 *
 * @see RFC 9110 §6.5, §10.1.4
 */
export function mayTrail({ exchange, prepared }: RequestContext, upstream?: Upstream): boolean {
  if (exchange.httpVersion === "1.0" || prepared.isMcpServer) return false;
  const isHttp2 = exchange.httpVersion === "2" && upstream?.connect?.http2 === true;
  return isHttp2 || !prepared.notFromClient.has("te");
}

/** Call it once the body has been read. @throws for too many trailers, which aborts the request */
export function requestTrailers(context: RequestContext): readonly string[] {
  const { trailers } = context.exchange;
  if (trailers.length === 0) return NOTHING;
  const allowed = allowedTrailers(trailers, keptOfRequest(context));
  if (allowed === undefined) throw bodyError(TOO_MANY_TRAILERS);
  return allowed;
}

/** Value of Trailer for the upstream; "" = none. */
export function announcedByClient(context: RequestContext): string {
  const values = context.exchange.headerValues("trailer");
  return values.length === 0 ? "" : announcedTrailers(values, keptOfRequest(context));
}

/** @param headers of the response's head @returns undefined when there are too many */
export function responseTrailers(
  context: RequestContext,
  trailers: UpstreamHeaders,
  headers: UpstreamHeaders,
): readonly string[] | undefined {
  const allowed = allowedTrailers(trailers, keptOfAnswer(context, headers));
  const { rewriteResponse } = context.prepared;
  if (allowed === undefined || rewriteResponse.size === 0) return allowed;
  return allowed.map((text, index) =>
    index % 2 === 0 ? text : rewriteValue(rewriteResponse.get(allowed[index - 1] as string), text),
  );
}

/** Value of Trailer for the client; "" = none. */
export function announcedByUpstream(context: RequestContext, headers: UpstreamHeaders): string {
  const values = upstreamHeader(headers, "trailer");
  return values.length === 0 ? "" : announcedTrailers(values, keptOfAnswer(context, headers));
}

type IsKept = (lower: string, folded: string) => boolean;

/** Drops those that the client's Connection header names, and those that the route sets, removes or uses for identity. */
function keptOfRequest({ exchange, prepared }: RequestContext): IsKept {
  const listed = exchange.headerValues("connection").flatMap(connectionTokens);
  return (lower, folded) => !prepared.notFromClient.has(folded) && !listed.includes(lower);
}

function keptOfAnswer({ prepared }: RequestContext, headers: UpstreamHeaders): IsKept {
  const listed = upstreamHeader(headers, "connection").flatMap(connectionTokens);
  return (lower) => !prepared.setResponseNames.has(lower) && !listed.includes(lower);
}

const NOTHING: readonly string[] = [];
