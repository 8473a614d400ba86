/** The body of a request as a stream, fed by its connection. */
import { Readable } from "node:stream";

/** The connection that feeds the body. */
export interface BodySource {
  pauseReading(): void;
  resumeReading(): void;
}

/** Most bytes that a client may send before the body is read. */
const MAX_UNREAD_BYTES = 65_536;

export class RequestBody extends Readable {
  readonly #source: BodySource;

  constructor(source: BodySource) {
    super({ highWaterMark: MAX_UNREAD_BYTES });
    this.#source = source;
  }

  override _read(): void {
    this.#source.resumeReading();
  }

  feed(chunk: Buffer): void {
    if (!this.destroyed && !this.push(chunk)) this.#source.pauseReading();
  }

  feedEnd(): void {
    if (!this.destroyed) this.push(null);
  }

  /** The rest will not come. */
  breakOff(): void {
    if (this.destroyed || this.readableEnded) return;
    // Like a request of node:http: without an error listener, an abort must not end the process.
    this.destroy(this.listenerCount("error") > 0 ? new Error("the connection was lost") : undefined);
  }
}
