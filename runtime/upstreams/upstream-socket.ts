/** Connections to upstreams for HTTP/2 and health checks; HTTP/1.1 has its own (http1/open-socket.ts). */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { Upstream } from "../features/connection/compiled.ts";
import { endpointOf } from "./endpoint.ts";
import { connectGuard } from "./reach.ts";

export interface UpstreamSocket {
  readonly socket: Socket;
  /** The event after which it may be written to: over TLS the certificate is verified then. */
  readonly ready: "connect" | "secureConnect";
}

export interface SocketOptions {
  /** Protocols to offer over TLS; the caller checks the upstream's choice. */
  readonly alpn?: readonly string[];
  /** Session of an earlier handshake, which shortens this one. */
  readonly tlsSession?: Buffer | undefined;
}

/** Idle time after which the peer is probed. */
const PROBE_AFTER_MS = 60_000;

/** @throws for addresses that are not allowed, and for unusable TLS settings */
export function openUpstreamSocket(upstream: Upstream, { alpn, tlsSession }: SocketOptions = {}): UpstreamSocket {
  const { host, port, secure, serverName } = endpointOf(upstream);
  const options = {
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: PROBE_AFTER_MS,
    ...connectGuard(upstream),
  };
  if (!secure) return { socket: connectTcp(options), ready: "connect" };
  const socket = connectTls({
    ...options,
    ...(serverName !== undefined && { servername: serverName }),
    ...(alpn && { ALPNProtocols: [...alpn] }),
    ...(tlsSession && { session: tlsSession }),
    ...upstream.connect?.tls,
  });
  return { socket, ready: "secureConnect" };
}
