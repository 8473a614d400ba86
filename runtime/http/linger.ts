/**
 * The end of a connection whose answer must arrive: our half is closed, what the client still sends is thrown away, and
 * after a while the rest is, too. Closing at once while bytes of the client wait to be read makes the system send RST,
 * which takes the answer away from a client that has not read it yet (RFC 9112 §9.6).
 */
import type { Duplex } from "node:stream";
import { guardSocket } from "../shared/faults/guard.ts";

/** Longest time for the client to read the answer and close its end. */
const LINGER_MS = 5_000;
/** How much is read of what nobody wants, before the connection is cut. */
export const MAX_DISCARDED_BYTES = 1_048_576;

const lingering = new WeakSet<Duplex>();

/** Ends our half now and the whole soon; owns the socket from here on. What was written before still leaves. */
export function closeLingering(socket: Duplex): void {
  if (socket.destroyed || lingering.has(socket)) return;
  lingering.add(socket);
  const timer = setTimeout(
    guardSocket(socket, () => socket.destroy()),
    LINGER_MS,
  );
  timer.unref();
  socket.once(
    "close",
    guardSocket(socket, () => clearTimeout(timer)),
  );
  discardInput(socket);
  socket.end();
}

/** True after `closeLingering()`: whatever comes of the connection, there is nothing to say any more. */
export function isLingering(socket: Duplex): boolean {
  return lingering.has(socket);
}

/** Takes what the client sends away from whoever reads it now, the parser of node:http included. @param maxBytes more cuts it */
export function discardInput(socket: Duplex, maxBytes = MAX_DISCARDED_BYTES): void {
  let left = maxBytes;
  socket.removeAllListeners("data");
  socket.on(
    "data",
    guardSocket(socket, (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    }),
  );
  socket.resume();
}
