/**
 * One HTTP/2 connection to an upstream: it opens, carries many requests at the same time, and ends.
 *
 * Over node:http2. Untrusted input: the upstream's frames, which nghttp2 reads. Promises: no request starts on a connection
 * whose certificate was not verified, or that accepts no more requests; every request on it is notified of its end.
 */
import { connect as connectHttp2, type ClientHttp2Session, type ClientHttp2Stream, type Settings } from "node:http2";
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";

import type { Upstream } from "../../features/connection/compiled.ts";
import { errorText } from "../../shared/errors.ts";
import { Deadline } from "../deadline.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { MAX_FIELDS, MAX_HEAD_BYTES } from "../http1/reader.ts";
import { MAX_STREAMS } from "../transport-limits.ts";
import { failureOfOpening } from "../failure.ts";
import { openUpstreamSocket } from "../upstream-socket.ts";
import { reportFault } from "../../shared/faults/faults.ts";
import { guard } from "../../shared/faults/guard.ts";

export interface SessionOwner {
  readonly upstream: Upstream;
  readonly connectTimeoutMs: number;
  /** Session of the latest completely valid handshake. */
  tlsSession: Buffer | undefined;
  /** The upstream's latest limit, at least 1, for connections whose SETTINGS have not come. */
  maxStreams: number;
  /** It is established and can take requests. */
  onReady(session: Session): void;
  /** It can take more than before. */
  onRoom(session: Session): void;
  /** The upstream wants HTTP/1.1; `onGone` follows. */
  onHttp1(): void;
  /** It accepts no more requests; those on it are notified of their own end. */
  onFull(session: Session): void;
  onGone(session: Session, wasReady: boolean): void;
  /** After `onGone`: the connection was never established. @param since start of the attempt, by `performance.now()` */
  onUnreachable(failure: UpstreamFailure, detail: string, since: number): void;
}

/** Lifetime of an idle connection; many servers close theirs after 5 s. */
const IDLE_MS = 4_000;
/** Most bytes of one response before its client reads them, and of all responses before we read them. */
const STREAM_WINDOW_BYTES = 262_144;
const SESSION_WINDOW_BYTES = 1_048_576;
/** Limit of node:http2's memory for one connection, in MB (its unit): all windows, and as much for output. */
const MAX_MEMORY_MB = 64;
/**
 * Single-value headers are checked before; node:http2 would also throw for a client's second User-Agent. Its types have this
 * option only for servers.
 */
const AS_THEY_ARE = { strictSingleValueFields: false };

export class Session {
  /** Time, by `performance.now()`, from which it has been idle too long; meaningful without streams. */
  idleUntil = Number.POSITIVE_INFINITY;
  readonly #owner: SessionOwner;
  readonly #socket: Socket;
  readonly #since: number = performance.now();
  readonly #deadline: Deadline = new Deadline(this, () => this.#fail("connect-timeout", "no connection in time"));
  #http2: ClientHttp2Session | undefined;
  #streams = 0;
  /** The upstream's limit, which may change. */
  #maxStreams: number;
  #takesNoMore = false;
  #error: Error | undefined;
  #isGone = false;

  /** @throws for unusable TLS settings, and for addresses that are not allowed */
  constructor(owner: SessionOwner) {
    this.#owner = owner;
    this.#maxStreams = owner.maxStreams;
    const { socket, ready } = openUpstreamSocket(owner.upstream, {
      alpn: ["h2", "http/1.1"],
      tlsSession: owner.tlsSession,
    });
    this.#socket = socket;
    socket.on(
      "error",
      guard(this, (error: Error) => (this.#error ??= error)),
    );
    socket.once(
      "close",
      guard(this, () => this.#closed()),
    );
    // Node emits it only after the certificate is verified: a resumed session does not verify it again.
    socket.on(
      "session",
      guard(this, (session: Buffer) => (owner.tlsSession = session)),
    );
    socket.once(
      ready,
      guard(this, () => this.#connected()),
    );
    this.#deadline.wait(owner.connectTimeoutMs);
  }

  get hasRoom(): boolean {
    const http2 = this.#http2;
    const isOpen = http2 !== undefined && !http2.closed && !http2.destroyed && !this.#takesNoMore;
    return isOpen && this.#streams < this.#maxStreams;
  }

  get isIdle(): boolean {
    return this.#http2 !== undefined && this.#streams === 0;
  }

  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** Accepts no more requests if nothing at all has come since. @param bytesRead count at that time */
  leaveIfSilentSince(bytesRead: number): void {
    if (this.#isGone || this.#takesNoMore || this.bytesRead !== bytesRead) return;
    this.#takesNoMore = true;
    this.#owner.onFull(this);
  }

  /** Only while it has room. @param head flat, pseudo-headers first @throws for an invalid head */
  request(head: readonly string[], options: { endStream: boolean; waitForTrailers: boolean }): ClientHttp2Stream {
    const http2 = this.#http2 as ClientHttp2Session;
    const stream = http2.request(head, options);
    this.#streams += 1;
    this.idleUntil = Number.POSITIVE_INFINITY;
    stream.once(
      "close",
      guard(this, () => this.#streamClosed()),
    );
    return stream;
  }

  /** Ends it; requests on it are notified. */
  destroy(): void {
    // First: the pool must not use it for other requests.
    this.#gone();
    this.#http2?.destroy();
    this.#socket.destroy();
  }

  /** Handles a bug of ours: requests on it are notified of its end. */
  broke(error: unknown): void {
    reportFault({ scope: "request", what: "a connection to an upstream", error });
    this.#fail("protocol", `handling the connection failed: ${errorText(error)}`);
  }

  #connected(): void {
    if (this.#isGone) return;
    const { upstream } = this.#owner;
    if (this.#socket instanceof TLSSocket && this.#socket.alpnProtocol !== "h2") {
      this.#owner.onHttp1();
      this.destroy();
      return;
    }
    this.#deadline.close();
    const http2 = connectHttp2(upstream.origin, {
      createConnection: () => this.#socket,
      settings: { enablePush: false, initialWindowSize: STREAM_WINDOW_BYTES, maxHeaderListSize: MAX_HEAD_BYTES },
      maxHeaderListPairs: MAX_FIELDS,
      maxSessionMemory: MAX_MEMORY_MB,
      maxReservedRemoteStreams: 0,
      ...AS_THEY_ARE,
    });
    this.#http2 = http2;
    http2.on(
      "error",
      guard(this, (error: Error) => (this.#error ??= error)),
    );
    http2.once(
      "close",
      guard(this, () => this.#closed()),
    );
    // Its streams may continue; node:http2 starts no others.
    http2.once(
      "goaway",
      guard(this, () => this.#owner.onFull(this)),
    );
    http2.on(
      "remoteSettings",
      guard(this, ({ maxConcurrentStreams = MAX_STREAMS }: Settings) => {
        this.#maxStreams = Math.min(maxConcurrentStreams, MAX_STREAMS);
        this.#owner.maxStreams = Math.max(this.#maxStreams, 1);
        if (this.hasRoom) this.#owner.onRoom(this);
      }),
    );
    http2.once(
      "connect",
      guard(this, () => http2.setLocalWindowSize(SESSION_WINDOW_BYTES)),
    );
    this.idleUntil = performance.now() + IDLE_MS;
    this.#owner.onReady(this);
  }

  #streamClosed(): void {
    this.#streams -= 1;
    if (this.#isGone) return;
    if (this.#streams === 0) this.idleUntil = performance.now() + IDLE_MS;
    if (this.hasRoom) this.#owner.onRoom(this);
  }

  #closed(): void {
    const error = this.#error;
    this.#fail(failureOfOpening(error), error ? errorText(error) : "the upstream closed the connection");
  }

  /** The reason is for requests that wait for it; requests on it have their own. */
  #fail(failure: UpstreamFailure, detail: string): void {
    if (this.#isGone) return;
    const wasReady = this.#http2 !== undefined;
    this.destroy();
    if (!wasReady) this.#owner.onUnreachable(failure, detail, this.#since);
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    this.#deadline.close();
    // The TLS session may be the cause: do not resume it again.
    if (this.#http2 === undefined) this.#owner.tlsSession = undefined;
    this.#owner.onGone(this, this.#http2 !== undefined);
  }
}
