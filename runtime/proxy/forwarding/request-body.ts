/** A request body on its way upstream, chunk by chunk, at the speed of the slower side. */
import { Readable } from "node:stream";

import type { Exchange } from "../../http/exchange.ts";
import { joinUnread } from "../../shared/http/unread.ts";
import { REQUEST_BODY_ERROR } from "../../upstreams/failure.ts";
import { ignore } from "../../shared/ignore.ts";
import { guard } from "../../shared/faults/guard.ts";

/** A client that sends nothing for this long, while the upstream would take more, is dropped. */
const IDLE_MS = 60_000;

/**
 * The body as a separate stream: transports destroy the body when a call fails, and destroying the request itself would close
 * the client's connection before it got a response.
 */
export class RequestBody extends Readable {
  readonly #exchange: Exchange;
  readonly #source: Readable;
  readonly #timer: NodeJS.Timeout;
  /** True once the first bytes were requested: from then on the request cannot be resent. */
  #taken = false;
  readonly #mayRest: boolean;
  #isResting = false;

  /** @param mayRest any time may pass between two chunks, once there was one or the response has begun */
  constructor(exchange: Exchange, mayRest = false) {
    super({ highWaterMark: 65_536 });
    this.#mayRest = mayRest;
    this.#source = exchange.body;
    // Transports destroy a body whose call has failed, even after removing their listeners.
    this.on("error", ignore);
    this.#exchange = exchange;
    this.#timer = setTimeout(
      guard(exchange, () => this.destroy(bodyError("the client stopped sending"))),
      IDLE_MS,
    );
    this.#timer.unref();
  }

  get taken(): boolean {
    return this.#taken;
  }

  /** With `mayRest`: stops the idle timeout. */
  rest(): void {
    this.#isResting = this.#mayRest;
    if (this.#isResting) clearTimeout(this.#timer);
  }

  override _read(): void {
    if (!this.#isResting) this.#timer.refresh();
    if (!this.#taken) {
      this.#taken = true;
      this.#source.on("data", this.#onData);
      this.#source.on("end", this.#onEnd);
      this.#source.on("error", this.#onBroken);
      this.#source.on("close", this.#onBroken);
    }
    this.#source.resume();
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.#source.off("data", this.#onData);
    this.#source.off("end", this.#onEnd);
    this.#source.off("close", this.#onBroken);
    this.#source.off("error", this.#onBroken);
    // The connection may still fail during a response; without a listener that would end the process.
    if (this.#taken) this.#source.on("error", ignore);
    callback(error);
  }

  broke(error: unknown): void {
    this.#exchange.broke(error);
  }

  readonly #onData = guard(this, (chunk: Buffer): void => {
    if (this.#mayRest) this.rest();
    else this.#timer.refresh();
    const takesMore = this.push(chunk);
    joinUnread(this);
    if (!takesMore) this.#source.pause();
  });

  readonly #onEnd = guard(this, (): void => {
    clearTimeout(this.#timer);
    this.push(null);
  });

  // An aborted body must also abort the upstream's request: ended normally, it would look complete.
  readonly #onBroken = guard(this, (): void => {
    // "close" also follows a normal end, while the last chunks may still wait here for a slow upstream.
    if (!this.#source.readableEnded) this.destroy(bodyError("the client's body was truncated"));
  });
}

export function bodyError(message: string): Error {
  return Object.assign(new Error(message), { code: REQUEST_BODY_ERROR });
}
