/** A proxy in front of an admin address that can hold a publication in the middle, so that a test can kill its sender there. */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface HeldForwarder {
  readonly origin: string;
  /**
   * Holds the next PUT: "before" it is passed on, or "after" the gateway has answered and before the answer is.
   *
   * @returns resolves when a PUT is held there
   */
  hold(where: "before" | "after"): Promise<void>;
  /** Releases held requests. */
  release(): void;
  close(): Promise<void>;
}

interface Hold {
  readonly where: "before" | "after";
  readonly reached: () => void;
  readonly released: Promise<void>;
}

export async function startForwarder(target: string): Promise<HeldForwarder> {
  let next: Hold | undefined;
  let release = (): void => {};
  const server = createServer((request, response) => {
    forward(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  async function forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const held = request.method === "PUT" ? next : undefined;
    if (held) next = undefined;
    const passing = async (where: Hold["where"]): Promise<void> => {
      if (held?.where !== where) return;
      held.reached();
      await held.released;
    };
    await passing("before");
    // A sender that went away while it was held never sent anything, as far as the gateway is concerned.
    if (response.destroyed) return;
    const { host: _, ...headers } = request.headers;
    const upstream = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = httpRequest(`${target}${request.url ?? ""}`, { method: request.method, headers }, resolve);
      sent.on("error", reject).end(Buffer.concat(chunks));
    });
    const answer: Buffer[] = [];
    for await (const chunk of upstream as AsyncIterable<Buffer>) answer.push(chunk);
    await passing("after");
    response.writeHead(upstream.statusCode ?? 502, upstream.headers).end(Buffer.concat(answer));
  }

  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold(where) {
      return new Promise((reached) => {
        const released = new Promise<void>((resolve) => (release = resolve));
        next = { where, reached, released };
      });
    },
    release: () => release(),
    async close() {
      release();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
