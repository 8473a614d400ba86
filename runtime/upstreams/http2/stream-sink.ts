/** Sends a request's body into its stream, followed by trailers. */
import type { ClientHttp2Stream, OutgoingHttpHeaders } from "node:http2";

import { PendingWrites } from "../../shared/http/pending-writes.ts";
import { trailerObject } from "../../shared/http/trailers.ts";
import type { BodySink } from "../body-sender.ts";
import { resetSoon } from "./reset.ts";
import { guard } from "../../shared/faults/guard.ts";

export class StreamSink implements BodySink {
  readonly target: ClientHttp2Stream;
  readonly #writes: PendingWrites;
  #trailers: OutgoingHttpHeaders = {};

  constructor(stream: ClientHttp2Stream) {
    this.target = stream;
    this.#writes = new PendingWrites(stream);
    stream.once(
      "wantTrailers",
      guard(this, () => stream.sendTrailers(this.#trailers)),
    );
  }

  /** Trailers were checked before. If they are rejected anyway, the request must not look complete without them. */
  broke(): void {
    resetSoon(this.target);
  }

  write(chunk: Buffer): boolean {
    return this.#writes.write(chunk);
  }

  end(trailers: readonly string[], last?: Buffer): void {
    this.#trailers = trailerObject(trailers);
    if (last === undefined) this.target.end();
    else this.target.end(last);
  }
}
