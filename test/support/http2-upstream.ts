/** An upstream that speaks HTTP/2 (over TLS, or in the clear with prior knowledge) and answers with what it saw. */
import { createSecureServer, createServer, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";

import type { TestCertificate } from "./certificates.ts";

export interface SeenHttp2 {
  /** Pseudo-headers included. */
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Common name of the certificate that the gateway showed. */
  readonly clientName: string | undefined;
  /** Host requested in the TLS handshake. */
  readonly serverName: string | undefined;
}

export interface Http2Upstream {
  /** With "localhost" over TLS, "127.0.0.1" in plain text. */
  readonly origin: string;
  readonly seen: readonly SeenHttp2[];
  readonly connections: number;
  close(): Promise<void>;
}

/** @param tls absent: h2c. `clientAuthority` requires a client certificate */
export async function startHttp2Upstream(tls?: {
  readonly certificate: TestCertificate;
  readonly clientAuthority?: TestCertificate;
}): Promise<Http2Upstream> {
  const seen: SeenHttp2[] = [];
  let connections = 0;
  const server = tls
    ? createSecureServer({
        cert: tls.certificate.cert,
        key: tls.certificate.key,
        ...(tls.clientAuthority && { ca: tls.clientAuthority.cert, requestCert: true, rejectUnauthorized: true }),
      })
    : createServer();
  const sessions = new Set<{ destroy(): void }>();
  server.on("session", (session) => {
    connections += 1;
    sessions.add(session);
  });
  server.on("stream", (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    let body = "";
    stream.on("error", () => {});
    stream.on("data", (chunk: Buffer) => (body += String(chunk)));
    stream.on("end", () => {
      const socket = stream.session?.socket as Partial<TLSSocket> | undefined;
      seen.push({
        headers,
        body,
        clientName: tls?.clientAuthority && String(socket?.getPeerCertificate?.().subject.CN),
        serverName: typeof socket?.servername === "string" ? socket.servername : undefined,
      });
      stream.respond({ ":status": 200, "content-type": "text/plain", "x-upstream": "h2" });
      stream.end("from h2");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  const { port } = server.address() as AddressInfo;
  return {
    origin: tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    seen,
    get connections() {
      return connections;
    },
    close() {
      for (const session of sessions) session.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
