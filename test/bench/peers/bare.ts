/**
 * The least a Node proxy can be: node:http in front, undici dispatch behind, with the transport options of ours, and
 * nothing decided. `node bare.ts UPSTREAM_ORIGIN` prints its port.
 *
 * It does what any correct proxy must (hop-by-hop headers, aborts, back-pressure, one write for short answers), so that
 * the difference to the full pipeline is what identity, policy and records cost.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Pool, type Dispatcher } from "undici";

const upstream = new URL(process.argv[2] ?? "");
const pool = new Pool(upstream.origin, {
  pipelining: 1,
  connections: null,
  allowH2: false,
  keepAliveTimeout: 4_000,
});

const DROPPED = new Set([
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "content-length",
  "expect",
]);

class Handler implements Dispatcher.DispatchHandler {
  readonly #response: ServerResponse;
  #controller: Dispatcher.DispatchController | undefined;
  #status = 0;
  #headers: string[] = [];
  #length = -1;
  #chunk: Buffer | undefined;
  #streaming = false;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.once("close", () => {
      if (!response.writableFinished) this.#controller?.abort(new Error("client went away"));
    });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    for (const name in headers) {
      const value = headers[name];
      if (value === undefined || (name !== "content-length" && DROPPED.has(name))) continue;
      if (name === "content-length") this.#length = Number(value);
      if (typeof value === "string") this.#headers.push(name, value);
      else for (const each of value) this.#headers.push(name, each);
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#streaming && chunk.length === this.#length && chunk.length <= 16_384) {
      this.#chunk = chunk;
      return;
    }
    if (!this.#streaming) {
      this.#streaming = true;
      this.#response.writeHead(this.#status, this.#headers);
    }
    if (!this.#response.write(chunk)) {
      controller.pause();
      this.#response.once("drain", () => controller.resume());
    }
  }

  onResponseEnd(): void {
    if (this.#streaming) this.#response.end();
    else this.#response.writeHead(this.#status, this.#headers).end(this.#chunk?.toString("latin1"), "latin1");
  }

  onResponseError(): void {
    if (this.#response.headersSent) this.#response.destroy();
    else this.#response.writeHead(502).end();
  }
}

const server = createServer({ requestTimeout: 0, noDelay: true }, (request, response) => {
  const raw = request.rawHeaders;
  const headers = ["host", upstream.host];
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    if (!DROPPED.has(name.toLowerCase())) headers.push(name, raw[index + 1] as string);
  }
  const hasBody = request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined;
  const options = {
    path: request.url ?? "/",
    method: request.method ?? "GET",
    headers,
    headersTimeout: 30_000,
    bodyTimeout: 30_000,
  };
  if (!hasBody) {
    pool.dispatch({ ...options, body: null }, new Handler(response));
    return;
  }
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => pool.dispatch({ ...options, body: Buffer.concat(chunks) }, new Handler(response)));
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
