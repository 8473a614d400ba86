/**
 * Sends one allowed request upstream and passes the response back, both ways at the speed of the slower side.
 * One state machine: each request is in one of its states at any time.
 *
 * Untrusted input: the framing of the upstream's response. Promises: an aborted response does not look complete; when a
 * client leaves, its upstream request is aborted; only requests without effects are sent twice.
 */
import type { Readable } from "node:stream";

import type { Upstream } from "../../features/connection/compiled.ts";
import { epochSeconds } from "../../shared/clock.ts";
import { TOO_MANY_TRAILERS } from "../../shared/http/trailers.ts";
import { guard } from "../../shared/faults/guard.ts";
import { endBroken } from "../../http/end-broken.ts";
import { grpcTrailers, isGrpcWebCall } from "../../http/grpc.ts";
import { respondError } from "../../http/respond.ts";
import { answerEnded, endAnswer, lastEvent, LISTEN, type StreamEnd } from "../answers/answer-ended.ts";
import { listReaderFor } from "../lists/list-reader-for.ts";
import type { AnswerReader, ListReceiver } from "../lists/list-receiver.ts";
import { mcpReaders, type McpReaderDeps } from "../lists/mcp-readers.ts";
import type { Transport, UpstreamCall, UpstreamHeaders } from "../../upstreams/transport-types.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { answerFailure } from "./failure.ts";
import type { RequestContext } from "../request-context.ts";
import type { HandleRefusal } from "../tokens/internal-token.ts";
import { GuardedReceiver } from "./guarded-receiver.ts";
import { RequestBody } from "./request-body.ts";
import { ringAt, type GrpcCall } from "./grpc-call.ts";
import { requestHeaders, type RequestHeaderDeps } from "./request-headers.ts";
import { responseHeaders, type HeadToSend } from "./response-headers.ts";
import { upstreamForRetry } from "./retry.ts";
import { RequestLoop } from "./hop-count.ts";
import { StreamAdmission, type AdmissionDeps } from "./stream-admission.ts";
import { announcedByClient, announcedByUpstream, mayTrail, requestTrailers, responseTrailers } from "./trailers.ts";
import { upstreamPath } from "./upstream-path.ts";

export interface ForwardDeps extends RequestHeaderDeps, AdmissionDeps, McpReaderDeps {
  readonly transport: Transport;
  /** Makes an upstream's MCP session id ours. */
  readonly sealSession: (context: RequestContext, upstreamSession: string) => string | undefined;
  /** Handles a response that rejects or requests the Internal Token; undefined if the response is for the client. */
  refusalOf(context: RequestContext, status: number, headers: UpstreamHeaders): HandleRefusal | undefined;
}

/** Shorter responses that come in one piece are held, to leave in one write with their head. */
const WHOLE_ANSWER_BYTES = 16_384;

export class Forwarding implements ListReceiver {
  readonly #deps: ForwardDeps;
  readonly #context: RequestContext;
  readonly #admission: StreamAdmission;
  readonly #grpc: GrpcCall | undefined;
  #upstream: Upstream;
  #body: Buffer | Readable | undefined;
  #declaredLength: string | undefined;
  #call: UpstreamCall | undefined;
  #lists: AnswerReader | undefined;
  #asksAgain = false;
  #awaitsDrain = false;
  #status = 0;
  #head: HeadToSend | undefined;
  #held = false;
  #heldChunk: Buffer | undefined;
  #mayTrail = false;
  /** The upstream's head as received, if trailers may follow. */
  #upstreamHead: UpstreamHeaders = [];
  #attempts = 0;
  /** Number of authorizations that the request was sent with. */
  #authorizations = 1;

  constructor(deps: ForwardDeps, context: RequestContext, upstream: Upstream, grpc: GrpcCall | undefined) {
    this.#deps = deps;
    this.#context = context;
    this.#upstream = upstream;
    this.#grpc = grpc;
    this.#admission = new StreamAdmission(deps, context, this);
    const timer =
      grpc &&
      ringAt(
        grpc,
        guard(this, () => this.#passDeadline()),
      );
    context.exchange.onClose((complete) => {
      clearTimeout(timer);
      // Complete but not finished: another part has responded.
      this.#giveUp(complete ? context.exchange.status : 0);
    });
  }

  get isEndless(): boolean {
    if (this.#head?.isEventStream !== true) return false;
    const { exchange, message } = this.#context;
    return exchange.method === "GET" || message?.facts.method === LISTEN;
  }

  get endsWithCredential(): boolean {
    if (!this.#grpc || this.#grpc.deadlineMs !== undefined || !this.#head) return this.isEndless;
    // A gRPC response that begins after expiry is that of a call, whatever follows.
    return (this.#context.principal?.expiresAt ?? 0) > epochSeconds(this.#deps.clock);
  }

  /** @param declaredLength Content-Length of a stream body, if the client sent one */
  send(body: Buffer | Readable | undefined, declaredLength?: string): void {
    if (this.#admission.isFinished) return;
    // Check again: time may have passed waiting for the body or for a token of the upstream.
    if (!this.#mayGoOn(body)) return;
    this.#body = body;
    this.#declaredLength = declaredLength;
    const { exchange, prepared } = this.#context;
    const { timeoutMs, idleTimeoutMs } = prepared.route;
    this.#admission.attempt(this.#upstream);
    const headers = requestHeaders(this.#deps, this.#context, this.#upstream);
    if (declaredLength !== undefined) headers.push("content-length", declaredLength);
    this.#mayTrail = mayTrail(this.#context, this.#upstream);
    const announced = this.#mayTrail && declaredLength === undefined ? announcedByClient(this.#context) : "";
    if (announced !== "") headers.push("trailer", announced);
    const isStream =
      prepared.isMcpServer ||
      this.#grpc !== undefined ||
      isGrpcWebCall(exchange) ||
      exchange.header("accept")?.includes("text/event-stream") === true;
    this.#attempts += 1;
    this.#admission.track(this.#upstream);
    if (!this.#asksAgain)
      this.#lists = prepared.isMcpServer ? listReaderFor(this.#deps, this.#context, this) : undefined;
    const first = prepared.isMcpServer
      ? mcpReaders(this.#deps, this.#context, this.#upstream, this.#lists, this)
      : this;
    this.#call = this.#deps.transport.send(
      {
        upstream: this.#upstream,
        party: exchange.party,
        method: exchange.method,
        path: upstreamPath(this.#context, this.#upstream),
        headers,
        body,
        ...(this.#mayTrail && exchange.hasBody && { trailers: () => requestTrailers(this.#context) }),
        headTimeoutMs: timeoutMs,
        bodyTimeoutMs: this.#grpc ? (idleTimeoutMs ?? 0) : undefined,
        // Any time may pass between two events of a stream.
        idleTimeoutMs: idleTimeoutMs ?? (isStream ? 0 : timeoutMs),
      },
      new GuardedReceiver(first, this),
    );
  }

  /** For callers outside of a guard: an error in header settings fails only this request. */
  sendGuarded(body: Buffer | Readable | undefined, declaredLength?: string): void {
    try {
      this.send(body, declaredLength);
    } catch (error) {
      if (error instanceof RequestLoop) this.onFailure("loop", error.message);
      else this.broke(error);
    }
  }

  broke(error: unknown): void {
    const { exchange } = this.#context;
    try {
      this.#giveUp(exchange.started && !exchange.takeBack() ? 0 : 500);
    } finally {
      endBroken(exchange, error);
    }
  }

  refuseAnswer(why: string, last?: Buffer): void {
    this.#call?.abort();
    const { exchange } = this.#context;
    if (last === undefined || !exchange.started || this.#admission.isFinished) return this.onFailure("protocol", why);
    // A client that waits for this response must learn that it failed: it would reopen a stream that only ended.
    this.#admission.failed("protocol");
    this.#admission.report("protocol", why, this.#upstream);
    this.#admission.finish(this.#status);
    this.#context.operation?.see(last);
    exchange.end(last);
  }

  askAgain(message: Buffer): void {
    this.leaveAnswer();
    this.#asksAgain = true;
    this.sendGuarded(message);
    this.#asksAgain = false;
  }

  leaveAnswer(): void {
    this.#call?.abort();
    this.#admission.endAttempt(200);
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    this.#context.prepared.balancer.reached(this.#upstream);
    this.#admission.answered(status);
    if (this.#grpc && this.#body instanceof RequestBody) this.#body.rest();
    const refusal = this.#deps.refusalOf(this.#context, status, headers);
    if (refusal) {
      this.#call?.abort();
      this.#admission.endAttempt(status);
      void this.#settle(refusal);
      return;
    }
    this.#status = status;
    const head = responseHeaders(this.#context, status, headers, this.#deps.sealSession);
    this.#head = head;
    const hasNoBody = isWhole || status === 204 || status === 304 || this.#context.exchange.method === "HEAD";
    if (this.#mayTrail) {
      this.#upstreamHead = headers;
      const announced = hasNoBody || head.length !== undefined ? "" : announcedByUpstream(this.#context, headers);
      if (announced !== "") head.headers.push("trailer", announced);
    }
    this.#held = hasNoBody || (head.length !== undefined && head.length <= WHOLE_ANSWER_BYTES && !head.isEventStream);
    if (!this.#held) this.#start();
  }

  onData(chunk: Buffer): boolean {
    if (this.#admission.isFinished) return true;
    const { exchange } = this.#context;
    this.#context.operation?.see(chunk);
    if (this.#held) {
      if (this.#heldChunk === undefined && chunk.length === this.#head?.length) {
        this.#heldChunk = chunk;
        return false;
      }
      this.#held = false;
      if (!this.#start()) return true;
    }
    // One drain listener is enough: one piece of the upstream may leave in several writes.
    if (exchange.write(chunk) || this.#awaitsDrain) return exchange.isFlushed === true;
    this.#awaitsDrain = true;
    this.#call?.pause();
    exchange.onDrain(() => {
      this.#awaitsDrain = false;
      this.#call?.resume();
    });
    return false;
  }

  onEnd(trailers?: UpstreamHeaders): boolean | void {
    if (this.#admission.isFinished) return;
    const passed = trailers && this.#mayTrail ? responseTrailers(this.#context, trailers, this.#upstreamHead) : [];
    if (passed === undefined) return this.onFailure("protocol", TOO_MANY_TRAILERS);
    if (this.#held && !this.#admission.isGood) return this.#giveUp(answerEnded(this.#context, true));
    this.#admission.finish(this.#status);
    if (this.#held) this.#context.exchange.respond(this.#status, this.#head?.headers ?? [], this.#heldChunk, passed);
    else this.#context.exchange.end(undefined, passed);
    return this.#context.exchange.isFlushed;
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    if (this.#admission.isFinished) return;
    const { exchange } = this.#context;
    this.#admission.failed(failure);
    if (this.#retry(failure)) return;
    this.#admission.report(failure, detail, this.#upstream);
    if (exchange.started) {
      this.#admission.finish(0);
      // Idle timeout: an event stream ends normally and is not aborted.
      if (failure === "timeout" && this.#head?.isEventStream === true) exchange.end(lastEvent(this.#context));
      else exchange.abort();
      return;
    }
    this.#admission.finish(answerFailure(this.#context, failure));
  }

  /** The right to the response has ended. If the client can still learn that, it does not resend the request. */
  end(why: StreamEnd): void {
    if (this.#admission.isFinished) return;
    if (!this.#context.exchange.started && why !== "stopping")
      return this.#giveUp(answerEnded(this.#context, this.#attempts > 0));
    this.#giveUp(0);
    endAnswer(this.#context, this.#head, why, this.#grpc !== undefined);
  }

  /**
   * The client's own deadline, which it mostly enforces itself: not a failure of the upstream. Which clock expires first is
   * chance, so the call ends the way client or server would end it, even in the middle of a message.
   */
  #passDeadline(): void {
    if (this.#admission.isFinished) return;
    const { exchange } = this.#context;
    this.#giveUp(exchange.started ? 0 : 504);
    const problem = { code: "request.deadline", message: "The deadline of this call has passed" } as const;
    if (exchange.started) exchange.end(undefined, grpcTrailers(exchange, 504, problem));
    else respondError(exchange, 504, problem);
  }

  /** Registers uploads at their start: their end triggers the upstream's action, maybe long after access has ended. */
  #mayGoOn(body: Buffer | Readable | undefined): boolean {
    const isUpload = body instanceof RequestBody && !this.#admission.isRegistered;
    if (isUpload ? this.#admission.register() : this.#admission.begin()) return true;
    this.#giveUp(answerEnded(this.#context, this.#attempts > 0));
    return false;
  }

  /** @returns false when the response was rejected */
  #start(): boolean {
    const refused = this.#admission.admit();
    if (refused !== undefined) this.#giveUp(refused);
    else {
      // After a body of known length HTTP/1.1 has no trailers. Over HTTP/2, waiting for them costs a turn.
      const mayFollow = this.#mayTrail && (this.#head?.length === undefined || this.#upstream.connect?.http2 === true);
      this.#context.exchange.start(this.#status, this.#head?.headers ?? [], mayFollow);
    }
    return refused === undefined;
  }

  /** Resends the request with another token, or responds instead of the upstream. */
  async #settle(refusal: HandleRefusal): Promise<void> {
    try {
      const outcome = await refusal(this.#authorizations);
      if (this.#admission.isFinished) return;
      if (!outcome.retry) return void this.#admission.finish(outcome.status);
      this.#authorizations += 1;
      // MCP messages are complete, so they can be resent. A 401 means that the upstream did not execute the first one.
      this.sendGuarded(this.#body);
    } catch (error) {
      this.broke(error);
    }
  }

  /** @param status of the response; 0 for none */
  #giveUp(status: number): void {
    if (this.#admission.isFinished) return;
    this.#lists?.close();
    this.#call?.abort();
    this.#admission.finish(status);
  }

  /** Resends the request if that is safe. */
  #retry(failure: UpstreamFailure): boolean {
    const { exchange } = this.#context;
    if (exchange.started || this.#head !== undefined) return false;
    const isUntaken = !(this.#body instanceof RequestBody && this.#body.taken);
    const failed = { failure, upstream: this.#upstream, attempts: this.#attempts, isUntaken };
    const upstream = upstreamForRetry(this.#deps.clock, this.#context, failed);
    if (upstream === undefined) return false;
    this.#upstream = upstream;
    const again = this.#body instanceof RequestBody ? new RequestBody(exchange, this.#grpc !== undefined) : this.#body;
    this.sendGuarded(again, this.#declaredLength);
    return true;
  }
}
