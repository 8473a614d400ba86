/**
 * Guard between a transport and the readers of an upstream's response.
 *
 * Promise: an exception of a reader ends that exchange, even after its call has ended, and never reaches the transport, whose
 * connections carry other clients' calls.
 */
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import { guardEach, type Guarded } from "../../shared/faults/guard.ts";
import type { UpstreamHeaders, UpstreamReceiver } from "../../upstreams/transport-types.ts";

export class GuardedReceiver implements UpstreamReceiver, Guarded {
  readonly inner: UpstreamReceiver;
  readonly #owner: Guarded;
  #isOver = false;

  /** @param owner handles errors of the exchange */
  constructor(inner: UpstreamReceiver, owner: Guarded) {
    this.inner = inner;
    this.#owner = owner;
  }

  onHead(status: number, headers: UpstreamHeaders, isWhole?: boolean): void {
    head(this, status, headers, isWhole);
  }

  onData(chunk: Buffer): boolean | void {
    return data(this, chunk);
  }

  onEnd(trailers?: UpstreamHeaders): boolean | void {
    if (this.#isOver) return;
    this.#isOver = true;
    return end(this, trailers);
  }

  onFailure(failure: UpstreamFailure, detail: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    failed(this, failure, detail);
  }

  broke(error: unknown): void {
    this.#isOver = true;
    this.#owner.broke(error);
  }
}

const head = guardEach(({ inner }: GuardedReceiver, status: number, headers: UpstreamHeaders, isWhole?: boolean) =>
  inner.onHead(status, headers, isWhole),
);
const data = guardEach(({ inner }: GuardedReceiver, chunk: Buffer) => inner.onData(chunk));
const end = guardEach(({ inner }: GuardedReceiver, trailers?: UpstreamHeaders) => inner.onEnd(trailers));
const failed = guardEach(({ inner }: GuardedReceiver, failure: UpstreamFailure, detail: string) =>
  inner.onFailure(failure, detail),
);
