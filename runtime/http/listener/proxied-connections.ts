/**
 * A listener behind a load balancer that speaks the PROXY protocol: the head is read before TLS and HTTP begin, and its
 * address becomes the connection's.
 *
 * Untrusted input: everything until the head is complete. Promises: a connection without a valid head is closed and not read
 * further; the head costs at most a few kilobytes and a few seconds.
 */
import type { Server, Socket } from "node:net";
import { Server as TlsServer, type TLSSocket } from "node:tls";

import type { Log } from "../../shared/log.ts";
import { readProxyHeader } from "./proxy-protocol.ts";
import { ignore } from "../../shared/ignore.ts";
import { guardSocket } from "../../shared/faults/guard.ts";

export interface ProxiedConnections {
  /** Gives a TLS connection the address from its head. Call it before anything reads the address. */
  adopt(socket: TLSSocket): void;
  /** Closes connections whose head is not complete. */
  cutWaiting(): void;
}

const HEADER_TIMEOUT_MS = 5_000;

/**
 * Replaces the server's handling of new connections: runs it once the head is read. Call it after all "connection" listeners
 * are added.
 */
export function expectProxyHeaders(server: Server, log: Log, timeoutMs = HEADER_TIMEOUT_MS): ProxiedConnections {
  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  const isTls = server instanceof TlsServer;
  const waiting = new Set<Socket>();
  /** Addresses from the heads, by both ends of the connection, since TLS creates another socket for it. */
  const sources = new Map<string, string>();

  const begin = (socket: Socket, source: string | undefined): void => {
    if (source !== undefined) {
      const key = endsOf(socket);
      sources.set(key, source);
      socket.once(
        "close",
        guardSocket(socket, () => sources.delete(key)),
      );
      setRemoteAddress(socket, source);
    }
    for (const listener of listeners) listener.call(server, socket);
    // TLS reads unshifted bytes automatically; HTTP waits for them like for any other bytes.
    if (!isTls) socket.resume();
  };

  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => guardSocket(socket, take)(socket));

  function take(socket: Socket): void {
    const peer = socket.remoteAddress;
    let bytes: Buffer = Buffer.alloc(0);
    waiting.add(socket);
    const settle = guardSocket(socket, (): void => {
      clearTimeout(timer);
      waiting.delete(socket);
      socket.off("data", onData);
      socket.off("error", ignore);
      socket.off("close", settle);
    });
    const cut = (reason: string): void => {
      settle();
      socket.on("error", ignore);
      socket.destroy();
      log.debug({ peer, reason }, "invalid PROXY protocol header");
    };
    const onData = guardSocket(socket, (chunk: Buffer): void => {
      bytes = bytes.length === 0 ? chunk : Buffer.concat([bytes, chunk]);
      const header = readProxyHeader(bytes);
      if (header.kind === "incomplete") return;
      if (header.kind === "bad") {
        cut(header.reason);
        return;
      }
      settle();
      socket.pause();
      if (bytes.length > header.length) socket.unshift(bytes.subarray(header.length));
      begin(socket, header.source);
    });
    const timer = setTimeout(
      guardSocket(socket, () => cut("it did not arrive in time")),
      timeoutMs,
    );
    socket.on("data", onData);
    socket.on("error", ignore);
    socket.on("close", settle);
  }

  return {
    adopt(socket) {
      const source = sources.get(endsOf(socket));
      if (source !== undefined) setRemoteAddress(socket, source);
    },
    cutWaiting() {
      for (const socket of waiting) socket.destroy();
    },
  };
}

/** Unique key of an open connection. */
function endsOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`;
}

function setRemoteAddress(socket: Socket, address: string): void {
  Object.defineProperty(socket, "remoteAddress", { value: address, configurable: true });
}
