/**
 * The response of a federated endpoint to one request of a client: JSON, or an event stream once something has to come before
 * it.
 *
 * Promise: one response with the client's own ID, whatever members send.
 */
import { writeJson, type MessageJson } from "../../mcp/federation/json.ts";
import { renderEvent } from "../../mcp/lists/event-blocks.ts";
import { endedAnswer, JSON_ANSWER } from "../../mcp/refuse.ts";
import { answerEnded } from "../answers/answer-ended.ts";
import { answerWire } from "../answers/answer-wire.ts";
import type { RequestContext } from "../request-context.ts";
import type { Reply } from "./relay-options.ts";
import { EVENT, startStream } from "./streams/client-stream.ts";

export class ClientReply implements Reply {
  readonly #context: RequestContext;
  readonly #headers: readonly string[];
  #isOver = false;

  /** @param headers more headers of the response, flat */
  constructor(context: RequestContext, headers: readonly string[] = []) {
    this.#context = context;
    this.#headers = headers;
    context.exchange.onClose(() => {
      this.#isOver = true;
    });
  }

  result(result: MessageJson): void {
    this.resultText(writeJson(result));
  }

  /** @param json of the result */
  resultText(json: string): void {
    this.#end(`"result":${json}`);
  }

  /** The whole response, with the client's ID. */
  response(bytes: Buffer): void {
    if (!this.#isOver) this.#send(bytes, 200);
  }

  error(
    code: number,
    message: string,
    data: unknown = { request_id: this.#context.exchange.id },
    status = this.#statusOf(code),
  ): void {
    this.#context.operation?.failed(code);
    this.#end(`"error":${writeJson({ code, message, data })}`, status);
  }

  /** No member has it for this caller. */
  unknownName(name: string): void {
    this.error(-32602, `Unknown name: ${name.slice(0, 128)}`);
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The right to the response has ended. @param wasSent a member has got the request */
  accessEnded(wasSent: boolean): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { exchange, message, operation } = this.#context;
    if (!exchange.started) return void answerEnded(this.#context, wasSent);
    const { body } = endedAnswer(message, exchange.id, wasSent);
    operation?.see(Buffer.from(body));
    exchange.end(renderEvent(EVENT, body));
  }

  /** Messages before the response can reach the client. */
  get takesMessages(): boolean {
    return !this.#isOver && this.#context.exchange.header("accept")?.includes("text/event-stream") === true;
  }

  before(message: MessageJson | "none", id?: string): boolean {
    const { exchange } = this.#context;
    if (!this.takesMessages) return true;
    if (!exchange.started) startStream(this.#context, this.#headers);
    const fields = id === undefined ? EVENT : [...EVENT, `id: ${id}`];
    return exchange.write(renderEvent(fields, message === "none" ? "" : writeJson(message)));
  }

  /** Clients with sessions expect 200. */
  #statusOf(code: number): number {
    return this.#context.message?.isModern === true ? (STATUS_OF.get(code) ?? 200) : 200;
  }

  #end(outcome: string, status = 200): void {
    if (!this.#isOver)
      this.#send(Buffer.from(`{"jsonrpc":"2.0","id":${this.#context.message?.id ?? "null"},${outcome}}`), status);
  }

  #send(body: Buffer, status: number): void {
    this.#isOver = true;
    const { exchange, operation } = this.#context;
    if (!exchange.started)
      return answerWire(this.#context, { status, headers: [...JSON_ANSWER, ...this.#headers], body });
    operation?.see(body);
    exchange.end(renderEvent(EVENT, body.toString("utf8")));
  }
}

/** MCP 2026-07-28, transports: an unknown method, headers that differ from the body, a capability that the client lacks. */
const STATUS_OF: ReadonlyMap<number, number> = new Map([
  [-32601, 404],
  [-32020, 400],
  [-32021, 400],
]);
