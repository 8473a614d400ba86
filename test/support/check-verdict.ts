/** Result of one health check of an upstream, and its remaining connections. */
import { once } from "node:events";
import type { AddressInfo, Server, Socket } from "node:net";
import { createSecureContext, type SecureContextOptions } from "node:tls";

import type { Upstream, UpstreamConnect } from "../../runtime/features/connection/compiled.ts";
import type { CheckDone } from "../../runtime/upstreams/health/check-budget.ts";

export interface CheckedServer {
  readonly port: number;
  /** Sockets that are open now. */
  readonly sockets: ReadonlySet<Socket>;
  /** The first connection, once there is one. */
  readonly connected: Promise<Socket>;
  close(): Promise<void>;
}

/** Listens with a server on loopback and keeps count of its connections. */
export async function listen(server: Server, host = "127.0.0.1"): Promise<CheckedServer> {
  const sockets = new Set<Socket>();
  const connected = Promise.withResolvers<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("close", () => sockets.delete(socket));
    connected.resolve(socket);
  });
  server.listen(0, host);
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    sockets,
    connected: connected.promise,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** TLS settings of a route: those for the context, and those that each connection checks. */
export type UpstreamTls = Pick<SecureContextOptions, "ca" | "cert" | "key"> & Partial<UpstreamConnect["tls"]>;

export function upstreamAt(origin: string, tls?: UpstreamTls): Upstream {
  const { host } = new URL(origin);
  const secureContext = createSecureContext(tls);
  const { rejectUnauthorized = true, servername } = tls ?? {};
  const settings = { rejectUnauthorized, ...(servername !== undefined && { servername }), secureContext };
  const connect = { poolKey: origin, http2: false, tls: settings };
  return { origin, host, basePath: "", weight: 1, ...(tls && { connect }) };
}

/** @returns the first result of a check; "" = healthy */
export function verdictOf(begin: (over: CheckDone) => unknown): Promise<string> {
  return new Promise((resolve) => void begin(resolve));
}
