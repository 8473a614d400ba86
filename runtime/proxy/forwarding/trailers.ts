/** Trailers on their way through a route: what its header settings say of a header holds for them, too. */
import type { Upstream } from "../../features/connection/compiled.ts";
import { rewriteValue } from "../../features/headers/apply-response.ts";
import { allowedTrailers, announcedTrailers, TOO_MANY_TRAILERS } from "../../shared/http/trailers.ts";
import { connectionTokens } from "../../shared/http/header-traits.ts";
import { upstreamHeader, type UpstreamHeaders } from "../../upstreams/transport-types.ts";
import type { RequestContext } from "../request-context.ts";
import { bodyError } from "./request-body.ts";

/**
 * Whether trailers pass, either way. They need not be asked for: TE is about what a client does with those of responses, every
 * recipient of HTTP/1.1 can read them, and ours have names that mean nothing else. HTTP/1.0 has no place for them. Messages of
 * MCP servers are passed on as they were inspected, with nothing after them. A route that removes TE wants none, except where
 * both sides speak HTTP/2: gRPC has its status there.
 *
 * @see RFC 9110 §6.5, §10.1.4
 */
export function mayTrail({ exchange, prepared }: RequestContext, upstream?: Upstream): boolean {
  if (exchange.httpVersion === "1.0" || prepared.isMcpServer) return false;
  const isHttp2 = exchange.httpVersion === "2" && upstream?.connect?.http2 === true;
  return isHttp2 || !prepared.notFromClient.has("te");
}

/** Once the body has been read. @throws for too many, which breaks the request off */
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

/** @param headers of the answer's head @returns undefined when they are too many */
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

/** Not what the client's Connection names as its own, and not what the route sets, removes or takes for identity. */
function keptOfRequest({ exchange, prepared }: RequestContext): IsKept {
  const listed = exchange.headerValues("connection").flatMap(connectionTokens);
  return (lower, folded) => !prepared.notFromClient.has(folded) && !listed.includes(lower);
}

function keptOfAnswer({ prepared }: RequestContext, headers: UpstreamHeaders): IsKept {
  const listed = upstreamHeader(headers, "connection").flatMap(connectionTokens);
  return (lower) => !prepared.setResponseNames.has(lower) && !listed.includes(lower);
}

const NOTHING: readonly string[] = [];
