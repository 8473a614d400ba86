/**
 * Lists in responses to other requests. Clients match a response by its ID only, so a server could send its tools, and other
 * locked items, in the response to any other request, and bypass the filter for lists.
 *
 * Untrusted input: the upstream's response. Promise: what may contain a list passes filtered or not at all; everything else
 * passes unchanged, however large.
 */
import type { LockedKind } from "../../features/mcp/locked-items.ts";
import { filterAnswer } from "../../mcp/lists/filter-answer.ts";
import { EventBlocks, renderEvent } from "../../mcp/lists/event-blocks.ts";
import { GrowingBytes } from "../../mcp/lists/growing-bytes.ts";
import { readListAnswer } from "../../mcp/lists/list-answer.ts";
import { sameId } from "../../mcp/message-id.ts";
import { hasCoding } from "../forwarding/response-headers.ts";
import { upstreamHeader, type UpstreamHeaders } from "../../upstreams/transport-types.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { withoutBodyHeaders, withoutByteOrderMark, type AnswerReader, type ListReceiver } from "./list-receiver.ts";
import type { ListRules } from "./list-rules.ts";

const MAX_BYTES = 8 * 1024 * 1024;
/** Matches possible member names, also for a client that parses loosely or resolves escapes. Texts may mention them. */
const TOOLS = /(?<!\\)"tool|\\u0(?:0[4-7]|17f)/i;
/** The same for all locked kinds. The long s and the Kelvin sign are written as their UTF-8 bytes, which are read one at a time here. */
const ANY =
  /(?<!\\)"(?:tool|prompt|re(?:s|\xc5\xbf)ource[-_]?t|in(?:s|\xc5\xbf)tr|(?:s|\xc5\xbf)(?:k|\xe2\x84\xaa)ill)|\\u(?:00[4-7]|017f|212a)/i;
const LONGEST_MARK = 12;

export class StrayReader implements AnswerReader {
  readonly #ownId: string | undefined;
  readonly #rules: ListRules;
  readonly #marks: RegExp;
  readonly #next: ListReceiver;
  /** `watched`: too large to be parsed; ends where it could contain a list. */
  #mode: "plain" | "body" | "events" | "watched" = "plain";
  #status = 200;
  #headers: UpstreamHeaders = [];
  readonly #body = new GrowingBytes();
  readonly #events = new EventBlocks(MAX_BYTES);
  #tail = Buffer.alloc(0);
  #isDone = false;

  /**
   * @param ownId JSON text of the request's ID: no client reads that response as a list
   * @param lockedKinds kinds that the lock covers
   */
  constructor(
    ownId: string | undefined,
    rules: ListRules,
    lockedKinds: ReadonlySet<LockedKind> | undefined,
    next: ListReceiver,
  ) {
    this.#ownId = ownId;
    this.#rules = rules;
    this.#marks = (lockedKinds?.size ?? 0) > 1 ? ANY : TOOLS;
    this.#next = next;
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    // Less strict than elsewhere: clients search these words anywhere in the type.
    const type = upstreamHeader(headers, "content-type").join(", ");
    const [isEvents, isJson] = [/event-stream/i.test(type), /json/i.test(type)];
    const isRead = !isWhole && status < 300 && (isEvents || isJson);
    const isCoded = hasCoding(headers);
    if (isRead && isCoded) return this.refuseAnswer("an answer with a content coding, although none was requested");
    if (isRead && isEvents && isJson) return this.refuseAnswer("an answer that is both JSON and an event stream");
    this.#mode = !isRead ? "plain" : isEvents ? "events" : "body";
    this.#status = status;
    this.#headers = headers;
    if (this.#mode !== "body")
      this.#next.onHead(status, this.#mode === "events" ? withoutBodyHeaders(headers) : headers, isWhole);
  }

  onData(chunk: Buffer): boolean | void {
    if (this.#isDone) return;
    if (this.#mode === "plain") return this.#next.onData(chunk);
    if (this.#mode === "watched") return this.#watch(chunk);
    if (this.#mode === "events") return this.#readEvents(chunk);
    this.#body.push(chunk);
    if (this.#body.length <= MAX_BYTES) return;
    this.#mode = "watched";
    const begun = this.#body.take();
    if (this.#mayHoldList(begun)) return this.refuseAnswer(TOO_LARGE);
    this.#next.onHead(this.#status, this.#headers);
    this.#watch(begun);
  }

  onEnd(trailers?: UpstreamHeaders): void {
    if (this.#isDone) return;
    if (this.#mode !== "body") return void this.#next.onEnd(this.#mode === "plain" ? trailers : undefined);
    const whole = this.#body.take();
    const read = this.#read(withoutByteOrderMark(whole));
    if (read === undefined) return this.refuseAnswer(UNREADABLE);
    const isAsItCame = read === "as it came";
    const head = [
      ...withoutBodyHeaders(this.#headers),
      "content-length",
      String(isAsItCame ? whole.length : read.length),
    ];
    this.#next.onHead(this.#status, isAsItCame ? this.#headers : head);
    if (whole.length > 0) this.#next.onData(isAsItCame ? whole : read);
    this.#next.onEnd();
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    if (!this.#isDone) this.#next.onFailure(failure, detail);
  }

  refuseAnswer(why: string): void {
    this.close();
    this.#next.refuseAnswer(why);
  }

  close(): void {
    this.#isDone = true;
  }

  #readEvents(chunk: Buffer): void {
    const blocks = this.#events.push(chunk);
    if (blocks === undefined) {
      this.#mode = "watched";
      return this.#watch(this.#events.takeRest());
    }
    const pieces: Buffer[] = [];
    for (const block of blocks) {
      const read = block.kind === "event" && block.data.length > 0 ? this.#read(block.data) : "as it came";
      if (read === undefined) return this.refuseAnswer(UNREADABLE);
      if (read === "as it came" || block.kind === "filler") pieces.push(block.raw);
      else pieces.push(renderEvent(block.others, read.toString("utf8")));
    }
    if (pieces.length > 0) this.#next.onData(Buffer.concat(pieces));
  }

  /** @returns undefined for input that must not pass */
  #read(bytes: Buffer): Buffer | "as it came" | undefined {
    if (!this.#mayHoldList(bytes)) return "as it came";
    const answer = readListAnswer(bytes);
    if (answer === "unreadable") return undefined;
    if (answer === "none" || (this.#ownId !== undefined && sameId(answer.id, this.#ownId))) return "as it came";
    const { keeps, lock } = this.#rules;
    const omitted = lock?.(bytes, answer, { isStray: true });
    const filtered = filterAnswer(bytes, answer, { keeps: keeps?.(), omitted, isModern: false });
    return filtered.isDenied ? undefined : filtered.bytes;
  }

  #mayHoldList(bytes: Buffer): boolean {
    return this.#marks.test(bytes.toString("latin1"));
  }

  #watch(chunk: Buffer): void {
    const seen = Buffer.concat([this.#tail, chunk]);
    if (this.#mayHoldList(seen)) return this.refuseAnswer(TOO_LARGE);
    this.#tail = seen.subarray(-LONGEST_MARK);
    this.#next.onData(chunk);
  }
}

const UNREADABLE = "an answer that cannot be read, and may hold tools";
const TOO_LARGE = `an answer of more than ${MAX_BYTES} bytes that may hold tools`;
