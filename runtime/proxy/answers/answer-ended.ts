/**
 * The response to a client whose access ended after its request was accepted. Never 401: the client would sign in or refresh
 * its token, and resend a request that the upstream may have executed (D360).
 */
import { grpcTrailers } from "../../http/grpc.ts";
import { respondError } from "../../http/respond.ts";
import { endedAnswer } from "../../mcp/refuse.ts";
import { upstreamHeader } from "../../upstreams/transport-types.ts";
import type { HeadToSend } from "../forwarding/response-headers.ts";
import type { RequestContext } from "../request-context.ts";
import { answerWire } from "./answer-wire.ts";
import type { ErrorParts } from "../../http/codes.ts";
import { lastIdOf } from "./stream-end-id.ts";

/**
 * Responds before the response has begun.
 *
 * @param wasSent the request went to the upstream
 * @returns the status of the response
 */
export function answerEnded(context: RequestContext, wasSent: boolean): number {
  const { exchange, message, messageAddress, prepared } = context;
  if (prepared.isMcpServer) {
    const wire = endedAnswer(message, exchange.id, wasSent, messageAddress === undefined);
    answerWire(context, wire);
    return wire.status;
  }
  respondError(exchange, 403, endedParts(wasSent));
  return 403;
}

function endedParts(wasSent: boolean): ErrorParts<"session.ended"> {
  const outcome = wasSent ? "It may have been carried out" : "It was not sent to the application";
  return { code: "session.ended", message: `Your access ended while this request was in progress. ${outcome}.` };
}

/**
 * "access": revoked, blocked or no longer allowed. "expired": the credential has expired, and for a call also its grace
 * period.
 */
export type StreamEnd = "access" | "expired" | "stopping";

/** Ends a response that has begun, or when the process stops, so that its client can see that it is incomplete. */
export function endAnswer(
  context: RequestContext,
  head: HeadToSend | undefined,
  why: StreamEnd,
  isGrpc: boolean,
): void {
  const { exchange } = context;
  if (!exchange.started) return exchange.abort();
  const isStream = head?.isEventStream === true && head.length === undefined;
  if (isStream) {
    const last = why === "access" ? undefined : lastEvent(context);
    return exchange.end(last ?? (why === "stopping" ? undefined : endedEvent(context, head)));
  }
  if (!isGrpc || why === "stopping") return exchange.abort();
  // The client may reopen the stream with a new token.
  exchange.end(undefined, grpcTrailers(exchange, why === "expired" ? 401 : 403, endedParts(true)));
}

/**
 * The last event of a stream that responds to an MCP request: if the stream only ended, its client would wait until its
 * timeout.
 *
 * @returns undefined if there is no such request, or the client could not read the event
 */
function endedEvent(context: RequestContext, { headers }: HeadToSend): Buffer | undefined {
  const { message, exchange, operation } = context;
  const isCoded = upstreamHeader(headers, "content-encoding").length > 0;
  if (message?.kind !== "request" || message.facts.method === LISTEN || isCoded) return undefined;
  const { body } = endedAnswer(message, exchange.id, true);
  operation?.see(Buffer.from(body));
  // An event may be half sent: a different event name makes clients ignore it.
  return Buffer.from(`\nevent: ended\n\nevent: message\ndata: ${body}\n\n`);
}

/** Last event of an MCP stream of GET, which its client opens again: another name than that of messages, and no data. */
export function lastEvent(context: RequestContext): Buffer | undefined {
  const id = lastIdOf(context);
  return id === undefined ? undefined : Buffer.from(`\nevent: ended\nid: ${id}\n\n`);
}

/** Its response is an endless stream. */
export const LISTEN = "subscriptions/listen";
