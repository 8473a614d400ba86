/** The beginning of a request that waits for its turn as it came, before anything of it was read. */
import type { Socket } from "node:net";

import type { Party } from "../admission/parties.ts";
import type { Queued } from "../admission/fair-queue.ts";

/** Where it waits; see Admission. */
export interface UnreadQueue {
  isCrowded(): boolean;
  hold(unread: UnreadBytes): Queued<unknown>;
  drop(queued: Queued<unknown>): void;
}

/** More is not read meanwhile, but for the piece that makes it more. */
const MAX_BYTES = 16_384;
/** What a piece costs beside its bytes, about: they may come one by one. */
const PIECE_BYTES = 128;

export class UnreadBytes {
  readonly #socket: Socket;
  readonly #onTurn: (socket: Socket, bytes: Buffer) => void;
  readonly #pieces: Buffer[] = [];
  #size = 0;
  /** Of these, what is counted as held. */
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
      // Read now, and refused like any other.
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
    // Before: whoever takes it may want to stop it.
    if (this.#size > MAX_BYTES) socket.resume();
    this.#onTurn(socket, this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces));
  }

  /** Its client has left. */
  leave(): void {
    this.#queue.drop(this.#queued);
    this.#giveBack();
  }

  #giveBack(): void {
    this.#party.give(this.#heldBytes);
    this.#heldBytes = 0;
  }
}
