/** The TLS side of the public listener: HTTP/1.1 and HTTP/2 with one handshake. */
import type { ServerOpts, Socket } from "node:net";
import { createServer, type SecureContext, type Server, type TlsOptions, type TLSSocket } from "node:tls";

import type { Log } from "../../shared/log.ts";
import type { Certificates } from "./certificates.ts";
import { ACME_PROTOCOL } from "./issued-certificates.ts";
import { resumesEnded } from "./client-certificate.ts";
import { HEAD_MS } from "../http1-server/connection.ts";
import type { Http2Sessions } from "./server-h2.ts";
import { guardSocket } from "../../shared/faults/guard.ts";

export interface TlsServer {
  readonly server: Server;
  /** Closes connections that have not sent anything yet. */
  cutFresh(): void;
}

const PROTOCOLS = ["h2", "http/1.1"];

/**
 * While an order is pending, a connection with its protocol gets the certificate of the challenge, and all others the usual one.
 * In TLS 1.3 the protocol is chosen before the certificate. A validation with TLS 1.2 fails; authorities use 1.3.
 *
 * @see RFC 8737 §3
 */
function answerChallenges(
  certificates: Certificates,
  challenge: NonNullable<Certificates["challenge"]>,
): Pick<TlsOptions, "ALPNCallback" | "SNICallback"> {
  const validations = new WeakMap<TLSSocket, SecureContext>();
  return {
    ALPNCallback(this: unknown, { servername, protocols }) {
      const own = PROTOCOLS.find((each) => protocols.includes(each));
      if (own !== undefined || !protocols.includes(ACME_PROTOCOL)) return own;
      // A name is optional, and an error here would end the process.
      const found = servername ? challenge(servername.toLowerCase()) : undefined;
      if (!found) return undefined;
      validations.set(this as TLSSocket, found);
      return ACME_PROTOCOL;
    },
    SNICallback(this: unknown, name, done) {
      done(null, validations.get(this as TLSSocket) ?? certificates.find(name.toLowerCase()));
    },
  };
}

/**
 * Uses the certificate for the name that the client requests.
 *
 * @param onHttp1 takes connections that chose HTTP/1.1
 */
export function createTlsServer(
  options: ServerOpts,
  certificates: Certificates,
  http2: Http2Sessions,
  onHttp1: (socket: TLSSocket) => void,
  log: Log,
): TlsServer {
  const server = createServer({
    ...options,
    ...certificates.fallback,
    minVersion: "TLSv1.2",
    requestCert: certificates.clients !== undefined,
    // Otherwise the policy decides, and the client gets a response that it can show.
    rejectUnauthorized: certificates.clients?.rejectConnection === true,
    // As in plain text. It also bounds the process's own delay: in a burst all handshakes end late, and together.
    handshakeTimeout: HEAD_MS,
    ...(certificates.challenge
      ? answerChallenges(certificates, certificates.challenge)
      : ({
          ALPNProtocols: PROTOCOLS,
          SNICallback: (name, done) => done(null, certificates.find(name.toLowerCase())),
        } satisfies TlsOptions)),
  });
  certificates.onChange((fallback) => server.setSecureContext(fallback));
  server.on("secureConnection", (socket) => guardSocket(socket, take)(socket));
  function take(socket: TLSSocket): void {
    if (certificates.clients?.rejectConnection === true && resumesEnded(socket)) {
      socket.destroy();
      log.debug({ reason: "certificate has expired", peer: socket.remoteAddress }, "TLS handshake failed");
      return;
    }
    // The validation is the handshake.
    if (socket.alpnProtocol === ACME_PROTOCOL) {
      socket.destroy();
      return;
    }
    if (socket.alpnProtocol === "h2") {
      http2.serve(socket);
      return;
    }
    onHttp1(socket);
  }
  server.on("tlsClientError", (error, socket) =>
    guardSocket(socket, () => {
      socket.destroy();
      log.debug({ reason: error.message, peer: socket.remoteAddress }, "TLS handshake failed");
    })(),
  );
  const handshakes = new Map<Socket, number>();
  server.on("connection", (socket: Socket) => guardSocket(socket, begin)(socket));
  function begin(socket: Socket): void {
    handshakes.set(socket, socket.bytesRead - socket.readableLength);
    socket.once(
      "close",
      guardSocket(socket, () => handshakes.delete(socket)),
    );
  }
  return {
    server,
    cutFresh() {
      for (const [socket, bytes] of handshakes) if (socket.bytesRead === bytes) socket.destroy();
    },
  };
}
