/**
 * A request that one member answers: its response goes back message by message, with progress and logging.
 *
 * Untrusted input: the member's response. Promises: the client gets exactly one response to its request; requests of the
 * member reach the client under an ID that only this caller can answer.
 */
import { outwardMessage, outwardResult } from "../../mcp/federation/carry.ts";
import { resultFor } from "../../mcp/federation/eras.ts";
import { idText, numberOf, readMessage, recordOf, writeJson, type MessageJson } from "../../mcp/federation/json.ts";
import { passThrough } from "../../mcp/federation/pass-through.ts";
import { EventBlocks } from "../../mcp/lists/event-blocks.ts";
import { isJsonMediaType } from "../../mcp/message-headers.ts";
import { sameId } from "../../mcp/message-id.ts";
import { guard, guardEach, type Guarded } from "../../shared/faults/guard.ts";
import { allHeaders } from "../../shared/http/header-lookup.ts";
import { isEventStream } from "../forwarding/response-headers.ts";
import { eventsIn, openMember, type MemberEvent, type Outgoing } from "./ask-member.ts";
import type { MemberExchange, MemberReceiver } from "./member-exchange.ts";
import { notConnected, overloaded, undeclared } from "./refusals.ts";
import type { RelayDone, RelayEnd, RelayOptions, Reply } from "./relay-options.ts";
import { renewCaller } from "./renew-caller.ts";

/** Limit of one JSON response or one event; streams can be longer. */
const MAX_BYTES = 16 * 1024 * 1024;
/** Members may end a stream before the response, which is then in the next one. */
const MAX_RESUMED = 100;
const RESUME_MS = 1_000;
/** A member that responded and then does not end its stream would keep a connection for each call. */
const LINGER_MS = 1_000;
const [MIN_RESUME_MS, MAX_RESUME_MS] = [100, 30_000];

export interface Relaying {
  readonly isOver: boolean;
  abort(): void;
}

export function relay(options: RelayOptions, reply: Reply, done: RelayDone): Relaying {
  const relaying = new Relay(options, reply, done);
  relaying.open(options.outgoing);
  return relaying;
}

class Relay implements MemberReceiver, Relaying {
  isOver = false;
  readonly #options: RelayOptions;
  readonly #reply: Reply;
  readonly #done: RelayDone;
  #exchange: MemberExchange | undefined;
  #status = 0;
  #mode: "json" | "events" | "other" = "other";
  #isGone = false;
  #isFault = false;
  #input: MessageJson | undefined;
  #chunks: Buffer[] = [];
  #size = 0;
  #events: EventBlocks | undefined;
  #isAnswered = false;
  #isAborted = false;
  /** The member's current response is complete or aborted. */
  #isEnded = false;
  #lastId: string | undefined;
  #retryMs = RESUME_MS;
  #resumed = 0;
  #linger: NodeJS.Timeout | undefined;

  constructor(options: RelayOptions, reply: Reply, done: RelayDone) {
    this.#options = options;
    this.#reply = reply;
    this.#done = done;
    options.caller.exchange.onClose(() => (this.#isAborted = true));
  }

  open(outgoing: Outgoing): void {
    const { run, caller, link } = this.#options;
    this.#isEnded = false;
    this.#exchange = openMember(run, caller, link.member, outgoing, this);
  }

  abort(): void {
    this.#isAborted = true;
    this.#exchange?.abort();
  }

  onHead(status: number, headers: readonly string[]): void {
    this.#status = status;
    const [type = ""] = allHeaders(headers, "content-type");
    this.#mode = isEventStream(type) ? "events" : isJsonMediaType(type) ? "json" : "other";
    this.#isGone = status === 404 && this.#options.link.session !== undefined && this.#resumed === 0;
  }

  onData(chunk: Buffer): boolean {
    if (this.#isAnswered || this.#isGone || this.#mode === "other") return true;
    if (this.#mode === "events") return this.#readEvents(chunk);
    this.#size += chunk.length;
    if (this.#size > MAX_BYTES) this.#fail("its response is too large");
    else this.#chunks.push(chunk);
    return true;
  }

  get heldBytes(): number {
    return this.#isAnswered ? 0 : this.#size + (this.#events?.heldBytes ?? 0);
  }

  /** The rest is ignored, and what it answered with was written to the client. */
  get hasReleased(): boolean {
    return this.#isAnswered;
  }

  onEnd(complete: boolean, isOverloaded = false): void {
    this.#isEnded = true;
    if (isOverloaded) this.#overloaded();
    if (this.#isGone && !this.#isAnswered) return this.#finish("gone");
    // The client has disconnected or cancelled: the member did nothing wrong.
    if (!this.#isAnswered && this.#isAborted) return this.#finish("answered");
    if (!this.#isAnswered && complete && this.#mode === "json") this.#readBody();
    if (!this.#isAnswered && complete && this.#mode === "other") this.#refused({});
    if (!this.#isAnswered && this.#resume()) return;
    if (!this.#isAnswered) this.#fail(complete ? "it gave no response" : "its response was aborted");
    this.#finish(this.#input ?? "answered");
  }

  #finish(end: RelayEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.#linger);
    this.#done(end, this.#isFault);
  }

  /** @returns false: the member cannot continue its response in another stream */
  #resume(): boolean {
    const { link, caller, current } = this.#options;
    const { version, session } = link;
    const lastEventId = this.#lastId;
    const canResume = this.#mode === "events" && lastEventId !== undefined && session !== undefined;
    if (!canResume || this.#isAborted || this.#resumed === MAX_RESUMED) return false;
    this.#resumed += 1;
    this.#events = undefined;
    const again = guard(caller.exchange, () => this.open({ method: "GET", version, session, lastEventId }));
    const open = guard(caller.exchange, () => {
      void renewCaller(current, caller).then((isCurrent) => {
        if (this.isOver || this.#isAborted) return this.#finish("answered");
        if (isCurrent) return again();
        this.#fail("access ended");
        this.#finish("answered");
      });
    });
    const timer = setTimeout(open, Math.min(MAX_RESUME_MS, Math.max(MIN_RESUME_MS, this.#retryMs)));
    caller.exchange.onClose(() => {
      clearTimeout(timer);
      this.#finish("answered");
    });
    return true;
  }

  #readEvents(chunk: Buffer): boolean {
    const blocks = (this.#events ??= new EventBlocks(MAX_BYTES)).push(chunk);
    if (blocks === undefined) {
      this.#fail("an event is too large");
      return true;
    }
    let goesOn = true;
    for (const event of eventsIn(blocks)) {
      if (this.#isAnswered) break;
      goesOn = this.#readEvent(event) && goesOn;
    }
    return goesOn;
  }

  #readEvent(event: MemberEvent): boolean {
    const { id, retryMs } = event;
    this.#lastId = id ?? this.#lastId;
    this.#retryMs = retryMs ?? this.#retryMs;
    if (this.#passResponse(event.data)) return true;
    const { message } = event;
    const position = id === undefined ? undefined : this.#options.sealPosition?.(id);
    if (message === "none") return position === undefined || this.#reply.before("none", position);
    if (message !== undefined) return this.#take(message, false, position);
    this.#fail("an event is not a message");
    return true;
  }

  #readBody(): void {
    const bytes = this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks);
    if (this.#passResponse(bytes)) return;
    const message = readMessage(bytes);
    const isResponse =
      message !== undefined && (message["result"] !== undefined || recordOf(message["error"])["code"] !== undefined);
    if (isResponse) this.#take(message, true);
    else this.#refused(recordOf(message));
  }

  /** @returns false: it must be parsed */
  #passResponse(bytes: Buffer): boolean {
    const { caller, method, clientIsModern } = this.#options;
    const id = caller.message?.id;
    const passed = id === undefined ? id : passThrough(bytes, { id, method, clientIsModern });
    if (passed === undefined) return false;
    this.#answer(() => this.#reply.response(passed));
    return true;
  }

  /** The member's route or the member gave a status instead of a response. */
  #refused(body: MessageJson): void {
    const { prefix, prepared } = this.#options.link.member;
    if (this.#status === 401 || body["error"] === "upstream.not-connected") {
      const { code, message, data } = notConnected(prefix, prepared.route);
      this.#answer(() => this.#reply.error(code, message, data));
    } else {
      const said = typeof body["message"] === "string" ? `: ${body["message"]}` : "";
      this.#fail(`status ${this.#status}${said}`);
    }
  }

  /** @param isAlone the whole response: an error without ID is then the response, too @param position of its event */
  #take(message: MessageJson, isAlone = false, position?: string): boolean {
    const { caller, link } = this.#options;
    const { method, id, result, error } = message;
    if (typeof method === "string") return this.#pass(method, message, position);
    const isOwn = sameId(idText(id), caller.message?.id) || (isAlone && id === undefined) || (isAlone && id === null);
    // A response that this caller did not ask for.
    if (!isOwn) return true;
    if (result !== undefined) this.#takeResult(recordOf(result));
    else {
      const { code, message: text, data } = recordOf(error);
      const number = numberOf(code);
      this.#answer(() =>
        this.#reply.error(
          number !== undefined && Number.isSafeInteger(number) ? number : -32603,
          typeof text === "string" ? text : `Error of ${link.member.prepared.route.name} without a message`,
          data,
        ),
      );
    }
    return true;
  }

  /** A notification or a request of the member. */
  #pass(method: string, message: MessageJson, position: string | undefined): boolean {
    const { clientIsModern, sealId, link } = this.#options;
    const outward = outwardMessage(link.member.prefix, message);
    const text = idText(message["id"]);
    if (text === undefined) return this.#reply.before(outward, position);
    if (!clientIsModern) return this.#reply.before({ ...outward, id: sealId(text) }, position);
    // Its clients answer by sending the call again, for which the member's call would have to wait.
    const { code, message: why, data } = undeclared(method, link.member.prepared.route.name);
    this.#answer(() => this.#reply.error(code, why, data));
    this.abort();
    return true;
  }

  #takeResult(result: MessageJson): void {
    const { caller, method, clientIsModern, canAsk, sealState, link } = this.#options;
    const needsInput = result["resultType"] === "input_required";
    if (needsInput && !clientIsModern) {
      if (!canAsk) return this.#fail("it needs input, for which the client must open a session and read event streams");
      // While the user answers.
      if (!caller.exchange.hold(writeJson(result).length)) return this.#overloaded();
      this.#settle();
      this.#input = result;
      return;
    }
    const own = outwardResult(link.member.prefix, method, result);
    const { requestState } = result;
    const sealed =
      needsInput && typeof requestState === "string" ? { ...own, requestState: sealState(requestState) } : own;
    this.#answer(() => this.#reply.result(resultFor(method, sealed, clientIsModern)));
  }

  #overloaded(): void {
    const { code, message } = overloaded(this.#options.link.member.prepared.route.name);
    this.#answer(() => this.#reply.error(code, message));
  }

  #fail(why: string): void {
    this.#isFault = true;
    const { prepared } = this.#options.link.member;
    this.#answer(() => this.#reply.error(-32603, `${prepared.route.name} gave no valid response: ${why}`));
    this.abort();
  }

  #answer(write: () => void): void {
    if (this.#isAnswered) return;
    this.#settle();
    write();
  }

  /** Nothing more of the member counts. */
  #settle(): void {
    this.#isAnswered = true;
    // Most members end it with the response: then no timer is needed.
    if (!this.#isEnded) process.nextTick(limitRest, this.#options.caller.exchange, this);
  }

  limitRest(): void {
    const end = guard(this.#options.caller.exchange, () => this.abort());
    if (!this.#isEnded) this.#linger = setTimeout(end, LINGER_MS);
  }
}

const limitRest = guardEach((_exchange: Guarded, relay: Relay) => relay.limitRest());
