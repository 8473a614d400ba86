/**
 * The request to one member of a federated endpoint, inside the process: an Exchange that walks the member route's own
 * steps, so that policy, lock, limits, credentials and records are those of a direct call.
 *
 * Untrusted input: the member's response. Promises: it uses the memory and connections of the client's party, also for what its
 * receiver holds of the response; when the client disconnects, it is closed; the receiver gets one head and at most one end.
 */
import { Readable } from "node:stream";

import type { Exchange } from "../../http/exchange.ts";
import type { ClientCertificate } from "../../http/listener/client-certificate.ts";
import { ReceivedRequest } from "../../http/received-request.ts";
import type { McpMessage } from "../../mcp/message.ts";
import { headerTraits, type HeaderTraits } from "../../shared/http/header-traits.ts";
import type { Aborting, RequestContext } from "../request-context.ts";
import { LONG_READ_BYTES } from "../../upstreams/http1/answer-bytes.ts";

/** Gets the response of a member. */
export interface MemberReceiver {
  onHead(status: number, headers: readonly string[]): void;
  /** @returns false: wait for `onDrain` of the client */
  onData(chunk: Buffer): boolean;
  /** Bytes of the response that it holds; they count for the client. Absent: none. */
  readonly heldBytes?: number;
  /** It no longer reads bytes that it got. Absent: unknown. */
  readonly hasReleased?: boolean;
  /** @param complete false: the response was aborted @param isOverloaded there is no room for the bytes that it holds */
  onEnd(complete: boolean, isOverloaded?: boolean): void;
}

export interface MemberRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly host: string;
  readonly path: string;
  /** Flat, names in lower case. */
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
  /** Name or URI in the client's message; "" for none. */
  readonly calledAs: string;
  /** See `FederatedOrigin`. */
  readonly message?: McpMessage | undefined;
}

type Caller = Pick<RequestContext, "exchange" | "memberRequests">;

export class MemberExchange extends ReceivedRequest implements Exchange {
  readonly httpVersion = "1.1";
  readonly secure: boolean;
  readonly remoteAddress: string;
  readonly clientCertificate: ClientCertificate | undefined;
  readonly wholeBody: Buffer | undefined;
  readonly trailers: readonly string[] = [];
  readonly calledAs: string;
  readonly message: McpMessage | undefined;
  status = 0;
  readonly #client: Exchange;
  readonly #receiver: MemberReceiver;
  readonly #open: Set<Aborting>;
  readonly #closeListeners: ((complete: boolean) => void)[] = [];
  #isOver = false;

  /** @param caller whose end aborts it */
  constructor(caller: Caller, request: MemberRequest, receiver: MemberReceiver) {
    const client = caller.exchange;
    const { method, host, path, headers, body, calledAs, message } = request;
    const traits: HeaderTraits[] = [];
    for (let at = 0; at < headers.length; at += 2) traits.push(headerTraits(headers[at] as string));
    super(method, { host, path, query: "" }, headers, traits, body !== undefined);
    this.secure = client.secure;
    this.remoteAddress = client.remoteAddress;
    this.clientCertificate = client.clientCertificate;
    this.forwardedFor = client.forwardedFor;
    this.party = client.party;
    this.wholeBody = body;
    this.calledAs = calledAs;
    this.message = message;
    this.#client = client;
    this.#receiver = receiver;
    this.#open = openOf(caller);
    this.#open.add(this);
  }

  get isOpen(): boolean {
    return !this.#isOver;
  }

  get body(): Readable {
    return Readable.from(this.wholeBody === undefined ? [] : [this.wholeBody]);
  }

  start(status: number, headers: readonly string[]): void {
    this.started = true;
    this.status = status;
    this.#receiver.onHead(status, headers);
  }

  write(chunk: Buffer | string): boolean {
    if (this.#isOver || chunk.length === 0) return true;
    const goesOn = this.#receiver.onData(typeof chunk === "string" || wastesMemory(chunk) ? Buffer.from(chunk) : chunk);
    if (this.holdUnread(this.#receiver.heldBytes ?? 0)) return goesOn;
    this.#finish(false, true);
    return true;
  }

  get isFlushed(): boolean {
    return this.#receiver.hasReleased === true && this.#client.isFlushed === true;
  }

  onDrain(listener: () => void): void {
    this.#client.onDrain(listener);
  }

  end(chunk?: Buffer | string): void {
    if (chunk !== undefined) this.write(chunk);
    this.#finish(true);
  }

  respond(status: number, headers: readonly string[], body?: Buffer | string): void {
    this.start(status, headers);
    this.end(body);
  }

  abort(): void {
    this.#finish(false);
  }

  onClose(listener: (complete: boolean) => void): void {
    if (this.#isOver) listener(false);
    else this.#closeListeners.push(listener);
  }

  #finish(complete: boolean, isOverloaded = false): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#open.delete(this);
    this.giveBack();
    this.#receiver.onEnd(complete, isOverloaded);
    for (const listener of this.#closeListeners) listener(complete);
  }
}

/** A receiver that holds it would hold much more than its bytes. */
function wastesMemory(chunk: Buffer): boolean {
  return chunk.length >= LONG_READ_BYTES && 2 * chunk.length < chunk.buffer.byteLength;
}

/** A client that disconnects aborts its requests to members. One with a stream may cause any number of them. */
function openOf(caller: Caller): Set<Aborting> {
  if (caller.memberRequests !== undefined) return caller.memberRequests;
  const open = new Set<Aborting>();
  caller.memberRequests = open;
  caller.exchange.onClose((complete) => {
    if (!complete) for (const each of open) each.abort();
  });
  return open;
}
