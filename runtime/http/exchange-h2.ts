/** The Exchange over one stream of HTTP/2. accept-h2.ts has judged its head before. */
import { constants, type ServerHttp2Stream } from "node:http2";
import type { Duplex, Readable } from "node:stream";

import type { Http2Head } from "./listener/accept-h2.ts";
import type { AddedHeaders } from "../features/headers/apply-added.ts";
import type { ClientCertificate } from "./listener/client-certificate.ts";
import type { Exchange, UpgradeOffer } from "./exchange.ts";
import type { ForwardedFor } from "./listener/forwarded-for.ts";
import { allHeaders, findHeader } from "../shared/http/header-lookup.ts";
import { headerTraits, type HeaderTraits } from "../shared/http/header-traits.ts";
import { createRequestId } from "../shared/http/request-id.ts";

/** What the streams of one connection have in common. */
export interface Http2Peer {
  readonly remoteAddress: string;
  readonly clientCertificate: ClientCertificate | undefined;
}

const { NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;

export class Http2Exchange implements Exchange {
  readonly id: string = createRequestId();
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly host: string;
  readonly secure = true;
  readonly clientCertificate: ClientCertificate | undefined;
  readonly rawHeaders: readonly string[];
  readonly headerTraits: readonly HeaderTraits[];
  readonly hasBody: boolean;
  readonly upgrade: UpgradeOffer | undefined;
  forwardedFor: ForwardedFor | undefined;
  addedHeaders: AddedHeaders | undefined;
  started = false;
  status = 0;
  readonly #stream: ServerHttp2Stream;
  readonly #peerAddress: string;

  constructor(stream: ServerHttp2Stream, peer: Http2Peer, head: Omit<Http2Head, "ok">, hasBody: boolean) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.host = head.host;
    this.rawHeaders = head.rawHeaders;
    this.headerTraits = head.headerTraits;
    this.#peerAddress = peer.remoteAddress;
    this.clientCertificate = peer.clientCertificate;
    // What follows an extended CONNECT are messages, not a body.
    this.hasBody = hasBody && !head.isWebSocket;
    this.#stream = stream;
    this.upgrade = head.isWebSocket
      ? { protocol: "websocket", accept: (headers) => this.#acceptWebSocket(headers) }
      : undefined;
  }

  get remoteAddress(): string {
    return this.forwardedFor === undefined ? this.#peerAddress : this.forwardedFor.address;
  }

  get body(): Readable {
    return this.#stream;
  }

  header(lowerName: string): string | undefined {
    return findHeader(this.rawHeaders, lowerName);
  }

  headerValues(lowerName: string): readonly string[] {
    return allHeaders(this.rawHeaders, lowerName);
  }

  start(status: number, headers: readonly string[]): void {
    this.started = true;
    this.status = status;
    // Gone while somebody was waited for; the close event tells.
    if (this.#stream.closed || this.#stream.destroyed) return;
    const lower: string[] = [":status", String(status)];
    for (let index = 0; index < headers.length; index += 2) {
      const traits = headerTraits(headers[index] as string);
      // About connections of HTTP/1.1; in HTTP/2 they make a message malformed (RFC 9113 §8.2.2).
      if (!traits.dropFromResponse) lower.push(traits.lower, headers[index + 1] as string);
    }
    this.#stream.respond(lower);
  }

  write(chunk: Buffer | string): boolean {
    return this.#isWritable ? this.#stream.write(chunk) : true;
  }

  onDrain(listener: () => void): void {
    this.#stream.once("drain", listener);
  }

  end(chunk?: Buffer | string): void {
    const stream = this.#stream;
    if (this.#isWritable) {
      if (chunk === undefined || chunk.length === 0) stream.end();
      else stream.end(chunk);
    }
    // The answer is whole and the rest of the body, or of a handshake's messages, not wanted: RST_STREAM with NO_ERROR
    // says so (RFC 9113 §8.1). Without it a client that never ends its side keeps the stream.
    if ((this.hasBody || this.upgrade !== undefined) && !stream.readableEnded) stream.close(NGHTTP2_NO_ERROR);
  }

  respond(status: number, headers: readonly string[], body?: Buffer | string): void {
    this.start(status, headers);
    this.end(body);
  }

  abort(): void {
    // Not `close`, which ends the body first: an answer that breaks off must not look complete.
    abortStream(this.#stream);
  }

  onClose(listener: (complete: boolean) => void): void {
    const stream = this.#stream;
    const tell = (): void => listener(stream.writableFinished && stream.rstCode === NGHTTP2_NO_ERROR);
    if (stream.destroyed) process.nextTick(tell);
    else stream.once("close", tell);
  }

  /** False after the head of an answer that has no body, which ends the stream by itself. */
  get #isWritable(): boolean {
    return !this.#stream.writableEnded && !this.#stream.destroyed;
  }

  #acceptWebSocket(headers: readonly string[]): Duplex {
    this.start(200, headers);
    return this.#stream;
  }
}

/** Ends a stream with RST_STREAM, without an end of its body before. */
export function abortStream(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.destroy(new StreamAborted());
}

/** node:http2 makes INTERNAL_ERROR of whatever a stream is destroyed with. */
class StreamAborted extends Error {
  readonly code = NGHTTP2_INTERNAL_ERROR;
}
