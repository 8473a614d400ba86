/** An upstream that remembers what reached it and answers with it. Answers JSON-RPC requests with an empty result. */
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface SeenRequest {
  readonly method: string;
  /** Path and query as received. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface EchoUpstream {
  /** "http://127.0.0.1:PORT" */
  readonly origin: string;
  readonly seen: readonly SeenRequest[];
  close(): Promise<void>;
}

export async function startEchoUpstream(): Promise<EchoUpstream> {
  const seen: SeenRequest[] = [];
  const server = createServer((request, response) => {
    // It protects nothing, and says so as any server does.
    if (request.url?.startsWith("/.well-known/")) {
      response.writeHead(404).end();
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString();
      const one = { method: request.method ?? "", target: request.url ?? "", headers: request.headers, body };
      seen.push(one);
      const id = body === "" ? undefined : (JSON.parse(body) as { id?: unknown }).id;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(id === undefined ? one : { jsonrpc: "2.0", id, result: {} }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
