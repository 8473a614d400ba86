/** The Exchange over one HTTP/2 stream. accept-h2.ts has checked its head. */
import { constants, type ServerHttp2Stream, type ServerStreamResponseOptions } from "node:http2";
import type { Duplex, Readable } from "node:stream";

import type { Http2Head } from "./listener/accept-h2.ts";
import type { ClientCertificate } from "./listener/client-certificate.ts";
import type { Exchange } from "./exchange.ts";
import { trailerObject } from "../shared/http/trailers.ts";
import { joinUnread } from "../shared/http/unread.ts";
import { guard, guardSocket } from "../shared/faults/guard.ts";
import { headerTraits } from "../shared/http/header-traits.ts";
import { PendingWrites } from "../shared/http/pending-writes.ts";
import { ReceivedRequest } from "./received-request.ts";

/** State shared by the streams of one connection. */
export interface Http2Peer {
  readonly secure: boolean;
  readonly serverName: string | undefined;
  readonly remoteAddress: string;
  readonly clientCertificate: ClientCertificate | undefined;
}

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;
const NONE: readonly string[] = [];
const CONTINUE = { ":status": 100 } as const;

export class Http2Exchange extends ReceivedRequest implements Exchange {
  readonly secure: boolean;
  readonly serverName: string | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
  status = 0;
  readonly httpVersion = "2";
  trailers: readonly string[] = NONE;
  readonly #stream: ServerHttp2Stream;
  readonly #peerAddress: string;
  #awaitsContinue: boolean;
  #writes: PendingWrites | undefined;
  #answerTrailers: readonly string[] = NONE;
  /** We ended it. At RST_STREAM with NO_ERROR node:http2 also ends the response, complete or not. */
  #isEnded = false;

  constructor(stream: ServerHttp2Stream, peer: Http2Peer, head: Omit<Http2Head, "ok">, hasBody: boolean) {
    // After an extended CONNECT come messages, not a body.
    super(head.method, head, head.rawHeaders, head.headerTraits, hasBody && !head.isWebSocket);
    this.secure = peer.secure;
    this.serverName = peer.serverName;
    this.#peerAddress = peer.remoteAddress;
    this.clientCertificate = peer.clientCertificate;
    this.#stream = stream;
    this.#awaitsContinue = this.hasBody && head.awaitsContinue;
    if (hasBody) guardInput(stream, this.hasBody, (bytes) => this.holdUnread(bytes));
    if (this.hasBody) {
      // Listen now: trailers may come before the body is read.
      stream.once(
        "trailers",
        guard(this, (_headers: unknown, _flags: unknown, raw: unknown) => {
          this.trailers = raw as readonly string[];
        }),
      );
    }
    this.upgrade = head.isWebSocket
      ? { protocol: "websocket", accept: (headers) => this.#acceptWebSocket(headers) }
      : undefined;
  }

  get remoteAddress(): string {
    return this.forwardedFor === undefined ? this.#peerAddress : this.forwardedFor.address;
  }

  /** The first access tells a waiting client to send the body (RFC 9110 §10.1.1). */
  get body(): Readable {
    const stream = this.#stream;
    if (this.#awaitsContinue) {
      this.#awaitsContinue = false;
      if (!this.started && !stream.destroyed && !stream.closed) stream.additionalHeaders(CONTINUE);
    }
    return stream;
  }

  start(status: number, headers: readonly string[], mayTrail = false): void {
    this.#head(status, headers, mayTrail ? { waitForTrailers: true } : undefined);
    if (mayTrail) this.#awaitTrailers();
  }

  write(chunk: Buffer | string): boolean {
    if (!this.#isWritable) return true;
    this.#writes ??= new PendingWrites(this.#stream);
    const takesMore = this.#writes.write(chunk);
    if (!takesMore) this.countUnsent();
    return takesMore;
  }

  onDrain(listener: () => void): void {
    this.#stream.once("drain", guard(this, listener));
  }

  end(chunk?: Buffer | string, trailers: readonly string[] = NONE): void {
    const stream = this.#stream;
    this.#answerTrailers = trailers;
    this.#isEnded = true;
    if (this.#isWritable) {
      if (chunk === undefined || chunk.length === 0) stream.end();
      else {
        stream.end(chunk);
        this.countUnsent();
      }
    }
    // The response is complete, and the rest of the body, or of a handshake's messages, is not wanted. RST_STREAM with
    // NO_ERROR says so (RFC 9113 §8.1). Without it a client that never ends its side keeps the stream.
    if ((this.hasBody || this.upgrade !== undefined) && !stream.readableEnded)
      setImmediate(guard(this, () => this.#resetBehindEnd(1)));
  }

  respond(status: number, headers: readonly string[], body?: Buffer | string, trailers?: readonly string[]): void {
    const mayTrail = trailers !== undefined && trailers.length > 0;
    if (mayTrail || (body !== undefined && body.length > 0)) this.start(status, headers, mayTrail);
    else this.#head(status, headers, { endStream: true });
    this.end(body, trailers);
  }

  abort(): void {
    // Not `close`, which ends the body first: an aborted response must not look complete.
    abortStream(this.#stream);
  }

  onClose(listener: (complete: boolean) => void): void {
    const stream = this.#stream;
    const notify = (): void =>
      listener(this.#isEnded && stream.writableFinished && stream.rstCode === NGHTTP2_NO_ERROR);
    if (stream.destroyed) process.nextTick(guard(this, notify));
    else stream.once("close", guard(this, notify));
  }

  /** Bounds unsent bytes: the client's window may be as small as it likes. */
  countUnsent(): void {
    if (!this.holdUnsent(this.#stream.writableLength)) abortStream(this.#stream);
  }

  over(): void {
    this.giveBack();
  }

  /** False after a response head without body, which also ended the stream. */
  get #isWritable(): boolean {
    return !this.#stream.writableEnded && !this.#stream.destroyed;
  }

  #head(status: number, headers: readonly string[], options: ServerStreamResponseOptions | undefined): void {
    this.started = true;
    this.status = status;
    // The client left while the gateway waited. The close event reports it.
    if (this.#stream.closed || this.#stream.destroyed) return;
    const lower: string[] = [":status", String(status)];
    for (let index = 0; index < headers.length; index += 2) {
      const traits = headerTraits(headers[index] as string);
      // Headers about HTTP/1.1 connections make an HTTP/2 message malformed (RFC 9113 §8.2.2).
      if (!traits.dropFromResponse) lower.push(traits.lower, headers[index + 1] as string);
    }
    this.#stream.respond(lower, options);
  }

  /**
   * Sends RST_STREAM with NO_ERROR after END_STREAM has left; sent earlier, it would drop the end of the response. An early
   * `close()` does not work either: a later `abort()` could not undo it, and node:http2 would send empty frames forever.
   */
  #resetBehindEnd(nextLookMs: number): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    if (stream.state.localClose === 1) stream.close(NGHTTP2_NO_ERROR);
    else
      setTimeout(
        guard(this, () => this.#resetBehindEnd(Math.min(2 * nextLookMs, MAX_LOOK_MS))),
        nextLookMs,
      ).unref();
  }

  #awaitTrailers(): void {
    const stream = this.#stream;
    // The trailers were checked before. If node:http2 rejects them anyway, abort: the response must not look complete without
    // them.
    stream.once(
      "wantTrailers",
      guard(this, () => stream.sendTrailers(trailerObject(this.#answerTrailers))),
    );
  }

  #acceptWebSocket(headers: readonly string[]): Duplex {
    this.start(200, headers);
    // The caller ends the stream from now on.
    this.#isEnded = true;
    return this.#stream;
  }
}

/**
 * Bounds unread input, however small its pieces. Also ensures that only END_STREAM ends a body: at RST_STREAM with NO_ERROR
 * node:http2 would end it as well, and a part would look complete.
 */
function guardInput(stream: ServerHttp2Stream, isBody: boolean, hold: (bytes: number) => boolean): void {
  const push = stream.push.bind(stream);
  // V8 puts a function into its old space that is written where it is assigned to a member. It would keep the request there.
  const guarded = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    if (isBody && chunk === null && stream.closed) {
      // Later, since node:http2 still uses the stream after this call.
      process.nextTick(guardSocket(cuttingStream(stream), () => stream.destroy()));
      return false;
    }
    const takesMore = push(chunk, encoding);
    joinUnread(stream);
    if (!hold(stream.readableLength)) abortStream(stream);
    return takesMore;
  };
  stream.push = guarded;
}

/** Longest time between two checks of a client that does not read its response. */
const MAX_LOOK_MS = 5_000;

/** Ends a stream with RST_STREAM, without ending its body first. */
export function abortStream(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.destroy(new StreamAborted());
}

/** For `guardSocket()`: a stream that is only destroyed ends with NO_ERROR, and a truncated answer would look complete. */
export function cuttingStream(stream: ServerHttp2Stream): { destroy(): void } {
  return { destroy: () => abortStream(stream) };
}

export function wasAborted(stream: ServerHttp2Stream): boolean {
  return stream.errored instanceof StreamAborted;
}

/** node:http2 sends INTERNAL_ERROR for any error that a stream is destroyed with. */
class StreamAborted extends Error {
  readonly code = NGHTTP2_INTERNAL_ERROR;
}
