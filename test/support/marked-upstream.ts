/** An application that answers everything, and a probe that sees which configuration a gateway answers by. */
import { createServer, request as httpRequest, type Agent } from "node:http";
import type { AddressInfo } from "node:net";

export interface MarkedUpstream {
  readonly origin: string;
  close(): Promise<void>;
}

export async function startUpstream(): Promise<MarkedUpstream> {
  const server = createServer((_request, response) => response.end("ok"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A slice with public routes that name their version in a header. */
export function openSlice(owner: string, mark: string, upstream: string, routes = 1): string {
  const named = Array.from({ length: routes }, (_, index) => [
    `r${index}`,
    {
      from: `http://${owner}-${index}.example.com`,
      to: [upstream],
      policy: [{ allow: { or: [{ accept: true }] } }],
      set_response_headers: { "X-Mark": mark },
    },
  ]);
  return JSON.stringify({ version: 1, owner, routes: Object.fromEntries(named) });
}

export interface Seen {
  readonly status: number;
  readonly mark: string | undefined;
}

/** @param agent without one every request has a connection of its own, and so any worker */
export function visit(origin: string, host: string, agent: Agent | false = false): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(origin, { agent, headers: { host } }, (response) => {
      response.resume();
      response.on("error", reject);
      response.on("end", () => {
        const mark = response.headers["x-mark"];
        resolve({ status: response.statusCode ?? 0, mark: typeof mark === "string" ? mark : undefined });
      });
    });
    request.on("error", reject).end();
  });
}
