/** Connections to upstreams in HTTP/2, and of health checks; those of HTTP/1.1 are read otherwise (http1/open-socket.ts). */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { Upstream } from "../features/connection/compiled.ts";
import { endpointOf } from "./endpoint.ts";
import { connectGuard } from "./reach.ts";

export interface UpstreamSocket {
  readonly socket: Socket;
  /** The event after which it may be written to: over TLS the certificate was checked by then. */
  readonly ready: "connect" | "secureConnect";
}

export interface SocketOptions {
  /** What is spoken over TLS; the caller looks at what the upstream chose. */
  readonly alpn?: readonly string[];
  /** Of an earlier handshake: this one is shorter. */
  readonly tlsSession?: Buffer | undefined;
}

/** After so much silence the peer is asked whether it is still there. */
const PROBE_AFTER_MS = 60_000;

/** @throws for addresses that may not be connected to, and for TLS settings that cannot be used at all */
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
