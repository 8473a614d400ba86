/** Opens the sockets of one upstream, in plain text or over TLS. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { UpstreamConnect } from "../../features/connection/compiled.ts";
import type { UpstreamEndpoint } from "../endpoint.ts";
import type { ConnectGuard } from "../reach.ts";
import { READ_BYTES } from "./answer-bytes.ts";
import { guard, guardEach, type Guarded } from "../../shared/faults/guard.ts";

/** Address of an upstream, shared by its connections. */
export interface Address extends UpstreamEndpoint {
  /** @throws when connections there are not allowed */
  readonly guard: () => ConnectGuard;
  readonly tls: UpstreamConnect["tls"] | undefined;
  /** Session of the latest completely valid handshake, which shortens the next one. */
  tlsSession: Buffer | undefined;
}

export interface SocketUser extends Guarded {
  /** Connected; over TLS the peer's certificate is verified. */
  ready(): void;
  /** @param bytes valid up to `length`; in plain text only during the call, unless they are in a buffer from `bufferFor()` */
  read(bytes: Buffer, length: number): void;
  /**
   * In plain text, before the first read and after each: the buffer for the next one. @param shared for bytes that are not
   * kept
   */
  bufferFor(shared: Buffer): Buffer;
  ended(): void;
  /** @param error undefined if the gateway closed the socket */
  closed(error: Error | undefined): void;
}

/**
 * Plain-text connections read into one buffer: each read is finished with, or copied, before the next one of any connection.
 * Long bodies are read into buffers of their own (`bufferFor()`). TLS connections have separate chunks, since decrypting may
 * return bytes in the middle of a write.
 */
const SHARED = Buffer.allocUnsafeSlow(READ_BYTES);
const PROBE_AFTER_MS = 60_000;

/** @throws for unusable TLS settings, and for addresses that are not allowed */
export function openSocket(address: Address, user: SocketUser): Socket {
  const options = {
    host: address.host,
    port: address.port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    ...address.guard(),
  };
  const socket = address.secure ? openSecure(address, options, user) : openClear(options, user);
  let problem: Error | undefined;
  socket.on(
    "error",
    guard(user, (error: Error) => (problem = error)),
  );
  socket.on(
    "end",
    guard(user, () => user.ended()),
  );
  socket.on(
    "close",
    guard(user, () => user.closed(problem)),
  );
  return socket;
}

/**
 * Keeps the socket open after a failed write. An upstream may respond and close before it has read the whole request; its
 * response must still be read, and the read reports the end.
 *
 * @param onFailed called once; write nothing afterwards
 * @see RFC 9112 §9.6
 */
export function readAfterFailedWrite(socket: Socket, onFailed: () => void): void {
  let failed = false;
  const reading =
    (done: (error?: Error | null) => void) =>
    (error?: Error | null): void => {
      if (!error) done();
      else if (!failed) {
        failed = true;
        onFailed();
      }
    };
  const write = socket._write.bind(socket);
  const writev = socket._writev?.bind(socket);
  socket._write = (chunk, encoding, done) => write(chunk, encoding, reading(done));
  if (writev) socket._writev = (chunks, done) => writev(chunks, reading(done));
}

interface Target {
  readonly host: string;
  readonly port: number;
}

function openClear(target: Target, user: SocketUser): Socket {
  const socket = connectTcp({
    ...target,
    onread: {
      buffer: () => bufferFor(user) ?? SHARED,
      callback: (length, bytes) => {
        read(user, bytes as Buffer, length);
        return true;
      },
    },
  });
  socket.once(
    "connect",
    guard(user, () => user.ready()),
  );
  return socket;
}

function openSecure(address: Address, target: Target, user: SocketUser): Socket {
  const socket = connectTls({
    ...target,
    ALPNProtocols: ["http/1.1"],
    ...(address.serverName !== undefined && { servername: address.serverName }),
    ...(address.tlsSession !== undefined && { session: address.tlsSession }),
    ...address.tls,
  });
  // Node emits it only after the certificate is verified: a resumed session does not verify it again.
  socket.on(
    "session",
    guard(user, (session: Buffer) => (address.tlsSession = session)),
  );
  socket.once(
    "secureConnect",
    guard(user, () => user.ready()),
  );
  socket.on(
    "data",
    guard(user, (chunk: Buffer) => user.read(chunk, chunk.length)),
  );
  return socket;
}

const read = guardEach((user: SocketUser, bytes: Buffer, length: number) => user.read(bytes, length));
const bufferFor = guardEach((user: SocketUser) => user.bufferFor(SHARED));
