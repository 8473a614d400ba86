/**
 * Streams on which a server notifies its clients of changes: those opened by GET, and responses to `subscriptions/listen`.
 *
 * Untrusted input: the upstream's events. Promises: a change of a resource that the policy does not let the caller read is
 * not forwarded. Events that the gateway adds come between two events, and after the first one, which acknowledges.
 */
import { readEnvelope } from "../../mcp/envelope.ts";
import { EventBlocks, renderEvent, type EventBlock } from "../../mcp/lists/event-blocks.ts";
import { spanText } from "../../mcp/scan.ts";
import { evaluate } from "../../policy/evaluate.ts";
import { guard } from "../../shared/faults/guard.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { upstreamHeader, type UpstreamHeaders, type UpstreamReceiver } from "../../upstreams/transport-types.ts";
import { isEventStream } from "../forwarding/response-headers.ts";
import type { StreamReceiver } from "../announced-address.ts";
import type { RequestContext } from "../request-context.ts";
import type { ChangedList, ListChanges } from "./list-changes.ts";
import type { ListReceiver } from "./list-receiver.ts";

const PIECE_BYTES = 65_536;
const MAX_BYTES = 8 * 1024 * 1024;
/**
 * Most bytes of a resource change. Larger messages are scanned, not parsed: a tree of 8 MiB would delay all requests for a
 * second.
 */
const MAX_UPDATE_BYTES = 65_536;
export const UPDATED = "notifications/resources/updated";

/** @param refuse ends a rejected response @param owner receives errors, which end only its exchange */
export function streamReaderFor(
  changes: ListChanges,
  context: RequestContext,
  next: UpstreamReceiver,
  refuse: StreamReceiver,
  owner: ListReceiver,
): UpstreamReceiver {
  const { exchange, message } = context;
  const isStream = exchange.method === "GET" || message?.facts.method === "subscriptions/listen";
  return isStream ? new StreamReader(changes, context, next, refuse, owner) : next;
}

class StreamReader implements UpstreamReceiver {
  readonly #changes: ListChanges;
  readonly #context: RequestContext;
  readonly #next: UpstreamReceiver;
  readonly #refuse: StreamReceiver;
  readonly #owner: ListReceiver;
  #events: EventBlocks | undefined;
  #hasBegun = false;
  #isOver = false;
  #unfollow: (() => void) | undefined;

  constructor(
    changes: ListChanges,
    context: RequestContext,
    next: UpstreamReceiver,
    refuse: StreamReceiver,
    owner: ListReceiver,
  ) {
    this.#changes = changes;
    this.#context = context;
    this.#next = next;
    this.#refuse = refuse;
    this.#owner = owner;
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    const { exchange, prepared, message } = this.#context;
    if (!isWhole && status === 200 && upstreamHeader(headers, "content-type").some(isEventStream)) {
      this.#events = new EventBlocks(MAX_BYTES);
      const requested = message && requestedLists(message.bytes);
      this.#unfollow = this.#changes.follow(prepared.route.key, (lists) =>
        guard(this.#owner, () => this.#tell(requested ? lists.filter((list) => requested.has(list)) : lists))(),
      );
      exchange.onClose(() => this.#end());
    }
    this.#next.onHead(status, headers, isWhole);
  }

  onData(chunk: Buffer): boolean | void {
    if (this.#isOver) return;
    if (this.#events === undefined) return this.#next.onData(chunk);
    const blocks = this.#events.push(chunk);
    if (blocks === undefined) return this.#passRest(this.#events);
    const passed = blocks.filter((block) => block.kind === "filler" || this.#mayHear(block));
    if (passed.length === 0) return;
    const whole = Buffer.concat(passed.map(({ raw }) => raw));
    // In pieces of a socket's size: readers of events measure incomplete events.
    for (let start = 0; start < whole.length; start += PIECE_BYTES)
      this.#next.onData(whole.subarray(start, start + PIECE_BYTES));
    this.#hasBegun ||= passed.some(({ kind }) => kind === "event");
  }

  onEnd(trailers?: UpstreamHeaders): void {
    if (this.#isOver) return;
    this.#end();
    this.#next.onEnd(trailers);
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    if (this.#isOver) return;
    this.#end();
    this.#next.onFailure(failure, detail);
  }

  /** Handles an event that is too large to parse: its end is unknown, so no events can be added from now on. */
  #passRest(events: EventBlocks): void {
    this.#unfollow?.();
    this.#events = undefined;
    if (!this.#context.prepared.route.policy.needsMessage) return void this.#next.onData(events.takeRest());
    this.#end();
    this.#refuse.refuseAnswer(`an event of more than ${MAX_BYTES} bytes`);
  }

  #end(): void {
    this.#isOver = true;
    this.#unfollow?.();
  }

  #mayHear({ data }: Extract<EventBlock, { kind: "event" }>): boolean {
    const { facts, prepared } = this.#context;
    if (!prepared.route.policy.needsMessage || facts === undefined) return true;
    if (data.length > MAX_UPDATE_BYTES) return isSurelyOther(data);
    const message = parsed(data);
    // Clients of MCP 2025-03-26 read batches. One forbidden member drops its batch.
    return (Array.isArray(message) ? message : [message]).every((each: unknown) => {
      if (!isRecord(each) || each["method"] !== UPDATED) return true;
      const uri = isRecord(each["params"]) ? each["params"]["uri"] : undefined;
      return typeof uri === "string" && mayHearOf(this.#context, uri);
    });
  }

  #tell(lists: readonly ChangedList[]): void {
    const { message } = this.#context;
    const isListen = message !== undefined;
    if (this.#isOver || lists.length === 0 || (isListen && !this.#hasBegun)) return;
    const params = isListen ? `,"params":{"_meta":{"${SUBSCRIPTION}":${message.id}}}` : "";
    const events = lists.map((list) =>
      renderEvent(["event: message"], `{"jsonrpc":"2.0","method":"notifications/${list}/list_changed"${params}}`),
    );
    this.#next.onData(Buffer.concat(events));
  }
}

/** Whether the policy lets the caller know that a resource has changed. */
export function mayHearOf({ facts, prepared: { route } }: RequestContext, uri: string): boolean {
  if (!route.policy.needsMessage || facts === undefined) return true;
  return evaluate(route.policy, { ...facts, mcp: { method: "resources/read", resource: uri } }).allowed;
}

/** @returns false also for ambiguous input */
function isSurelyOther(bytes: Buffer): boolean {
  const envelope = readEnvelope(bytes);
  if (typeof envelope === "string") return false;
  return envelope.method === undefined || spanText(bytes, envelope.method) !== UPDATED;
}

/** Member of `_meta` of every message in a response to `subscriptions/listen`. */
export const SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/** Lists for which a `subscriptions/listen` message requests changes. */
function requestedLists(bytes: Buffer): ReadonlySet<ChangedList> {
  const message = parsed(bytes);
  const params = isRecord(message) && isRecord(message["params"]) ? message["params"] : {};
  const requested = isRecord(params["notifications"]) ? params["notifications"] : {};
  return new Set(
    (["tools", "prompts", "resources"] as const).filter((list) => requested[`${list}ListChanged`] === true),
  );
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}
