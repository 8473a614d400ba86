/**
 * Closes a connection whose response must arrive: ends our half, discards what the client still sends, and closes the rest
 * after a while. An immediate close while bytes of the client wait to be read makes the system send RST, which drops the
 * response for a client that has not read it yet (RFC 9112 §9.6).
 */
import type { Duplex } from "node:stream";
import { guardSocket } from "../shared/faults/guard.ts";

/** Longest time for the client to read the response and close its end. */
const LINGER_MS = 5_000;
/** Most unwanted bytes that are read before the connection is closed. */
export const MAX_DISCARDED_BYTES = 1_048_576;

const lingering = new WeakSet<Duplex>();

/** Ends our half now and the rest soon; owns the socket from here on. Bytes written before still leave. */
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

/** True after `closeLingering()`: ignore further events of the connection. */
export function isLingering(socket: Duplex): boolean {
  return lingering.has(socket);
}

/**
 * Takes the client's input away from its reader, including the parser of node:http. @param maxBytes more closes the
 * connection
 */
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
