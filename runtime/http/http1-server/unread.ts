/** Unparsed first bytes of a request that waits in the admission queue. */
import type { Socket } from "node:net";

import type { Party } from "../admission/parties.ts";
import type { Queued } from "../admission/fair-queue.ts";

/** The admission queue; see Admission. */
export interface UnreadQueue {
  isCrowded(): boolean;
  hold(unread: UnreadBytes): Queued<unknown>;
  drop(queued: Queued<unknown>): void;
}

/** Above this, reading pauses; the piece that exceeds it is still held. */
const MAX_BYTES = 16_384;
/** Approximate cost of a piece in addition to its bytes: they may come one by one. */
const PIECE_BYTES = 128;

export class UnreadBytes {
  readonly #socket: Socket;
  readonly #onTurn: (socket: Socket, bytes: Buffer) => void;
  readonly #pieces: Buffer[] = [];
  #size = 0;
  /** Part of `#size` that is counted as held. */
  #heldBytes = 0;
  readonly #party: Party;
  readonly #queue: UnreadQueue;
  readonly #queued: Queued<unknown>;

  constructor(socket: Socket, queue: UnreadQueue, party: Party, onTurn: (socket: Socket, bytes: Buffer) => void) {
    this.#socket = socket;
    this.#onTurn = onTurn;
    this.#queue = queue;
    this.#party = party;
    this.#queued = queue.hold(this);
  }

  get remoteAddress(): string {
    return this.#socket.remoteAddress ?? "";
  }

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    const size = bytes.length + PIECE_BYTES;
    this.#size += size;
    if (!this.#party.take(size)) {
      // Read it now: it is rejected like any other.
      this.#queue.drop(this.#queued);
      this.read();
      return;
    }
    this.#heldBytes += size;
    if (this.#size > MAX_BYTES) this.#socket.pause();
  }

  read(): void {
    const socket = this.#socket;
    this.#giveBack();
    // Before the callback, which may pause the socket.
    if (this.#size > MAX_BYTES) socket.resume();
    this.#onTurn(socket, this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces));
  }

  /** Called when the client has left. */
  leave(): void {
    this.#queue.drop(this.#queued);
    this.#giveBack();
  }

  #giveBack(): void {
    this.#party.give(this.#heldBytes);
    this.#heldBytes = 0;
  }
}
