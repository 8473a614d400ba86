/**
 * Filters lists of an MCP server on their way to a client: hides tools, prompts and resources that the caller may not use, by
 * the same policy that decides about their use; and items that differ from the lock (tool-lock.ts).
 *
 * Untrusted input: the upstream's response. Promises: a response to a list request passes filtered or not at all; a request
 * always gets a response; a page with only hidden items is filled from later pages, since some clients read only one.
 */
import { filterAnswer, nextPage, type FilteredAnswer } from "../../mcp/lists/filter-answer.ts";
import { EventBlocks, renderEvent, type EventBlock } from "../../mcp/lists/event-blocks.ts";
import type { McpMessage } from "../../mcp/message.ts";
import { isJsonMediaType } from "../../mcp/message-headers.ts";
import { repliesTo, sameId } from "../../mcp/message-id.ts";
import { replaceMembers } from "../../mcp/operations/answer-members.ts";
import { upstreamHeader, type UpstreamHeaders } from "../../upstreams/transport-types.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { KNOWN_LISTS } from "./known-lists.ts";
import { ListBody } from "./list-body.ts";
import type { ListRules } from "./list-rules.ts";
import {
  ODD_MEMBER,
  withoutBodyHeaders,
  withoutByteOrderMark,
  type AnswerReader,
  type ListReceiver,
} from "./list-receiver.ts";
import { guard } from "../../shared/faults/guard.ts";
import { hasCoding, isEventStream } from "../forwarding/response-headers.ts";

const MAX_LIST_BYTES = 8 * 1024 * 1024;
/** Most requests for one list, and the time limit for all after the first. */
const MAX_PAGES = 8;
const MAX_REFILL_MS = 5_000;

interface Head {
  readonly status: number;
  readonly headers: UpstreamHeaders;
}

/** A page without visible items, as sent to the client if no other page comes. */
interface EmptyPage {
  readonly bytes: Buffer;
  readonly others: readonly string[];
}

export class ListReader implements AnswerReader {
  readonly #message: McpMessage | undefined;
  readonly #rules: ListRules;
  readonly #next: ListReceiver;
  /** Kind of the current response; `dropped`: it reaches no client. */
  #mode: "plain" | "body" | "events" | "dropped" = "plain";
  /** Kind of the response to the client; undefined until it is known. */
  #clientMode: "body" | "events" | undefined;
  #head: Head | undefined;
  readonly #body = new ListBody();
  #events = new EventBlocks(MAX_LIST_BYTES);
  #emptyPage: EmptyPage | undefined;
  #pages = 1;
  #timer: NodeJS.Timeout | undefined;
  #isAnswered = false;
  #isDone = false;

  /** @param message the request for a list; undefined: an event stream, which may repeat responses */
  constructor(message: McpMessage | undefined, rules: ListRules, next: ListReceiver) {
    this.#message = message;
    this.#rules = rules;
    this.#next = next;
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    const [type = ""] = upstreamHeader(headers, "content-type");
    const isCoded = hasCoding(headers);
    this.#mode = isWhole ? "plain" : isEventStream(type) ? "events" : isJsonMediaType(type) ? "body" : "plain";
    if (this.#emptyPage !== undefined) {
      this.#body.take();
      this.#events = new EventBlocks(MAX_LIST_BYTES);
      if (status !== 200 || isCoded || this.#mode === "plain") this.#answerEmptyPage();
      return;
    }
    // request-headers.ts asks for no coding, and a coded response could not be read on its way.
    if (isCoded && this.#mode !== "plain")
      return this.#refuse("an answer with a content coding, although none was requested");
    const isRequest = this.#message !== undefined;
    const isGood = status < 300 && status !== 202;
    if (this.#mode === "plain" && isGood && isRequest && !(isWhole && this.#rules.isAnsweredElsewhere === true))
      return this.#refuse("an answer to a list request that is neither JSON nor an event stream");
    // Clients that wait for events parse any response as events.
    if (this.#mode !== "events" && status < 300 && !isWhole && this.#rules.takesEvents)
      return this.#refuse("an answer to a request for an event stream that is none");
    // The status is enough, and a text may name hidden tools. Other code handles a 401.
    if (isRequest && !isWhole && (status === 401 || (this.#mode === "plain" && !isGood))) {
      this.#mode = "dropped";
      return this.#next.onHead(status, [...withoutBodyHeaders(headers), "content-length", "0"], true);
    }
    if (this.#mode === "body" && this.#message !== undefined) {
      this.#clientMode = "body";
      this.#head = { status, headers };
      return;
    }
    if (this.#mode === "body") this.#mode = "plain";
    if (this.#mode === "events") this.#clientMode = "events";
    this.#next.onHead(status, this.#mode === "events" ? withoutBodyHeaders(headers) : headers, isWhole);
  }

  /** The response is read as a whole, and its members are replaced here. */
  get readsMembers(): boolean {
    return this.#mode === "body";
  }

  onData(chunk: Buffer): boolean | void {
    if (this.#isDone) return;
    if (this.#mode === "plain") return this.#next.onData(chunk);
    if (this.#mode === "events") return this.#readEvents(chunk);
    if (this.#mode === "dropped") return;
    if (this.#body.length + chunk.length <= MAX_LIST_BYTES)
      return this.#body.push(chunk, this.#isModern) ? undefined : this.refuseAnswer(ODD_MEMBER);
    if (this.#emptyPage) this.#answerEmptyPage();
    else this.#refuse(`an answer to a list request of more than ${MAX_LIST_BYTES} bytes`);
  }

  onEnd(trailers?: UpstreamHeaders): void {
    if (this.#isDone) return;
    if (this.#mode === "plain") return void this.#next.onEnd(trailers);
    if (this.#mode === "body") return this.#readBody();
    if (this.#emptyPage) return this.#answerEmptyPage();
    if (this.#mode === "events" && this.#isUnanswered) return this.#refuse(UNANSWERED);
    this.close();
    this.#next.onEnd();
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    if (this.#isDone) return;
    if (this.#emptyPage) return this.#answerEmptyPage();
    // An idle stream is ended normally, not aborted: without a response its client would wait forever.
    if (failure === "timeout" && this.#clientMode === "events" && this.#isUnanswered) return this.#refuse(UNANSWERED);
    this.close();
    this.#next.onFailure(failure, detail);
  }

  /** An earlier reader rejects the stream. */
  refuseAnswer(why: string): void {
    this.close();
    this.#next.refuseAnswer(why);
  }

  /** Ends the reader: no more input is expected. */
  close(): void {
    this.#isDone = true;
    clearTimeout(this.#timer);
  }

  #readBody(): void {
    const { bytes: written, isReplaced } = this.#body.take();
    const answer = KNOWN_LISTS.find(this.#source, withoutByteOrderMark(written), this.#message?.id);
    // A known list has passed AnswerMembers as it is.
    const whole = isReplaced || answer !== undefined ? written : replaceMembers(written, this.#isModern);
    if (whole === undefined) return this.refuseAnswer(ODD_MEMBER);
    const bytes = withoutByteOrderMark(whole);
    const filtered = this.#filter(bytes, answer);
    const isError = (this.#head?.status ?? 200) >= 300;
    if (typeof filtered === "string") {
      if (this.#emptyPage) return this.#answerEmptyPage();
      if (filtered === "none" && (isError || !this.#isUnanswered || repliesTo(bytes, this.#message?.id, true)))
        return this.#answer(whole);
      if (isError) return this.#answer(NOTHING);
      return this.#refuse(filtered === "none" ? UNANSWERED : "an answer to a list request that cannot be read");
    }
    if (this.#isRefilled(filtered, [])) return;
    this.#answer(filtered.bytes, []);
  }

  #readEvents(chunk: Buffer): void {
    const blocks = this.#events.push(chunk);
    if (blocks === undefined) return this.#refuse(`an event of more than ${MAX_LIST_BYTES} bytes`);
    for (const block of blocks) {
      if (this.#isDone || this.#mode !== "events") return;
      this.#readEvent(block);
    }
  }

  #readEvent(block: EventBlock): void {
    // If the client waits for a body, the response cannot carry other events.
    const pass = (raw: Buffer): void => void (this.#clientMode === "events" && this.#next.onData(raw));
    if (block.kind === "filler" || block.data.length === 0) return pass(block.raw);
    // Where clients of old servers send their messages; itself not a message, unless a client could parse it as one.
    const isAddress = block.type === "endpoint" && !/^\s*[[{]/.test(block.data.toString("latin1", 0, 64));
    if (this.#message === undefined && isAddress) return pass(block.raw);
    const filtered = this.#filter(block.data);
    if (filtered === "none") {
      if (this.#isUnanswered) this.#isAnswered = repliesTo(block.data, this.#message?.id);
      return pass(block.raw);
    }
    if (filtered === "unreadable") {
      if (this.#emptyPage) return this.#answerEmptyPage();
      return this.#refuse("an event that cannot be read, among the answers to a list request");
    }
    if (this.#isRefilled(filtered, block.others)) return;
    if (this.#clientMode === "body") return this.#answer(filtered.bytes);
    this.#emptyPage = undefined;
    this.#isAnswered = true;
    pass(renderEvent(block.others, filtered.bytes.toString("utf8")));
  }

  /** Lists of one source have the same route, and AnswerMembers has read them alike. */
  get #source(): string {
    return `${this.#mode} ${this.#isModern} ${this.#rules.routeKey}`;
  }

  get #isModern(): boolean {
    return this.#message?.isModern === true;
  }

  /** True while the client waits for a response that has not come. */
  get #isUnanswered(): boolean {
    return this.#message?.kind === "request" && !this.#isAnswered;
  }

  #filter(
    bytes: Buffer,
    answer = KNOWN_LISTS.read(this.#source, bytes, this.#message?.id),
  ): FilteredAnswer | "none" | "unreadable" {
    if (typeof answer === "string") return answer;
    // The response to another request, which no client waits for here.
    if (this.#message !== undefined && !sameId(answer.id, this.#message.id)) return "unreadable";
    const { keeps, lock } = this.#rules;
    const omitted = lock?.(bytes, answer, {
      isError: (this.#head?.status ?? 200) >= 300,
      isStray: this.#message === undefined,
    });
    const filtered = filterAnswer(bytes, answer, {
      keeps: keeps?.(),
      omitted,
      isModern: this.#isModern,
    });
    if (filtered.isDenied) return "unreadable";
    this.#rules.count?.(filtered);
    return filtered;
  }

  /** Requests the next page if this one has no visible items. */
  #isRefilled({ bytes, shown, hidden, nextCursor }: FilteredAnswer, others: readonly string[]): boolean {
    const message = this.#message;
    if (message?.kind !== "request" || shown > 0 || hidden === 0 || nextCursor === undefined) return false;
    this.#emptyPage = { bytes, others };
    if (this.#pages === MAX_PAGES) {
      this.#answerEmptyPage();
      return true;
    }
    this.#pages += 1;
    this.#timer ??= setTimeout(
      guard(this.#next, () => this.#answerEmptyPage()),
      MAX_REFILL_MS,
    );
    this.#mode = "plain";
    this.#next.askAgain(nextPage(message.bytes, nextCursor));
    return true;
  }

  #answerEmptyPage(): void {
    const page = this.#emptyPage;
    if (this.#isDone || page === undefined) return;
    this.#next.leaveAnswer();
    this.#answer(page.bytes, page.others);
  }

  /** Sends the complete response to the request. */
  #answer(bytes: Buffer, others: readonly string[] = []): void {
    this.close();
    if (this.#clientMode === "events") {
      this.#next.onData(renderEvent(others, bytes.toString("utf8")));
    } else {
      const { status, headers } = this.#head ?? { status: 200, headers: [] };
      this.#next.onHead(status, [...withoutBodyHeaders(headers), "content-length", String(bytes.length)]);
      if (bytes.length > 0) this.#next.onData(bytes);
    }
    this.#next.onEnd();
  }

  #refuse(why: string): void {
    this.close();
    const { id } = this.#message ?? {};
    const message = "The service behind this address sent an invalid response";
    const error = { code: -32603, message, data: { reason: "upstream.protocol" } };
    const last = `{"jsonrpc":"2.0","id":${id ?? "null"},"error":${JSON.stringify(error)}}`;
    this.#next.refuseAnswer(why, id === undefined ? undefined : renderEvent([], last));
  }
}

const UNANSWERED = "the end of an answer to a list request without a response";
const NOTHING = Buffer.alloc(0);
