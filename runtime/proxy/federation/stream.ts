/**
 * The stream of a client with a session (GET): the streams of its members' sessions as one.
 *
 * Untrusted input: the members' streams. Promises: requests of members reach the client under an ID that only this caller can
 * answer; a member's stream that ends is opened again, later each time, and ends no other.
 */
import { withAddedHeaders } from "../../features/headers/apply-added.ts";
import { idText, writeJson } from "../../mcp/federation/json.ts";
import { EventBlocks, renderEvent } from "../../mcp/lists/event-blocks.ts";
import { pauseAfter, type Pauses } from "../../shared/backoff.ts";
import { guard } from "../../shared/faults/guard.ts";
import { allHeaders } from "../../shared/http/header-lookup.ts";
import { routeCorsHeaders } from "../cors.ts";
import { isEventStream } from "../forwarding/response-headers.ts";
import type { RequestContext } from "../request-context.ts";
import { messagesIn, openMember, type RunMember } from "./ask-member.ts";
import type { Link } from "./links.ts";
import type { Questions } from "./questions.ts";

const PAUSES: Pauses = { firstMs: 1_000, mostMs: 60_000 };
const MAX_BYTES = 16 * 1024 * 1024;

export interface MergedStreamDeps {
  readonly run: RunMember;
  readonly questions: Questions;
}

export const STREAM_HEADERS: readonly string[] = [
  "content-type",
  "text/event-stream",
  "cache-control",
  "no-cache, no-transform",
  "x-content-type-options",
  "nosniff",
];
export const EVENT: readonly string[] = ["event: message"];

/** Begins an event stream to the client. @param more headers, flat */
export function startStream({ exchange, corsOrigin }: RequestContext, more: readonly string[] = []): void {
  const own = ["x-request-id", exchange.id, ...STREAM_HEADERS, ...more, ...routeCorsHeaders(corsOrigin)];
  exchange.start(200, exchange.addedHeaders ? withAddedHeaders(own, exchange.addedHeaders) : own);
}

/** Opens the streams of these members; the response lasts until the client ends it, or the last of them is over. */
export function mergeStreams(deps: MergedStreamDeps, context: RequestContext, links: readonly Link[]): void {
  const { exchange } = context;
  startStream(context);
  let left = links.length;
  for (const link of links)
    new MemberStream(deps, context, link, () => {
      left -= 1;
      if (left === 0) exchange.end();
    }).open();
}

class MemberStream {
  readonly #deps: MergedStreamDeps;
  readonly #context: RequestContext;
  readonly #link: Link;
  readonly #over: () => void;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  #ends = 0;

  constructor(deps: MergedStreamDeps, context: RequestContext, link: Link, over: () => void) {
    this.#deps = deps;
    this.#context = context;
    this.#link = link;
    this.#over = over;
    context.exchange.onClose(() => {
      this.#isClosed = true;
      clearTimeout(this.#timer);
    });
  }

  open(): void {
    const { member, version, session } = this.#link;
    const events = new EventBlocks(MAX_BYTES);
    let isStream = false;
    const exchange = openMember(
      this.#deps.run,
      this.#context,
      member,
      { method: "GET", version, session },
      {
        onHead: (status, headers) => {
          isStream = status === 200 && isEventStream(allHeaders(headers, "content-type")[0] ?? "");
        },
        onData: (chunk) => {
          if (!isStream) return true;
          this.#ends = 0;
          const goesOn = this.#pass(events.push(chunk));
          if (goesOn === undefined) exchange.abort();
          return goesOn ?? true;
        },
        onEnd: () => this.#ended(isStream),
      },
    );
  }

  /** @param isStream false: the member has none */
  #ended(isStream: boolean): void {
    if (this.#isClosed) return;
    if (!isStream) return this.#over();
    const open = guard(this.#context.exchange, () => this.open());
    this.#timer = setTimeout(open, pauseAfter(this.#ends, PAUSES));
    this.#ends += 1;
  }

  /** @returns false: wait for `onDrain`; undefined: the stream cannot be read */
  #pass(blocks: ReturnType<EventBlocks["push"]>): boolean | undefined {
    const { exchange } = this.#context;
    if (blocks === undefined) return undefined;
    let goesOn = true;
    for (const message of messagesIn(blocks)) {
      if (message === undefined) return undefined;
      // A response of another stream of the member.
      if (typeof message["method"] !== "string") continue;
      const id = idText(message["id"]);
      const sealed =
        id === undefined ? message : { ...message, id: this.#deps.questions.seal(this.#context, this.#link, id) };
      if (!this.#isClosed) goesOn = exchange.write(renderEvent(EVENT, writeJson(sealed))) && goesOn;
    }
    return goesOn;
  }
}
