/** The end of a connection in the middle of an answer. */
import type { Socket } from "node:net";

/**
 * Resets the connection, so that nobody takes what was sent for the whole: a plain close is the end of an answer that is
 * delimited by it, and clients forgive a missing end of TLS, too.
 *
 * @param socket of TCP, or of TLS over it: that one cannot be reset itself (node throws), only what lies below
 */
export function breakOff(socket: Socket): void {
  const lower = "encrypted" in socket ? (socket as { _parent?: Socket | null })._parent : socket;
  if (lower === undefined || lower === null || lower.destroyed) socket.destroy();
  else lower.resetAndDestroy();
}
