/** A connection of a health check's own to an upstream, opened as requests would open theirs. */
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { Upstream } from "../../features/connection/compiled.ts";
import { endpointOf } from "../endpoint.ts";
import { connectGuard } from "../reach.ts";

export interface CheckSocket {
  readonly socket: Socket;
  /** The event after which it may be written to: over TLS the certificate was checked by then. */
  readonly ready: "connect" | "secureConnect";
}

/** @throws for addresses that may not be connected to @param alpn what is spoken over TLS; the caller looks at what the upstream chose */
export function openCheckSocket(upstream: Upstream, alpn?: readonly string[]): CheckSocket {
  const { host, port, secure, serverName } = endpointOf(upstream);
  const guard = connectGuard(upstream);
  if (!secure) return { socket: connectTcp({ host, port, noDelay: true, ...guard }), ready: "connect" };
  const socket = connectTls({
    host,
    port,
    ...guard,
    ...(serverName !== undefined && { servername: serverName }),
    ...(alpn && { ALPNProtocols: [...alpn] }),
    ...upstream.connect?.tls,
  });
  return { socket, ready: "secureConnect" };
}
