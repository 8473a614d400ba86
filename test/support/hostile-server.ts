/** A loopback server that responds as the test says and counts requests, for clients that must not trust it. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

export interface HostileServer {
  /** "http://127.0.0.1:PORT" */
  readonly origin: string;
  readonly port: number;
  readonly seen: readonly SeenRequest[];
  /** Replaces what is answered from now on. */
  answer(handler: (request: SeenRequest, response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export async function startHostileServer(
  first: (request: SeenRequest, response: ServerResponse) => void = (_request, response) => void response.end("{}"),
): Promise<HostileServer> {
  const seen: SeenRequest[] = [];
  let handler = first;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const entry: SeenRequest = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(chunks).toString(),
      };
      seen.push(entry);
      handler(entry, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    seen,
    answer: (next) => void (handler = next),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
