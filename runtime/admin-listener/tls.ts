/**
 * The sockets of the admin listener: plain, or TLS with its own certificate.
 *
 * Client certificates are requested here, and validated per request (listener.ts), not in the handshake: probes have
 * none.
 */
import { createServer, type Server, type ServerOptions } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { Socket } from "node:net";

import type { BootSettings } from "../config/compiled.ts";
import { type Certificates, openCertificates } from "../http/listener/certificates.ts";
import type { Log } from "../shared/log.ts";
import { guardSocket } from "../shared/faults/guard.ts";

export interface AdminServer {
  readonly server: Server | SecureServer;
  /** Registers a callback for each connection that speaks HTTP, which `takeInTurn` cannot see on a TLS server. */
  takeConnections(take: (socket: Socket) => void): void;
  /** Closes connections that are still in their handshake. */
  cutFresh(): void;
}

const HANDSHAKE_TIMEOUT_MS = 10_000;

/** @returns undefined for plain HTTP. @throws GatewayError `http.certificate` */
export async function openAdminCertificates(
  tls: BootSettings["adminTls"],
  log: Log,
): Promise<Certificates | undefined> {
  if (!tls) return undefined;
  const { clientCaFile: caFile, ...files } = tls;
  const clients = caFile === undefined ? undefined : { caFile, rejectConnection: false };
  return openCertificates([files], { log, clients });
}

export function createAdminServer(
  options: ServerOptions,
  certificates: Certificates | undefined,
  log: Log,
): AdminServer {
  if (!certificates) return { server: createServer(options), takeConnections() {}, cutFresh() {} };
  const server = createSecureServer({
    ...options,
    ...certificates.fallback,
    minVersion: "TLSv1.2",
    requestCert: certificates.clients !== undefined,
    rejectUnauthorized: false,
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
  });
  certificates.onChange((fallback) => server.setSecureContext(fallback));
  // node:https would respond to a failed handshake as to an unreadable request.
  server.removeAllListeners("tlsClientError");
  server.on("tlsClientError", (error, socket) =>
    guardSocket(socket, () => {
      socket.destroy();
      log.debug({ reason: error.message, peer: socket.remoteAddress }, "admin TLS handshake failed");
    })(),
  );
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => guardSocket(socket, begin)(socket));
  function begin(socket: Socket): void {
    open.add(socket);
    socket.once(
      "close",
      guardSocket(socket, () => open.delete(socket)),
    );
  }
  return {
    server,
    takeConnections: (take) => server.prependListener("secureConnection", take),
    cutFresh() {
      for (const socket of open) socket.destroy();
    },
  };
}
