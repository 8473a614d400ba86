/**
 * Sends a request's body upstream as its bytes come, at the speed of the connection, over either version of HTTP.
 *
 * Promise: a body that is aborted, or has another length than declared, never looks complete.
 */
import { ignore } from "../shared/ignore.ts";
import type { Readable, Writable } from "node:stream";
import { guard, type Guarded } from "../shared/faults/guard.ts";

/** The connection's side: framing. */
export interface BodySink {
  /** Emits "drain" when it accepts more. */
  readonly target: Writable;
  /** @param chunk not empty @returns false if the caller should wait for "drain" */
  write(chunk: Buffer): boolean;
  /** @param trailers flat @throws for invalid trailers */
  end(trailers: readonly string[]): void;
}

export interface BodyEvents extends Guarded {
  onProgress(): void;
  /** The whole body has been handed over. */
  onSent(): void;
  onBroken(error: Error): void;
}

export class BodySender implements Guarded {
  readonly #sink: BodySink;
  readonly #stream: Readable;
  readonly #length: number | undefined;
  readonly #trailers: (() => readonly string[]) | undefined;
  readonly #events: BodyEvents;
  #sent = 0;
  #isOver = false;

  /** @param length as declared; undefined: the end marks it @param trailers see `UpstreamRequest` */
  constructor(
    sink: BodySink,
    stream: Readable,
    length: number | undefined,
    trailers: (() => readonly string[]) | undefined,
    events: BodyEvents,
  ) {
    this.#sink = sink;
    this.#stream = stream;
    this.#length = length;
    this.#trailers = trailers;
    this.#events = events;
    stream.on("data", this.#onData);
    stream.on("end", this.#onEnd);
    stream.on("error", this.#onError);
    stream.on("close", this.#onClose);
  }

  /** Stops sending, and destroys the stream. */
  stop(): void {
    if (this.#leave()) this.#discard();
  }

  /** Leaves the stream to another sender. @returns false when part of it was sent already */
  release(): boolean {
    if (this.#sent > 0 || !this.#leave()) return false;
    this.#stream.pause();
    return true;
  }

  readonly #onData = guard(this, (chunk: Buffer): void => {
    if (chunk.length === 0) return;
    this.#sent += chunk.length;
    if (this.#length !== undefined && this.#sent > this.#length) {
      this.#fail(new Error("the body is longer than its Content-Length"));
      return;
    }
    this.#events.onProgress();
    if (this.#sink.write(chunk)) return;
    this.#stream.pause();
    this.#sink.target.once("drain", this.#onDrain);
  });

  readonly #onDrain = guard(this, (): void => {
    this.#events.onProgress();
    this.#stream.resume();
  });

  readonly #onEnd = guard(this, (): void => {
    if (this.#length !== undefined && this.#sent !== this.#length) {
      this.#fail(new Error("the body is shorter than its Content-Length"));
      return;
    }
    try {
      this.#sink.end(this.#trailers?.() ?? NOTHING);
    } catch (error) {
      this.#fail(error as Error);
      return;
    }
    if (this.#leave()) this.#events.onSent();
  });

  readonly #onError = guard(this, (error: Error): void => this.#fail(error));

  readonly #onClose = guard(this, (): void => this.#fail(new Error("the body was truncated")));

  broke(error: unknown): void {
    this.#events.broke(error);
  }

  #fail(error: Error): void {
    if (!this.#leave()) return;
    this.#discard();
    this.#events.onBroken(error);
  }

  #discard(): void {
    this.#stream.on("error", ignore);
    this.#stream.destroy();
  }

  /** @returns false when it was already over */
  #leave(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#sink.target.off("drain", this.#onDrain);
    this.#stream.off("data", this.#onData);
    this.#stream.off("end", this.#onEnd);
    this.#stream.off("error", this.#onError);
    this.#stream.off("close", this.#onClose);
    return true;
  }
}

const NOTHING: readonly string[] = [];
