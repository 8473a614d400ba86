/**
 * One request over HTTP/2, from the wait for a connection to the end of its response: one state machine.
 *
 * Untrusted input: the upstream's response. Promises: a response is complete only with END_STREAM, which node:http2 does not
 * distinguish from RST_STREAM; only requests that the upstream reports as unprocessed are resent; a call that is aborted, or
 * answered before its request was complete, ends with RST_STREAM.
 *
 * @see RFC 9113 §8.1, §8.7
 */
import { constants, type ClientHttp2Stream, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from "node:http2";

import { errorText } from "../../shared/errors.ts";
import { isFinalStatus } from "../../shared/http/status.ts";
import { joinUnread, takeUnread } from "../../shared/http/unread.ts";
import { BodySender, type BodyEvents } from "../body-sender.ts";
import { Deadline } from "../deadline.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type {
  Transport,
  UpstreamCall,
  UpstreamHeaders,
  UpstreamReceiver,
  UpstreamRequest,
} from "../transport-types.ts";
import { HEAD_TOO_LARGE, MAX_HEAD_BYTES, MAX_INTERIM } from "../http1/reader.ts";
import type { QueuedCall } from "../request-pool.ts";
import { discardBody, waitsUntil } from "../transport-limits.ts";
import { failureOf, failureOfEstablished } from "../failure.ts";
import { requestHead } from "./head.ts";
import { resetSoon } from "./reset.ts";
import type { Session } from "./session.ts";
import { StreamSink } from "./stream-sink.ts";
import { reportFault } from "../../shared/faults/faults.ts";
import { guard } from "../../shared/faults/guard.ts";

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

type Head = IncomingHttpHeaders & IncomingHttpStatusHeader;

export interface CallOwner {
  /** The transport is closed, which explains all failures. */
  readonly isClosed: boolean;
  /** Finds another connection for it. */
  sendAgain(call: Call): void;
  /** Removes it from the queue. */
  forget(call: Call): void;
  /** Called when it is over, in any way. */
  leave(): void;
}

export class Call implements UpstreamCall, QueuedCall, UpstreamReceiver, BodyEvents {
  readonly request: UpstreamRequest;
  /** Start of the call, by `performance.now()`. */
  readonly since: number;
  readonly #owner: CallOwner;
  readonly #receiver: UpstreamReceiver;
  readonly #deadline: Deadline = new Deadline(this, () => this.#late());
  #stream: ClientHttp2Stream | undefined;
  #session: Session | undefined;
  /** Bytes received on its connection when it was sent. */
  #heardBefore = 0;
  #sender: BodySender | undefined;
  /** The call over HTTP/1.1, if the upstream chose that. */
  #other: UpstreamCall | undefined;
  #interim = 0;
  #hasHead = false;
  /** END_STREAM has come. */
  #isWhole = false;
  /** Received bytes of the body, and those that were passed on. */
  #came = 0;
  #passedOn = 0;
  /** Unread rest of a complete response whose stream has closed. */
  #rest: Buffer[] | undefined;
  #isPaused = false;
  #trailers: UpstreamHeaders | undefined;
  #wasRefused = false;
  #isOver = false;
  /** Its receiver was notified of the end, or wants no notification. */
  #isNotified = false;

  constructor(owner: CallOwner, request: UpstreamRequest, receiver: UpstreamReceiver, since: number) {
    this.#owner = owner;
    this.request = request;
    this.#receiver = receiver;
    this.since = since;
  }

  get waitsUntil(): number {
    return waitsUntil(this.request, this.since);
  }

  /** @param session with room */
  start(session: Session): void {
    const { body, headTimeoutMs, bodyTimeoutMs = headTimeoutMs } = this.request;
    const isStream = body !== undefined && !Buffer.isBuffer(body);
    if (isStream && body.destroyed) return this.#failSoon("request-body", "the body was truncated");
    try {
      // The trailers of a complete body are known; those of a stream come after it.
      const trailers = isStream ? undefined : this.request.trailers?.();
      const stream = session.request(requestHead(this.request), {
        endStream: body === undefined,
        waitForTrailers: isStream ? this.request.trailers !== undefined : (trailers?.length ?? 0) > 0,
      });
      this.#stream = stream;
      this.#session = session;
      this.#heardBefore = session.bytesRead;
      this.#listen(stream);
      this.#deadline.wait(isStream ? bodyTimeoutMs : headTimeoutMs);
      const sink = new StreamSink(stream);
      if (isStream) this.#sender = new BodySender(sink, body, this.#declaredLength(), this.request.trailers, this);
      else if (body !== undefined) sink.end(trailers ?? [], body);
    } catch (error) {
      this.#failSoon(failureOf(error as Error), errorText(error));
    }
  }

  /** For an upstream that chose HTTP/1.1. */
  startOver(http1: Transport): void {
    this.#other = http1.send(this.request, this);
  }

  pause(): void {
    if (this.#isOver || this.#isPaused) return;
    this.#isPaused = true;
    // The client is slow, not the upstream.
    this.#deadline.rest();
    this.#stream?.pause();
    this.#other?.pause();
  }

  resume(): void {
    if (this.#isOver || !this.#isPaused) return;
    this.#isPaused = false;
    if (this.#rest) return this.#giveRest(this.#rest);
    if (this.#stream) this.#deadline.wait(this.request.idleTimeoutMs);
    // On a stream that is being closed, `#closed()` takes the rest.
    if (this.#stream?.destroyed === false) this.#stream.resume();
    this.#other?.resume();
  }

  abort(): void {
    this.#isNotified = true;
    if (!this.#finish()) return;
    if (this.#other) this.#other.abort();
    else if (this.#stream) this.#cancel();
    else this.#owner.forget(this);
    discardBody(this.request);
  }

  fail(failure: UpstreamFailure, detail: string): void {
    if (!this.#finish()) return;
    this.#cancel();
    discardBody(this.request);
    this.#isNotified = true;
    this.#receiver.onFailure(failure, detail);
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole = false): void {
    if (!this.#isOver) this.#receiver.onHead(status, headers, isWhole);
  }

  onData(chunk: Buffer): void {
    if (!this.#isOver) this.#receiver.onData(chunk);
  }

  onEnd(trailers: UpstreamHeaders | undefined): void {
    if (!this.#finish()) return;
    // The response came before the request was complete, so the rest of the request is not wanted.
    if (this.#sender !== undefined || this.#stream?.writableFinished === false) this.#cancel();
    this.#isNotified = true;
    this.#receiver.onEnd(trailers);
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    this.fail(failure, detail);
  }

  onProgress(): void {
    // An upstream that reads the body is not idle, whether or not it has begun to respond.
    const { idleTimeoutMs, headTimeoutMs, bodyTimeoutMs = headTimeoutMs } = this.request;
    if (!this.#isPaused) this.#deadline.wait(this.#hasHead ? idleTimeoutMs : bodyTimeoutMs);
  }

  onSent(): void {
    this.#sender = undefined;
    if (!this.#hasHead && this.request.bodyTimeoutMs !== undefined) this.#deadline.wait(this.request.headTimeoutMs);
  }

  onBroken(error: Error): void {
    this.#sender = undefined;
    this.fail("request-body", errorText(error));
  }

  #listen(stream: ClientHttp2Stream): void {
    let problem: Error | undefined;
    const push = stream.push.bind(stream);
    // The only place where END_STREAM is visible: on RST_STREAM, or with the connection, the stream is closed before its end.
    // Not written where it is assigned: see `guardInput` in http/exchange-h2.ts.
    const counted = (chunk: unknown, encoding?: BufferEncoding): boolean => {
      if (Buffer.isBuffer(chunk)) this.#came += chunk.length;
      else if (chunk === null && !stream.closed) this.#isWhole = true;
      const takesMore = push(chunk, encoding);
      joinUnread(stream);
      return takesMore;
    };
    stream.push = counted;
    const on = (event: string, listener: (...args: never[]) => void): void => {
      stream.on(event, guard(this, listener as (...args: readonly unknown[]) => void));
    };
    on("headers", () => {
      this.#interim += 1;
      if (this.#interim > MAX_INTERIM) this.fail("protocol", "the answer has too many interim answers");
    });
    on("response", (headers: Head, flags: number, raw: readonly string[]) => this.#head(headers, flags, raw));
    on("trailers", (_headers: Head, _flags: number, raw: readonly string[]) => {
      this.#trailers = raw;
      if (isTooLarge(this.#trailers)) this.fail("protocol", HEAD_TOO_LARGE);
    });
    on("data", (chunk: Buffer) => {
      this.#passedOn += chunk.length;
      if (!this.#isPaused) this.#deadline.wait(this.request.idleTimeoutMs);
      this.onData(chunk);
    });
    on("end", () => {
      if (this.#isWhole && this.#hasHead) this.onEnd(this.#trailers);
    });
    on("error", (error: Error) => (problem = error));
    on("close", () => this.#closed(stream, problem));
  }

  #head(headers: Head, flags: number, raw: readonly string[]): void {
    this.#hasHead = true;
    this.#deadline.wait(this.request.idleTimeoutMs);
    const isWhole = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (isTooLarge(raw)) return this.fail("protocol", HEAD_TOO_LARGE);
    const status = headers[":status"] ?? 0;
    if (!isFinalStatus(status)) return this.fail("protocol", `the answer has the status ${status}`);
    // ":status" comes first, and is the only pseudo-header.
    this.onHead(status, raw.slice(2), isWhole);
  }

  /** Handles a bug of ours: ends this response, not the process. */
  broke(error: unknown): void {
    reportFault({ scope: "request", what: "a call to an upstream", error });
    try {
      if (this.#finish()) {
        this.#cancel();
        discardBody(this.request);
      }
    } finally {
      // Also for a call that is over, if its receiver was not notified.
      const wasNotified = this.#isNotified;
      this.#isNotified = true;
      if (!wasNotified) this.#receiver.onFailure("protocol", `handling the answer failed: ${errorText(error)}`);
    }
  }

  /** Handles a close before the end, if the receiver was not notified. */
  #closed(stream: ClientHttp2Stream, error: NodeJS.ErrnoException | undefined): void {
    if (this.#isOver) return;
    if (this.#owner.isClosed) return this.fail("closed", "the transport was closed");
    const code = stream.rstCode;
    if (this.#isWhole && this.#hasHead) {
      // The response was complete, and the connection ended while the client was slow.
      const rest = takeUnread(stream);
      const left = rest.reduce((sum, piece) => sum + piece.length, 0);
      if (left === this.#came - this.#passedOn) return this.#giveRest((this.#rest = [...rest]));
    }
    if (code === NGHTTP2_REFUSED_STREAM && !this.#hasHead) return this.#refused();
    const text = error ? errorText(error) : `the upstream aborted its response, with code ${code}`;
    if (code === NGHTTP2_PROTOCOL_ERROR) this.fail("protocol", text);
    // The code that node:http2 sends for a head, or trailers, above our limit.
    else if (code === NGHTTP2_ENHANCE_YOUR_CALM) this.fail("protocol", `${text}, or its header fields are too many`);
    else this.fail(failureOfEstablished(error), text);
  }

  #giveRest(rest: Buffer[]): void {
    while (!this.#isPaused && !this.#isOver) {
      const piece = rest.shift();
      if (piece === undefined) this.onEnd(this.#trailers);
      else this.onData(piece);
    }
  }

  /** The upstream reports the request as unprocessed, which is equivalent to unsent (RFC 9113 §8.7). */
  #refused(): void {
    const { body } = this.request;
    const isWhole = body === undefined || Buffer.isBuffer(body);
    const isAtHand = isWhole || this.#sender?.release() === true;
    if (this.#wasRefused || !isAtHand) return this.fail("overloaded", "the upstream refused the request unseen");
    this.#wasRefused = true;
    this.#stream = undefined;
    this.#session = undefined;
    this.#sender = undefined;
    this.#isWhole = false;
    this.#deadline.rest();
    this.#owner.sendAgain(this);
  }

  #declaredLength(): number | undefined {
    const { headers } = this.request;
    const at = headers.findIndex((name, index) => index % 2 === 0 && name === "content-length");
    return at === -1 ? undefined : Number(headers[at + 1]);
  }

  #late(): void {
    // Other requests would wait as long: the system may take a quarter of an hour to drop the connection.
    this.#session?.leaveIfSilentSince(this.#heardBefore);
    this.fail("timeout", this.#hasHead ? "the answer stopped coming" : "no answer came in time");
  }

  #failSoon(failure: UpstreamFailure, detail: string): void {
    // Later, when the caller has the call.
    process.nextTick(guard(this, () => this.fail(failure, detail)));
  }

  #cancel(): void {
    this.#sender?.stop();
    this.#sender = undefined;
    const stream = this.#stream;
    if (stream === undefined) return;
    // Discard the rest of the response.
    stream.resume();
    resetSoon(stream);
  }

  /** @returns false when it was already over */
  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#deadline.close();
    this.#owner.leave();
    return true;
  }
}

/** Our settings have the same limit, but apply only once the upstream has acknowledged them. */
function isTooLarge(fields: readonly string[]): boolean {
  let bytes = 0;
  for (const text of fields) bytes += text.length + 2;
  return bytes > MAX_HEAD_BYTES;
}
