/** Aborts connections in the middle of a response. */
import type { Socket } from "node:net";

/**
 * Resets the connection, so that a truncated response does not look complete. A plain close marks the end of a response that
 * is delimited by it, and clients also forgive a missing end of TLS.
 *
 * @param socket of TCP, or of TLS over it: node cannot reset TLS sockets (it throws), only the socket below
 */
export function breakOff(socket: Socket): void {
  const lower = "encrypted" in socket ? (socket as { _parent?: Socket | null })._parent : socket;
  if (lower === undefined || lower === null || lower.destroyed) socket.destroy();
  else lower.resetAndDestroy();
}
