/**
 * The applications behind the demo's `/app` and `/assistant` routes.
 *
 * `/app` shows who the gateway says you are. It trusts nothing but the signed identity header: somebody who reaches its
 * port past the gateway is nobody. `/assistant` is an MCP client: the gateway hands it an External Token with each
 * request, and with it the application lists and calls MCP servers as the user who asked.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

// "gateform/verify" in an application of your own.
import { AssertionError, verifyAssertion } from "../../runtime/verify.ts";

export interface RunningWebApp {
  /** "http://127.0.0.1:PORT", what a route's `to` is. */
  readonly origin: string;
  close(): Promise<void>;
}

export interface WebAppOptions {
  /** Where the gateway serves, "http://localhost:8080". */
  readonly gateway: string;
  /** @default any free one */
  readonly port?: number;
}

/** Starts the application on loopback. */
export async function startWebApp({ gateway, port = 0 }: WebAppOptions): Promise<RunningWebApp> {
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      const status = error instanceof AssertionError && error.reason !== "keys-unavailable" ? 401 : 502;
      send(response, status, page("This did not work", `<p>${escape(String(error))}</p>`));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const { email, groups } = await verifyAssertion(request, { gateway });
    switch (pathname) {
      case "/app":
      case "/app/":
        return send(
          response,
          200,
          page(`Hello ${email}`, `<p>Your groups: ${escape(groups.join(", ") || "none")}</p>`),
        );
      case "/app/old":
        // Its own address, which users cannot reach: the route's rewrite_response_headers corrects it.
        response.writeHead(302, { location: `${origin()}/app` }).end();
        return undefined;
      case "/assistant":
      case "/assistant/":
        return send(response, 200, page(`What I can use for ${email}`, await listServers(gateway, request)));
      default:
        return send(response, 404, page("Not found", `<p>There is no ${escape(pathname)}</p>`));
    }
  }

  const origin = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    origin: origin(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface ListedServer {
  readonly name: string;
  readonly url: string;
  readonly connected: boolean;
}

/** The MCP servers of the gateway that the user may use, each with its tools. */
async function listServers(gateway: string, request: IncomingMessage): Promise<string> {
  const { authorization } = request.headers;
  if (authorization === undefined)
    throw new Error("no External Token came with this request: is the route an MCP client route?");
  const headers = { authorization, accept: "application/json" };
  const listed = await fetch(`${gateway}/.gateway/mcp/routes`, { headers });
  if (!listed.ok) throw new Error(`the gateway answered ${listed.status} when asked for its MCP servers`);
  const { servers } = (await listed.json()) as { servers: readonly ListedServer[] };
  const rows = await Promise.all(
    servers.map(async ({ name, url, connected }) => {
      const tools = connected ? (await listTools(url, authorization)).join(", ") : "not connected yet";
      return `<li><b>${escape(name)}</b> (${escape(url)}): ${escape(tools)}</li>`;
    }),
  );
  return `<ul>${rows.join("")}</ul>`;
}

async function listTools(url: string, authorization: string): Promise<readonly string[]> {
  const client = new Client({ name: "demo-assistant", version: "1.0.0" });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization } } }),
  );
  try {
    return (await client.listTools()).tools.map(({ name }) => name);
  } finally {
    await client.close();
  }
}

function send(response: ServerResponse, status: number, html: string): void {
  response.writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" }).end(html);
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><title>${escape(title)}</title><h1>${escape(title)}</h1>${body}`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
