/** A connection of a health check's own to an upstream, opened as requests would open theirs. */
import { connect as connectTcp, isIP, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";

import type { Upstream } from "../config/compiled.ts";

export interface CheckSocket {
  readonly socket: Socket;
  /** The event after which it may be written to: over TLS the certificate was checked by then. */
  readonly ready: "connect" | "secureConnect";
}

/** @param alpn what is spoken over TLS; the caller looks at what the upstream chose */
export function openCheckSocket({ origin, connect }: Upstream, alpn?: readonly string[]): CheckSocket {
  const { hostname, port, protocol } = new URL(origin);
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol !== "https:") {
    return { socket: connectTcp({ host, port: Number(port || 80), noDelay: true }), ready: "connect" };
  }
  const socket = connectTls({
    host,
    port: Number(port || 443),
    ...(isIP(host) === 0 && { servername: host }),
    ...(alpn && { ALPNProtocols: [...alpn] }),
    ...connect?.tls,
  });
  return { socket, ready: "secureConnect" };
}
