/** Opens the sockets of one upstream, in the clear or over TLS. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { UpstreamConnect } from "../../features/connection/compiled.ts";
import type { UpstreamEndpoint } from "../endpoint.ts";
import type { ConnectGuard } from "../reach.ts";
import { READ_BYTES } from "./answer-bytes.ts";
import { guard, guardEach, type Guarded } from "../../shared/faults/guard.ts";

/** What all connections of one upstream have in common. */
export interface Address extends UpstreamEndpoint {
  /** @throws when they may not go there */
  readonly guard: () => ConnectGuard;
  readonly tls: UpstreamConnect["tls"] | undefined;
  /** Of the latest handshake that was good in every respect: the next one is shorter. */
  tlsSession: Buffer | undefined;
}

export interface SocketUser extends Guarded {
  /** Connected, and over TLS the peer is who it should be. */
  ready(): void;
  /** @param bytes only up to `length`; in the clear only valid during the call, unless they are read into a buffer of the user's */
  read(bytes: Buffer, length: number): void;
  /** In the clear, before the first read and behind each: where the next one goes. @param shared for bytes that nobody keeps */
  bufferFor(shared: Buffer): Buffer;
  ended(): void;
  /** @param error why, if not because somebody asked */
  closed(error: Error | undefined): void;
}

/**
 * Clear connections read into one buffer: each read is finished with, or copied, before the next one of any connection.
 * Long bodies are read into buffers of their own (`bufferFor()`).
 * Connections over TLS have chunks of their own, for decrypting may hand over bytes in the middle of a write.
 */
const SHARED = Buffer.allocUnsafeSlow(READ_BYTES);
const PROBE_AFTER_MS = 60_000;

/** @throws for TLS settings that cannot be used at all, and for addresses that may not be connected to */
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
 * From now on a write that fails does not end the socket. An upstream may answer and close before it has taken the whole
 * request; what it sent is still to be read then, and reading tells the end.
 *
 * @param onFailed called once; nothing more may be written
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
  // Node keeps it back until the peer has proven its name: a resumed session is not asked for it again.
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
