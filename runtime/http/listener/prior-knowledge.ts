/**
 * HTTP/2 in plain text: on a listener without TLS, the first bytes of a connection show the client's version of HTTP.
 *
 * `Upgrade: h2c` stays ignored (RFC 9113 §3.1 dropped it): a proxy in front of us that forwards it would let its client
 * bypass it. An HTTP/1.1 proxy does not forward the preface: its method is reserved, its version is another one, and it is
 * not inside a request. After other bytes, the HTTP/1.1 reader rejects it.
 *
 * Untrusted input: everything. Promises: at most 23 bytes are held of a connection whose version is unknown; they have the
 * time limit of a request's head.
 *
 * @see RFC 9113 §3.3, §3.4
 */
import type { Socket } from "node:net";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

/** Checks the start of a connection. @returns "partly": the next bytes decide */
export function beginsWithPreface(bytes: Buffer): "yes" | "no" | "partly" {
  const known = Math.min(bytes.length, PREFACE.length);
  if (bytes.compare(PREFACE, 0, known, 0, known) !== 0) return "no";
  return known < PREFACE.length ? "partly" : "yes";
}

/** Prepares a connection for node:http2. @param first its first bytes, already read */
export function leaveToHttp2(socket: Socket, first: Buffer): void {
  // HTTP/1.1 servers leave the other half open: node:http2 would wait for a client that has left.
  socket.allowHalfOpen = false;
  socket.pause();
  socket.unshift(first);
}
