/** The body of a request as a stream, fed by its connection. */
import { Readable } from "node:stream";

/** Whose bytes they are. */
export interface BodySource {
  pauseReading(): void;
  resumeReading(): void;
}

/** What a client may send before somebody reads it. */
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
    // As a request of node:http: who does not listen has no interest, and shall not end the process.
    this.destroy(this.listenerCount("error") > 0 ? new Error("the connection was lost") : undefined);
  }
}
