/**
 * An application behind an MCP client route. It implements no OAuth at all: the gateway hands it an External Token with
 * each request, and with it the application lists the MCP servers its user may use, sends the user to connect the ones
 * that are not connected, and lets an LLM call them.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

// "gateform/verify" in an application of your own.
import { AssertionError, verifyAssertion } from "../../runtime/verify.ts";
import type { LlmRequest } from "./llm-api.ts";

export interface App {
  readonly origin: string;
  /** External Tokens that came with requests. */
  readonly tokens: readonly string[];
  close(): Promise<void>;
}

interface ListedServer {
  readonly name: string;
  readonly url: string;
  readonly connected: boolean;
}

/**
 * @param gateway where users visit, "http://localhost:8080"
 * @param prefix of the client route
 */
export async function startApp(options: {
  readonly gateway: string;
  readonly prefix: string;
  readonly llm: string;
}): Promise<App> {
  const { gateway, prefix, llm } = options;
  const tokens: string[] = [];

  /** The servers of the user behind the token. */
  const listServers = async (token: string): Promise<readonly ListedServer[]> => {
    const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
    const answer = await fetch(`${gateway}/.gateway/mcp/routes`, { headers });
    if (!answer.ok) throw new Error(`the gateway answered ${answer.status} when asked for its MCP servers`);
    return ((await answer.json()) as { servers: readonly ListedServer[] }).servers;
  };

  /** Where the user connects a server and comes back here. */
  const connectUrl = ({ url }: ListedServer): string => {
    const connect = new URL("/.gateway/mcp/connect", url);
    connect.searchParams.set("redirect_url", `${gateway}${prefix}/`);
    connect.searchParams.set("resource", url);
    return connect.href;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { email } = await verifyAssertion(request, { gateway });
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
    if (token === undefined) throw new Error("no External Token came: is this an MCP client route?");
    tokens.push(token);
    const url = new URL(request.url ?? "/", gateway);
    const servers = await listServers(token);
    if (url.pathname === `${prefix}/ask`) {
      const asked: LlmRequest = {
        input: url.searchParams.get("question") ?? "",
        tools: servers
          .filter(({ connected }) => connected)
          .map(({ url: server_url }) => ({ type: "mcp", server_url, authorization: token })),
      };
      const answered = await fetch(llm, { method: "POST", body: JSON.stringify(asked) });
      send(response, answered.status, `<p>${escape(await answered.text())}</p>`);
      return;
    }
    const rows = servers.map((server) =>
      server.connected
        ? `<li>${escape(server.name)}: connected</li>`
        : `<li><a href="${escape(connectUrl(server))}">Connect ${escape(server.name)}</a></li>`,
    );
    send(response, 200, `<h1>Assistant of ${escape(email)}</h1><ul>${rows.join("")}</ul>`);
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) =>
      send(response, error instanceof AssertionError ? 401 : 502, `<p>${escape(String(error))}</p>`),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tokens,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { "content-type": "text/html; charset=utf-8", "cache-control": "no-store" });
  response.end(`<!doctype html><html lang="en"><title>Assistant</title>${body}`);
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
