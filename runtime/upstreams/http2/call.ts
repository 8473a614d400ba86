/**
 * One request over HTTP/2, from the wait for a connection to the end of its answer: one state machine.
 *
 * Untrusted input: the upstream's answer. Promises: an answer counts as whole only with END_STREAM, which node:http2 does not
 * tell apart from RST_STREAM; only what the upstream says it has not looked at is sent a second time; whoever gives up, or
 * has his answer before his request was whole, leaves the upstream with RST_STREAM.
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
import { tellFault } from "../../shared/faults/faults.ts";
import { guard } from "../../shared/faults/guard.ts";

const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_PROTOCOL_ERROR, NGHTTP2_REFUSED_STREAM } = constants;

type Head = IncomingHttpHeaders & IncomingHttpStatusHeader;

export interface CallOwner {
  /** The transport is closed: what broke, broke by that. */
  readonly isClosed: boolean;
  /** Finds it another connection. */
  sendAgain(call: Call): void;
  /** It waits no longer. */
  forget(call: Call): void;
  /** It is over, whichever way. */
  leave(): void;
}

export class Call implements UpstreamCall, QueuedCall, UpstreamReceiver, BodyEvents {
  readonly request: UpstreamRequest;
  /** When it was sent, as of `performance.now()`. */
  readonly since: number;
  readonly #owner: CallOwner;
  readonly #receiver: UpstreamReceiver;
  readonly #deadline: Deadline = new Deadline(this, () => this.#late());
  #stream: ClientHttp2Stream | undefined;
  #session: Session | undefined;
  /** Bytes that had come on its connection when it was sent. */
  #heardBefore = 0;
  #sender: BodySender | undefined;
  /** Where it is a call over HTTP/1.1 after all. */
  #other: UpstreamCall | undefined;
  #interim = 0;
  #hasHead = false;
  /** END_STREAM has come. */
  #isWhole = false;
  /** Bytes of the body that have come, and that were given on. */
  #came = 0;
  #given = 0;
  /** Of a whole answer, what was left when its stream closed before it was read. */
  #rest: Buffer[] | undefined;
  #isPaused = false;
  #trailers: UpstreamHeaders | undefined;
  #wasRefused = false;
  #isOver = false;
  /** Its receiver has heard of the end, or wants to hear nothing. */
  #isTold = false;

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
    if (isStream && body.destroyed) return this.#failSoon("request-body", "the body broke off");
    try {
      // Of a whole body the trailers are known; of a stream nobody knows yet whether there will be any.
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
    // Of one that is just being closed `#closed()` takes what is left.
    if (this.#stream?.destroyed === false) this.#stream.resume();
    this.#other?.resume();
  }

  abort(): void {
    this.#isTold = true;
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
    this.#isTold = true;
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
    // An answer that came before the request was sent is the last word: nobody wants the rest.
    if (this.#sender !== undefined || this.#stream?.writableFinished === false) this.#cancel();
    this.#isTold = true;
    this.#receiver.onEnd(trailers);
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    this.fail(failure, detail);
  }

  onProgress(): void {
    // An upstream that takes the body is not silent, whether it has begun to answer or not.
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
    // The only place where END_STREAM shows: on RST_STREAM, and with the connection, the stream is closed before its end.
    stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
      if (Buffer.isBuffer(chunk)) this.#came += chunk.length;
      else if (chunk === null && !stream.closed) this.#isWhole = true;
      const takesMore = push(chunk, encoding);
      joinUnread(stream);
      return takesMore;
    };
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
      this.#given += chunk.length;
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
    // ":status" stands first, and alone.
    this.onHead(status, raw.slice(2), isWhole);
  }

  /** A mistake of ours in handling one answer ends that answer, not the process. */
  broke(error: unknown): void {
    tellFault({ scope: "request", what: "a call to an upstream", error });
    try {
      if (this.#finish()) {
        this.#cancel();
        discardBody(this.request);
      }
    } finally {
      // Also of a call that is over, where its receiver has not heard of that.
      const wasTold = this.#isTold;
      this.#isTold = true;
      if (!wasTold) this.#receiver.onFailure("protocol", `handling the answer failed: ${errorText(error)}`);
    }
  }

  /** Before its end, where nobody has heard of that. */
  #closed(stream: ClientHttp2Stream, error: NodeJS.ErrnoException | undefined): void {
    if (this.#isOver) return;
    if (this.#owner.isClosed) return this.fail("closed", "the transport was closed");
    const code = stream.rstCode;
    if (this.#isWhole && this.#hasHead) {
      // Whole it came, and the connection has ended since, while the client was slow.
      const rest = takeUnread(stream);
      const left = rest.reduce((sum, piece) => sum + piece.length, 0);
      if (left === this.#came - this.#given) return this.#giveRest((this.#rest = [...rest]));
    }
    if (code === NGHTTP2_REFUSED_STREAM && !this.#hasHead) return this.#refused();
    const text = error ? errorText(error) : `the upstream broke off its answer, with code ${code}`;
    if (code === NGHTTP2_PROTOCOL_ERROR) this.fail("protocol", text);
    // What node:http2 says to a head, or trailers, past our bound.
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

  /** The upstream says that it has not looked at it, which is as good as not sent (RFC 9113 §8.7). */
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
    // Others would wait as long: until the system gives the connection up a quarter of an hour may pass.
    this.#session?.leaveIfSilentSince(this.#heardBefore);
    this.fail("timeout", this.#hasHead ? "the answer stopped coming" : "no answer came in time");
  }

  #failSoon(failure: UpstreamFailure, detail: string): void {
    // The caller has the call in hand by then.
    process.nextTick(guard(this, () => this.fail(failure, detail)));
  }

  #cancel(): void {
    this.#sender?.stop();
    this.#sender = undefined;
    const stream = this.#stream;
    if (stream === undefined) return;
    // What comes of the answer is nobody's.
    stream.resume();
    resetSoon(stream);
  }

  /** @returns false when it was over before */
  #finish(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#deadline.close();
    this.#owner.leave();
    return true;
  }
}

/** Our settings bound it, too, but hold only once the upstream has acknowledged them. */
function isTooLarge(fields: readonly string[]): boolean {
  let bytes = 0;
  for (const text of fields) bytes += text.length + 2;
  return bytes > MAX_HEAD_BYTES;
}
