/**
 * Reads responses of an MCP server whose guardrail checks results: of calls, and of tasks, in whichever response they come.
 *
 * Untrusted input: the upstream's response, and the guardrail's answer. Promises: each result and error is held until there is a
 * verdict, and passes unchanged, replaced, or as an error of ours; what cannot be read, or is too large, does not pass; memory
 * is bounded.
 */
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { Guardrail } from "../../features/mcp/guardrail.ts";
import { denialOf } from "../../mcp/guardrail/denial.ts";
import { findGuardedPart, type FoundPart } from "../../mcp/guardrail/guarded-part.ts";
import type { GuardrailReply } from "../../mcp/guardrail/verdict.ts";
import { EventBlocks, renderEvent, type EventBlock } from "../../mcp/lists/event-blocks.ts";
import { GrowingBytes } from "../../mcp/lists/growing-bytes.ts";
import { withValue } from "../../mcp/guardrail/members-of.ts";
import { resultDenial } from "../../mcp/guardrail/result-denial.ts";
import { JSON_ANSWER } from "../../mcp/refuse.ts";
import { guard } from "../../shared/faults/guard.ts";
import { upstreamHeader, type UpstreamHeaders } from "../../upstreams/transport-types.ts";
import type { StreamReceiver } from "../announced-address.ts";
import { hasCoding } from "../forwarding/response-headers.ts";
import { withoutBodyHeaders, type ListReceiver } from "../lists/list-receiver.ts";
import type { RequestContext } from "../request-context.ts";
import { askGuardrail, reportVerdict, verdictNote, type GuardrailDeps } from "./ask.ts";

const MAX_BYTES = 1024 * 1024;
/** Limit for responses to other requests: a result in them that belongs elsewhere is checked, their own is not. */
const MAX_EXEMPT_BYTES = 8 * 1024 * 1024;

/** Requests whose own response is checked: it can have the result of a call. */
const CHECKED = /^(?:tools\/call$|tasks\/)/;

/** @param owner ends the exchange */
export function resultReaderFor(
  deps: GuardrailDeps,
  context: RequestContext,
  next: StreamReceiver,
  owner: ListReceiver,
): StreamReceiver {
  const { guardrail } = context.prepared;
  return guardrail?.checksResults === true ? new ResultReader(deps, context, guardrail, next, owner) : next;
}

type Passed = Buffer | "dropped";

class ResultReader implements StreamReceiver {
  readonly #deps: GuardrailDeps;
  readonly #context: RequestContext;
  readonly #guardrail: Guardrail;
  readonly #next: StreamReceiver;
  readonly #owner: ListReceiver;
  /** ID of a request of another kind. */
  readonly #exemptId: string | undefined;
  #mode: "plain" | "body" | "events" | "over" = "plain";
  #headers: UpstreamHeaders = [];
  #status = 200;
  readonly #body = new GrowingBytes();
  readonly #maxBytes: number;
  readonly #events: EventBlocks;
  /** Events read while a verdict is pending, last first. */
  #blocks: EventBlock[] = [];
  #isAsking = false;
  /** Passes what the pending verdict is about. */
  #awaited: (() => void) | undefined;
  readonly #later = new GrowingBytes();
  #end: (() => void) | undefined;
  readonly #leaving = new AbortController();

  constructor(
    deps: GuardrailDeps,
    context: RequestContext,
    guardrail: Guardrail,
    next: StreamReceiver,
    owner: ListReceiver,
  ) {
    this.#deps = deps;
    this.#context = context;
    this.#guardrail = guardrail;
    this.#next = next;
    this.#owner = owner;
    const { message } = context;
    context.exchange.onClose(() => this.#leaving.abort());
    const isExempt = message?.kind === "request" && !CHECKED.test(message.facts.method ?? "");
    this.#exemptId = isExempt ? message.id : undefined;
    this.#maxBytes = this.#exemptId === undefined ? MAX_BYTES : MAX_EXEMPT_BYTES;
    this.#events = new EventBlocks(this.#maxBytes);
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    // As clients decide it, which search these words anywhere in the type. Some read JSON whatever the type of a response.
    const type = upstreamHeader(headers, "content-type").join(", ");
    const isEvents = /event-stream/i.test(type);
    const { message, exchange } = this.#context;
    // Other files of a server are not responses to messages, except for event streams.
    const isRead = !isWhole && (isEvents || message !== undefined);
    const isUnreadable = isRead && (hasCoding(headers) || (isEvents && /json/i.test(type)));
    // Clients that wait for events parse any response as events.
    const waits = exchange.method === "GET" && /event-stream/i.test(exchange.header("accept") ?? "");
    const isRefused = isUnreadable || (waits && !isRead && !isWhole && status < 300);
    if (isRefused && !this.#guardrail.isShadow) return this.refuseAnswer("an answer that the guardrail cannot check");
    this.#mode = isRead && !isRefused ? (isEvents ? "events" : "body") : "plain";
    this.#status = status;
    this.#headers = headers;
    if (this.#mode !== "body")
      this.#next.onHead(status, this.#mode === "events" ? withoutBodyHeaders(headers) : headers, isWhole);
  }

  onData(chunk: Buffer): boolean | void {
    if (this.#mode === "plain") return this.#next.onData(chunk);
    if (this.#mode === "over") return;
    if (this.#mode === "body") {
      this.#body.push(chunk);
      if (this.#body.length > this.#maxBytes) this.#tooLarge();
      return;
    }
    if (!this.#isAsking) return this.#readEvents(chunk);
    this.#later.push(chunk);
    if (this.#later.length <= this.#maxBytes) return;
    if (this.#guardrail.isShadow) this.#passRest();
    else this.refuseAnswer(TOO_LARGE);
  }

  onEnd(trailers?: UpstreamHeaders): void {
    if (this.#mode === "body") this.#endBody(this.#body.take());
    else this.#endWith(() => this.#next.onEnd(trailers));
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    this.#endWith(() => this.#next.onFailure(failure, detail));
  }

  refuseAnswer(why: string): void {
    this.#mode = "over";
    this.#next.refuseAnswer(why);
  }

  #endBody(bytes: Buffer): void {
    if (bytes.length === 0) return this.#passBody(bytes, this.#headers);
    this.#check(bytes, (passed) => {
      if (passed === bytes) return this.#passBody(bytes, this.#headers);
      const body = passed === "dropped" ? NOTHING : passed;
      const others = withoutBodyHeaders(this.#headers, "content-type");
      this.#passBody(body, [...others, "content-type", "application/json", "content-length", String(body.length)]);
    });
  }

  #passBody(bytes: Buffer, headers: UpstreamHeaders): void {
    this.#mode = "over";
    this.#next.onHead(this.#status, headers);
    if (bytes.length > 0) this.#next.onData(bytes);
    this.#next.onEnd();
  }

  #readEvents(chunk: Buffer): void {
    const blocks = this.#events.push(chunk);
    if (blocks === undefined) return this.#tooLarge();
    this.#blocks = blocks.toReversed();
    this.#readBlocks();
  }

  #readBlocks(): void {
    while (!this.#isAsking) {
      const block = this.#blocks.pop();
      if (block === undefined) return;
      if (block.kind === "filler" || block.data.length === 0) this.#next.onData(block.raw);
      else
        this.#check(block.data, (passed) => {
          if (passed === block.data) this.#next.onData(block.raw);
          else if (passed !== "dropped") this.#next.onData(renderEvent(block.others, passed.toString("utf8")));
        });
    }
  }

  /** @param pass called once: now, or when there is a verdict */
  #check(bytes: Buffer, pass: (passed: Passed) => void): void {
    const found = findGuardedPart(bytes, this.#exemptId, this.#status >= 300);
    if (found === "none") return pass(bytes);
    if (found === "unreadable") return pass(this.#unasked(bytes, "the result cannot be read"));
    this.#isAsking = true;
    const text = bytes.toString("utf8", found.span.start, found.span.end);
    const asked = { part: found.part, text, maxBytes: MAX_BYTES, signal: this.#leaving.signal };
    const settle = guard(this.#owner, (verdict: GuardrailReply) => {
      this.#isAsking = false;
      if (this.#mode === "over") return;
      // In shadow, the rest has passed already.
      if (this.#mode === "plain") return this.#note(verdict);
      pass(this.#apply(bytes, found, verdict));
      this.#resume();
    });
    this.#awaited = () => pass(bytes);
    void askGuardrail(this.#deps, this.#context, this.#guardrail, asked).then(settle);
  }

  #apply(bytes: Buffer, found: FoundPart, verdict: GuardrailReply): Passed {
    this.#note(verdict);
    if (this.#guardrail.isShadow || verdict.kind === "pass") return bytes;
    if (verdict.kind === "mutate") return withValue(bytes, found.span, verdict.value);
    const id = found.id ?? (this.#mode === "body" ? this.#context.message?.id : undefined);
    return id === undefined ? "dropped" : this.#denial(id, verdict);
  }

  /** For a response that the guardrail was not asked about. */
  #unasked(bytes: Buffer, reason: string): Passed {
    const verdict: GuardrailReply = { kind: "error", reason };
    reportVerdict(this.#deps, this.#context, "result", verdict, 0);
    this.#note(verdict);
    if (this.#guardrail.isShadow) return bytes;
    const { message } = this.#context;
    return message?.kind === "request" ? this.#denial(message.id, verdict) : "dropped";
  }

  #denial(id: string | undefined, verdict: Extract<GuardrailReply, { readonly kind: "deny" | "error" }>): Buffer {
    return Buffer.from(resultDenial(id, denialOf(verdict), this.#context.exchange.id));
  }

  #note(verdict: GuardrailReply): void {
    const { outcome } = this.#context;
    if (!outcome || (verdict.kind === "pass" && outcome.guardrail)) return;
    outcome.guardrail = verdictNote(this.#guardrail, verdict);
  }

  /** Ends the response, with an error for the request; in shadow the rest passes unread. */
  #tooLarge(): void {
    const isBody = this.#mode === "body";
    const passed = this.#unasked(NOTHING, `the result has more than ${this.#maxBytes} bytes`);
    if (this.#guardrail.isShadow) {
      this.#mode = "plain";
      if (isBody) this.#next.onHead(this.#status, this.#headers);
      this.#next.onData(isBody ? this.#body.take() : this.#events.takeRest());
      return;
    }
    if (passed === "dropped") return this.refuseAnswer(TOO_LARGE);
    this.#mode = "over";
    this.#owner.leaveAnswer();
    if (isBody) this.#next.onHead(200, [...JSON_ANSWER, "content-length", String(passed.length)]);
    this.#next.onData(isBody ? passed : renderEvent([], passed.toString("utf8")));
    this.#next.onEnd();
  }

  /** In shadow, nothing more waits. */
  #passRest(): void {
    this.#mode = "plain";
    this.#isAsking = false;
    this.#awaited?.();
    for (const { raw } of this.#blocks.toReversed()) this.#next.onData(raw);
    this.#next.onData(Buffer.concat([this.#events.takeRest(), this.#later.take()]));
  }

  #endWith(end: () => void): void {
    if (this.#mode === "over") return;
    if (this.#isAsking) this.#end = end;
    else end();
  }

  #resume(): void {
    this.#readBlocks();
    if (!this.#isAsking && this.#later.length > 0) this.#readEvents(this.#later.take());
    if (!this.#isAsking && this.#end) this.#endWith(this.#end);
  }
}

const NOTHING = Buffer.alloc(0);
const TOO_LARGE = "an answer that is too large for the guardrail";
