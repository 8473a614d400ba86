/** An application that tells how it was asked: over HTTP/1.1, or over HTTP/2 in the clear. */
import { createServer as createHttp1, type IncomingHttpHeaders } from "node:http";
import { createServer as createHttp2 } from "node:http2";
import type { AddressInfo, Server } from "node:net";

/** What the application saw. */
export interface Seen {
  /** "1.1" or "2.0". */
  readonly version: string;
  /** Host, or `:authority` over HTTP/2. */
  readonly host: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Application {
  /** "http://127.0.0.1:PORT" */
  readonly origin: string;
  close(): Promise<void>;
}

export async function startApplication(version: "http1" | "http2"): Promise<Application> {
  const connections = new Set<{ destroy(): void }>();
  const answerHeaders = (): Record<string, string> => ({
    "content-type": "application/json",
    location: `${origin}/next`,
    "x-frame-options": "ALLOWALL",
    "x-powered-by": "the application",
  });
  const server: Server =
    version === "http1"
      ? createHttp1((request, response) => {
          const { httpVersion, headers } = request;
          response.writeHead(200, answerHeaders());
          response.end(JSON.stringify({ version: httpVersion, host: headers.host ?? "", headers }));
        })
      : createHttp2((request, response) => {
          const { httpVersion, headers, authority } = request;
          response.writeHead(200, answerHeaders());
          response.end(JSON.stringify({ version: httpVersion, host: authority, headers }));
        });
  server.on("connection", (socket: { destroy(): void }) => connections.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    close() {
      for (const connection of connections) connection.destroy();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
