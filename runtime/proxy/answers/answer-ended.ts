/**
 * The answer to a client whose access ended after its request was accepted. Never 401: it would sign in, or refresh its token, and
 * send the request again, which the upstream may have executed (D360).
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
 * Before the answer has begun.
 *
 * @param wasSent the upstream was asked
 * @returns the status that was answered
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

/** "access": revoked, blocked or no longer allowed. "expired": the credential, and for a call its grace. */
export type StreamEnd = "access" | "expired" | "stopping";

/** Once the answer has begun, or the process stops: it is closed where its client can tell that it is not whole. */
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
  // A client may open a stream again with a new token.
  exchange.end(undefined, grpcTrailers(exchange, why === "expired" ? 401 : 403, endedParts(true)));
}

/**
 * The last event of a stream that answers a request of MCP: a client whose stream only ends waits for its time limit.
 *
 * @returns undefined where there is no such request, or the event could not be read
 */
function endedEvent(context: RequestContext, { headers }: HeadToSend): Buffer | undefined {
  const { message, exchange, operation } = context;
  const isCoded = upstreamHeader(headers, "content-encoding").length > 0;
  if (message?.kind !== "request" || message.facts.method === LISTEN || isCoded) return undefined;
  const { body } = endedAnswer(message, exchange.id, true);
  operation?.see(Buffer.from(body));
  // An event may be half sent: with another name clients pass over it.
  return Buffer.from(`\nevent: ended\n\nevent: message\ndata: ${body}\n\n`);
}

/** Of an MCP stream of GET, which its client opens again: with another name than that of messages, and without data. */
export function lastEvent(context: RequestContext): Buffer | undefined {
  const id = lastIdOf(context);
  return id === undefined ? undefined : Buffer.from(`\nevent: ended\nid: ${id}\n\n`);
}

/** Its answer is a stream without an end of its own. */
export const LISTEN = "subscriptions/listen";
