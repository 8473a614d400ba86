/**
 * A request that one member answers: its response goes back message by message, with progress and logging.
 *
 * Untrusted input: the member's response. Promises: the client gets exactly one response to its request; requests of the
 * member reach the client under an ID that only this caller can answer.
 */
import { resultFor } from "../../mcp/federation/eras.ts";
import { idText, numberOf, readMessage, recordOf, type MessageJson } from "../../mcp/federation/json.ts";
import { EventBlocks } from "../../mcp/lists/event-blocks.ts";
import { isJsonMediaType } from "../../mcp/message-headers.ts";
import type { CompiledRoute } from "../../config/compiled.ts";
import { allHeaders } from "../../shared/http/header-lookup.ts";
import { isEventStream } from "../forwarding/response-headers.ts";
import type { RequestContext } from "../request-context.ts";
import { messagesIn, openMember, type RunMember } from "./ask-member.ts";
import type { Link } from "./links.ts";
import type { MemberExchange, MemberReceiver } from "./member-exchange.ts";

/** The response to the client. */
export interface Reply {
  /** The one response to its request. */
  result(result: MessageJson): void;
  /** @param data default: the request ID */
  error(code: number, message: string, data?: unknown): void;
  /** A message before it. @returns false: wait for `exchange.onDrain` */
  before(message: MessageJson): boolean;
}

/** Limit of one JSON response or one event; streams can be longer. */
const MAX_BYTES = 16 * 1024 * 1024;

export interface RelayOptions {
  readonly run: RunMember;
  readonly caller: RequestContext;
  readonly link: Link;
  /** As it goes to the member. */
  readonly message: MessageJson;
  /** Name or URI in the client's message, for the record. */
  readonly calledAs: string | undefined;
  readonly clientIsModern: boolean;
  /** Makes an ID of a member's request one that only this caller can answer. */
  readonly sealId: (idText: string) => string;
}

/** "gone": the member does not know the session, and has done nothing. */
export type RelayEnd = "answered" | "gone";

/** @param isFault the response was none that a member may give */
export type RelayDone = (end: RelayEnd, isFault: boolean) => void;

/** @returns the member's exchange, to abort it */
export function relay(options: RelayOptions, reply: Reply, done: RelayDone): MemberExchange {
  const { run, caller, link, message, calledAs } = options;
  const { version, session, member } = link;
  const receiver = new Relay(options, reply, done);
  const outgoing = { method: "POST", message, version, session, calledAs } as const;
  const exchange = openMember(run, caller, member, outgoing, receiver);
  receiver.exchange = exchange;
  return exchange;
}

class Relay implements MemberReceiver {
  exchange: MemberExchange | undefined;
  readonly #options: RelayOptions;
  readonly #reply: Reply;
  readonly #done: RelayDone;
  #status = 0;
  #mode: "json" | "events" | "other" = "other";
  #isGone = false;
  #isFault = false;
  #chunks: Buffer[] = [];
  #size = 0;
  readonly #events = new EventBlocks(MAX_BYTES);
  #isAnswered = false;

  constructor(options: RelayOptions, reply: Reply, done: RelayDone) {
    this.#options = options;
    this.#reply = reply;
    this.#done = done;
  }

  onHead(status: number, headers: readonly string[]): void {
    this.#status = status;
    const [type = ""] = allHeaders(headers, "content-type");
    if (isEventStream(type)) this.#mode = "events";
    else if (isJsonMediaType(type)) this.#mode = "json";
    this.#isGone = status === 404 && this.#options.link.session !== undefined;
  }

  onData(chunk: Buffer): boolean {
    if (this.#isAnswered || this.#isGone || this.#mode === "other") return true;
    if (this.#mode === "events") return this.#readEvents(chunk);
    this.#size += chunk.length;
    if (this.#size > MAX_BYTES) this.#fail("its response is too large");
    else this.#chunks.push(chunk);
    return true;
  }

  onEnd(complete: boolean): void {
    if (this.#isGone && !this.#isAnswered) return this.#done("gone", false);
    if (!this.#isAnswered && complete && this.#mode !== "events") this.#readBody();
    if (!this.#isAnswered) this.#fail(complete ? "it gave no response" : "its response was aborted");
    this.#done("answered", this.#isFault);
  }

  #readEvents(chunk: Buffer): boolean {
    const blocks = this.#events.push(chunk);
    if (blocks === undefined) {
      this.#fail("an event is too large");
      return true;
    }
    let goesOn = true;
    for (const message of messagesIn(blocks)) {
      if (this.#isAnswered) break;
      if (message === undefined) this.#fail("an event is not a message");
      else goesOn = this.#take(message) && goesOn;
    }
    return goesOn;
  }

  #readBody(): void {
    const message = readMessage(Buffer.concat(this.#chunks));
    if (
      message !== undefined &&
      (message["result"] !== undefined || recordOf(message["error"])["code"] !== undefined)
    ) {
      this.#take(message, true);
      return;
    }
    this.#refused(recordOf(message));
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

  /** @param isAlone the whole response: an error without ID is then the response, too */
  #take(message: MessageJson, isAlone = false): boolean {
    const { message: request, clientIsModern, sealId } = this.#options;
    const { method, id, result, error } = message;
    if (typeof method === "string") {
      if (id === undefined) return this.#reply.before(message);
      const text = idText(id);
      if (clientIsModern) this.#fail("it asks the client something, which clients of this revision cannot be asked");
      return text === undefined || clientIsModern || this.#reply.before({ ...message, id: sealId(text) });
    }
    const isOwn = idText(id) === idText(request["id"]) || (isAlone && id === undefined) || (isAlone && id === null);
    // A response that this caller did not ask for.
    if (!isOwn) return true;
    if (result !== undefined) {
      const whole = recordOf(result);
      if (!clientIsModern && whole["resultType"] === "input_required")
        this.#fail("it needs a client of a later revision, which can be asked for input");
      else this.#answer(() => this.#reply.result(resultFor(request["method"], whole, clientIsModern)));
      return true;
    }
    const { code, message: text, data } = recordOf(error);
    const number = numberOf(code);
    this.#answer(() =>
      this.#reply.error(
        number !== undefined && Number.isSafeInteger(number) ? number : -32603,
        typeof text === "string" ? text : "Error without a message",
        data,
      ),
    );
    return true;
  }

  #fail(why: string): void {
    this.#isFault = true;
    const { prepared } = this.#options.link.member;
    this.#answer(() => this.#reply.error(-32603, `${prepared.route.name} gave no valid response: ${why}`));
    this.exchange?.abort();
  }

  #answer(write: () => void): void {
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    write();
  }
}

/** Outside of the codes that JSON-RPC and MCP reserve; the digits are those of HTTP. */
const NOT_CONNECTED = -31401;

/** The error of a call that needs an account of its user. */
export function notConnected(
  prefix: string,
  { name, origin }: CompiledRoute,
): { code: number; message: string; data: MessageJson } {
  const url = `${origin}/.gateway/`;
  const message = `${name} is not connected. Connect it at ${url}, then repeat the call`;
  return { code: NOT_CONNECTED, message, data: { reason: "not-connected", member: prefix, url } };
}
