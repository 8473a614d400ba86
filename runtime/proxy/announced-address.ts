/**
 * The address for messages that an old MCP server announces, on its way to the client (MCP 2024-11-05, HTTP with SSE).
 *
 * Untrusted input: the upstream's event stream. Promise: the client gets an address of ours that leads to that upstream and
 * belongs to that caller; an announced address on another host ends the stream.
 */
import type { Upstream } from "../features/connection/compiled.ts";
import { EndpointEvents } from "../mcp/endpoint-events.ts";
import { parseMessageAddress, type MessageAddresses } from "../mcp/message-address.ts";
import type { SessionBinding } from "../mcp/mcp-sessions.ts";
import { upstreamHeader, type UpstreamHeaders, type UpstreamReceiver } from "../upstreams/transport-types.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { RequestContext } from "./request-context.ts";
import { EventIds } from "./answers/stream-end-id.ts";
import { upstreamPath } from "./forwarding/upstream-path.ts";

export interface StreamReceiver extends UpstreamReceiver {
  /** Ends the call: the response must not continue. */
  refuseAnswer(why: string): void;
}

/** Reads event streams that respond to GET on their way to the receiver: addresses for messages, and event IDs. */
export function announcementReader(
  addresses: MessageAddresses,
  context: RequestContext,
  upstream: Upstream,
  next: StreamReceiver,
): UpstreamReceiver {
  let events: EndpointEvents | undefined;
  let ids: EventIds | undefined;
  const seal = (data: string): string | undefined => {
    const { prepared, principal } = context;
    const address = parseMessageAddress(data, upstream.origin + upstreamPath(context, upstream));
    if (address === undefined || principal === undefined) return undefined;
    const { base } = prepared.route;
    return (base === "" ? "/" : base) + addresses.seal(address, bindingOf(context), principal.expiresAt);
  };
  return {
    onHead(status: number, headers: UpstreamHeaders) {
      if (isStream(headers)) {
        // request-headers.ts asks for no coding, and a coded stream could not be read on its way.
        if (isCoded(headers)) {
          next.refuseAnswer("an event stream with a content coding, although none was requested");
          return;
        }
        events = new EndpointEvents(seal);
        ids = new EventIds(context);
      }
      next.onHead(status, headers);
    },
    onData(chunk: Buffer) {
      if (events === undefined) {
        next.onData(chunk);
        return;
      }
      const passed = events.push(chunk);
      if (passed === undefined)
        next.refuseAnswer(`an event "endpoint" whose address is not on ${upstream.origin}, where its stream is`);
      else if (passed.length > 0) {
        ids?.see(passed);
        next.onData(passed);
      }
    },
    // Responses of MCP routes have no trailers.
    onEnd: () => next.onEnd(),
    onFailure: (failure: UpstreamFailure, detail: string) => next.onFailure(failure, detail),
  };
}

/** Less strict than elsewhere: clients check only the start of the type. */
function isStream(headers: UpstreamHeaders): boolean {
  return upstreamHeader(headers, "content-type").some((type) => /^\s*text\/event-stream/i.test(type));
}

function isCoded(headers: UpstreamHeaders): boolean {
  return upstreamHeader(headers, "content-encoding").some((coding) => coding.trim().toLowerCase() !== "identity");
}

/** @returns undefined when the request names none of this caller's addresses, or its upstream is gone */
export function openAddress(
  addresses: MessageAddresses,
  context: RequestContext,
  now: number,
): RequestContext["messageAddress"] {
  const { exchange, prepared } = context;
  if (exchange.method !== "POST" || prepared.mcpPaths?.isBase(exchange.path) !== true) return undefined;
  const address = addresses.open(exchange.query, bindingOf(context), now);
  const upstream = address && prepared.route.to.find(({ origin }) => origin === address.origin);
  return upstream && address && { upstream, path: address.path };
}

/** The caller that sessions and addresses belong to. Each agent run is one: those of a workload can have other rights. */
export function bindingOf({ principal, prepared }: RequestContext): SessionBinding {
  const { user, clientId } = principal ?? {};
  return { userId: user?.id ?? "", clientId: user?.actor?.run ?? clientId ?? "", route: prepared.route.key };
}
