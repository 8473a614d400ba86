/**
 * One HTTP/1.1 connection to an upstream: at most one request at a time, the next one after the whole answer.
 *
 * Untrusted input: the upstream's bytes. Promises: an answer goes to the request that was sent last on this connection,
 * and to nobody when bytes come unasked; a connection about which anything is in doubt is not used again.
 */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { UpstreamConnect } from "../../config/compiled.ts";
import { errorText } from "../../errors.ts";
import type { UpstreamFailure, UpstreamRequest } from "../forward-transport.ts";
import { failureOf } from "../upstream-failure.ts";
import { AnswerReader, type AnswerSink } from "./reader.ts";
import { BodySender, writeRequest, type BodyEvents } from "./writer.ts";

/** Whose request is on the connection. */
export interface ConnectionUser {
  readonly request: UpstreamRequest;
  onHead(status: number, headers: string[]): void;
  onData(chunk: Buffer): void;
  onEnd(): void;
  fail(failure: UpstreamFailure, detail: string): void;
}

export interface ConnectionOwner {
  readonly address: Address;
  readonly connectTimeoutMs: number;
  /** There is a connection; `onIdle` follows. */
  onConnected(): void;
  /** It can take a request. */
  onIdle(connection: Connection): void;
  /** It will take none any more. Its user, if it has one, hears of that by itself. */
  onGone(connection: Connection, wasConnected: boolean): void;
  /** After `onGone`: there never was a connection. */
  onUnreachable(failure: UpstreamFailure, detail: string): void;
}

/** What all connections of one upstream have in common. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly secure: boolean;
  /** For TLS: the certificate is asked for and checked against the host of `to`, whatever Host says. */
  readonly serverName: string | undefined;
  readonly tls: UpstreamConnect["tls"] | undefined;
  /** Of the latest handshake: the next one is shorter. */
  tlsSession: Buffer | undefined;
}

/**
 * Clear connections read into one buffer: each read is finished with, or copied, before the next one of any connection.
 * Connections over TLS have chunks of their own, for decrypting may hand over bytes in the middle of a write.
 */
const SHARED = Buffer.allocUnsafeSlow(65_536);
/** As long as an idle connection is kept that names no end of its own; many servers close theirs after 5 s. */
const IDLE_MS = 4_000;
/** An upstream that names its end may be closing while we send: we end before it does. */
const IDLE_MARGIN_MS = 1_000;
const MAX_IDLE_MS = 600_000;
const PROBE_AFTER_MS = 60_000;

export class Connection implements AnswerSink, BodyEvents {
  /** Since `performance.now()` had this value it has been too old to be used; meaningful while idle. */
  idleUntil = 0;
  readonly #owner: ConnectionOwner;
  readonly #socket: Socket;
  readonly #reader: AnswerReader = new AnswerReader(this);
  readonly #secure: boolean;
  #user: ConnectionUser | undefined;
  #sender: BodySender | undefined;
  #isReady = false;
  #isGone = false;
  #isPaused = false;
  #error: Error | undefined;
  /** What the present wait is for: the head or the next bytes of the answer, and until when. */
  #deadline = Number.POSITIVE_INFINITY;
  #idleTimeoutMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #timerAt = Number.POSITIVE_INFINITY;

  constructor(owner: ConnectionOwner) {
    this.#owner = owner;
    const { address } = owner;
    this.#secure = address.secure;
    const options = {
      host: address.host,
      port: address.port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: PROBE_AFTER_MS,
    };
    if (address.secure) {
      const socket = connectTls({
        ...options,
        ALPNProtocols: ["http/1.1"],
        ...(address.serverName !== undefined && { servername: address.serverName }),
        ...(address.tlsSession !== undefined && { session: address.tlsSession }),
        ...address.tls,
      });
      socket.on("session", (session: Buffer) => (address.tlsSession = session));
      socket.once("secureConnect", () => this.#ready());
      socket.on("data", (chunk: Buffer) => this.#read(chunk, chunk.length));
      this.#socket = socket;
    } else {
      const socket = connectTcp({
        ...options,
        onread: {
          buffer: SHARED,
          callback: (length, bytes) => {
            this.#read(bytes as Buffer, length);
            return true;
          },
        },
      });
      socket.once("connect", () => this.#ready());
      this.#socket = socket;
    }
    this.#socket.on("error", (error: Error) => (this.#error = error));
    this.#socket.on("end", () => this.#ended());
    this.#socket.on("close", () => this.#closed());
    this.#wait(owner.connectTimeoutMs);
  }

  /** Sends a request; only while idle. */
  begin(user: ConnectionUser): void {
    const { request } = user;
    let written;
    try {
      written = writeRequest(request);
    } catch (error) {
      user.fail("protocol", errorText(error));
      this.#release();
      return;
    }
    this.#user = user;
    this.#idleTimeoutMs = request.idleTimeoutMs;
    this.#reader.begin(request.method);
    this.#wait(request.headTimeoutMs);
    const socket = this.#socket;
    if (written.body === undefined) socket.write(written.text, "latin1");
    else {
      socket.cork();
      socket.write(written.text, "latin1");
      socket.write(written.body);
      socket.uncork();
    }
    if (written.stream) this.#sender = new BodySender(socket, written.stream, written.streamLength, this);
  }

  pause(): void {
    if (this.#isPaused) return;
    this.#isPaused = true;
    // The client is slow, not the upstream.
    this.#deadline = Number.POSITIVE_INFINITY;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#wait(this.#idleTimeoutMs);
    this.#socket.resume();
  }

  /** Ends it, whatever is under way; its user hears nothing more. */
  destroy(): void {
    this.#user = undefined;
    this.#socket.destroy();
    this.#gone();
  }

  /** The same, and its user hears of it. */
  fail(failure: UpstreamFailure, detail: string): void {
    const user = this.#user;
    this.destroy();
    user?.fail(failure, detail);
  }

  onHead(status: number, headers: string[]): void {
    if (this.#user === undefined) return;
    this.#wait(this.#idleTimeoutMs);
    this.#user.onHead(status, headers);
  }

  onData(chunk: Buffer): void {
    // The receiver may keep it; the buffer it lies in is read into again.
    this.#user?.onData(this.#secure ? chunk : Buffer.from(chunk));
  }

  onEnd(): void {
    const user = this.#user;
    if (user === undefined) return;
    this.#user = undefined;
    // An answer that came before the request was sent is the last one here: what is left would be read as the next request.
    if (this.#reader.keepsOpen && this.#sender === undefined) this.#release();
    else this.destroy();
    user.onEnd();
  }

  onProgress(): void {
    if (this.#reader.isUntouched && this.#user !== undefined) this.#wait(this.#user.request.headTimeoutMs);
  }

  onSent(): void {
    this.#sender = undefined;
  }

  onBroken(error: Error): void {
    this.#sender = undefined;
    this.fail("request-body", errorText(error));
  }

  #ready(): void {
    if (this.#isGone) return;
    this.#isReady = true;
    this.#owner.onConnected();
    this.#release();
  }

  /** Makes it free for the next request. */
  #release(): void {
    this.#deadline = Number.POSITIVE_INFINITY;
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#socket.resume();
    }
    const said = this.#reader.idleMs;
    const idleMs = said === undefined ? IDLE_MS : Math.min(said, MAX_IDLE_MS) - IDLE_MARGIN_MS;
    if (idleMs <= 0) {
      this.destroy();
      return;
    }
    this.idleUntil = performance.now() + idleMs;
    this.#owner.onIdle(this);
  }

  #read(bytes: Buffer, length: number): void {
    if (this.#isGone) return;
    if (this.#user === undefined) {
      // Bytes that nobody asked for: a farewell, or the beginning of an answer for somebody else.
      this.destroy();
      return;
    }
    if (!this.#isPaused) this.#extend();
    try {
      const problem = this.#reader.read(bytes, length);
      if (problem !== undefined) this.fail("protocol", `the upstream's answer is refused: ${problem}`);
    } catch (error) {
      // A mistake of ours in handling one answer ends that answer, not the process.
      this.fail("protocol", `handling the answer failed: ${errorText(error)}`);
    }
  }

  /** Bytes have come; while the head is awaited that changes nothing, or a slow head could last for ever. */
  #extend(): void {
    if (this.#reader.isInBody && this.#idleTimeoutMs > 0) this.#deadline = performance.now() + this.#idleTimeoutMs;
  }

  #ended(): void {
    if (this.#isGone) return;
    // An answer without a length ends here; the sink hears of it.
    if (this.#user === undefined || this.#reader.close()) this.destroy();
    else this.fail("reset", "the upstream closed the connection in the middle of an answer");
  }

  #closed(): void {
    if (this.#isGone) return;
    const error = this.#error;
    if (!this.#isReady) {
      this.#gone();
      this.#owner.onUnreachable(error ? failureOf(error) : "reset", error ? errorText(error) : CLOSED);
      return;
    }
    this.fail(error ? failureOf(error) : "reset", error ? errorText(error) : CLOSED);
  }

  #gone(): void {
    if (this.#isGone) return;
    this.#isGone = true;
    clearTimeout(this.#timer);
    this.#sender?.stop();
    this.#sender = undefined;
    this.#owner.onGone(this, this.#isReady);
  }

  /** @param ms 0: without limit */
  #wait(ms: number): void {
    if (ms === 0) {
      this.#deadline = Number.POSITIVE_INFINITY;
      return;
    }
    const now = performance.now();
    this.#deadline = now + ms;
    // A timer that rings too early looks at the deadline again: most requests need none of their own.
    if (this.#timerAt > this.#deadline) this.#arm(ms);
  }

  #arm(ms: number): void {
    clearTimeout(this.#timer);
    this.#timerAt = performance.now() + ms;
    this.#timer = setTimeout(() => this.#ring(), Math.ceil(ms));
    this.#timer.unref();
  }

  #ring(): void {
    this.#timerAt = Number.POSITIVE_INFINITY;
    if (this.#deadline === Number.POSITIVE_INFINITY) return;
    const left = this.#deadline - performance.now();
    if (left > 0) {
      this.#arm(left);
      return;
    }
    if (this.#isReady) {
      this.fail("timeout", this.#reader.isInBody ? "the answer stopped coming" : "no answer came in time");
      return;
    }
    this.#socket.destroy();
    this.#gone();
    this.#owner.onUnreachable("connect-timeout", "no connection in time");
  }
}

const CLOSED = "the upstream closed the connection";
