/**
 * HTTP/2 in clear text: on a plain listener the first bytes of a connection tell which version of HTTP the client speaks.
 *
 * It is not asked for with `Upgrade: h2c`, which stays ignored (RFC 9113 §3.1 dropped it): a proxy before us that passes
 * that on would hand its client a way around itself. The preface is no request that a proxy of HTTP/1.1 sends on: its method is
 * reserved, its version another one, and it stands alone. Behind other bytes it is refused by what reads HTTP/1.1.
 *
 * Untrusted input: everything. Promises: at most 23 bytes are kept of a connection that may still be either; they have as
 * long as the head of a request.
 *
 * @see RFC 9113 §3.3, §3.4
 */
import type { Socket } from "node:net";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** How a connection begins. @returns "partly": what follows decides */
export function beginsWithPreface(bytes: Buffer): "yes" | "no" | "partly" {
  const known = Math.min(bytes.length, PREFACE.length);
  if (bytes.compare(PREFACE, 0, known, 0, known) !== 0) return "no";
  return known < PREFACE.length ? "partly" : "yes";
}

/** Makes a connection fit for node:http2. @param first bytes of it, read already */
export function leaveToHttp2(socket: Socket, first: Buffer): void {
  // Servers of HTTP/1.1 leave the other half open: node:http2 would wait for a client that has gone.
  socket.allowHalfOpen = false;
  socket.pause();
  socket.unshift(first);
}
