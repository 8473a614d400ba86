/** What a client has sent behind a request that is not answered yet: bytes, to be read when it is their turn. */
import { RequestReader, type RequestSink } from "./request-reader.ts";

/** More than that is not kept, but for the piece that makes it more. */
const MAX_BYTES = 65_536;
/** What a piece costs beside its bytes, about: they may come one by one. */
const PIECE_BYTES = 128;

export class HeldBytes {
  #pieces: Buffer[] = [];
  #size = 0;

  /** @returns false when there is no room for more */
  add(bytes: Buffer): boolean {
    this.#size += bytes.length + PIECE_BYTES;
    this.#pieces.push(bytes);
    return this.#size <= MAX_BYTES;
  }

  take(): Buffer {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#size = 0;
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  }
}

/** How many requests have begun in these bytes. Nothing else is done about them. @param max more are not counted */
export function countRequests(bytes: Buffer, max: number): number {
  const seen = { requests: 0 };
  const sink: RequestSink = {
    onHead: () => void (seen.requests += 1),
    onData() {},
    onEnd() {},
  };
  const reader = new RequestReader(sink);
  let at = 0;
  while (at < bytes.length && seen.requests < max && reader.problem === undefined) {
    at = reader.read(bytes, at, bytes.length);
  }
  return seen.requests;
}
