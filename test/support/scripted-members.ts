/** MCP servers whose every response a test writes itself: one for each path of one HTTP server. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ScriptedMessage {
  readonly id?: unknown;
  readonly method?: string;
  readonly result?: unknown;
  readonly params?: Readonly<Record<string, unknown>>;
}

export interface Asked {
  readonly path: string;
  readonly httpMethod: string;
  readonly headers: IncomingMessage["headers"];
  readonly message: ScriptedMessage;
  readonly response: ServerResponse;
}

/** "taken": the script writes the response itself. */
export type Scripted = object | readonly object[] | "taken" | undefined;
export type Script = (asked: Asked) => Scripted;

export interface ScriptedMembers {
  readonly origin: string;
  readonly seen: Asked[];
  /** Paths without a script are honest servers with four tools. */
  readonly scripts: Map<string, Script>;
  close(): void;
}

export async function startScriptedMembers(): Promise<ScriptedMembers> {
  const seen: Asked[] = [];
  const scripts = new Map<string, Script>();
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const message = JSON.parse(Buffer.concat(chunks).toString() || "{}") as ScriptedMessage;
      const { url: path = "", method: httpMethod = "", headers } = request;
      const asked = { path, httpMethod, headers, message, response };
      seen.push(asked);
      const answer = (scripts.get(path) ?? honestly)(asked);
      if (answer === "taken") return;
      if (answer === undefined) response.writeHead(message.method === undefined ? 405 : 202).end();
      else if (Array.isArray(answer)) events(response, ...answer).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    scripts,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Begins or continues an event stream. An event with `id` and nothing else has no message. */
export function events(response: ServerResponse, ...messages: readonly object[]): ServerResponse {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  for (const message of messages) response.write(`data: ${JSON.stringify(message)}\n\n`);
  return response;
}

export function resultOf({ id }: ScriptedMessage, result: object): object {
  return { jsonrpc: "2.0", id, result };
}

/** A server of the revisions without sessions, and stateless before. */
export const honestly: Script = ({ message }) => {
  const { id, method = "", params } = message;
  if (id === undefined) return undefined;
  const tools = ["t0", "t1", "t2", "t3"].map((name) => ({ name, inputSchema: { type: "object" } }));
  const result = {
    initialize: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "s", version: "1" } },
    "tools/list": { tools },
    "resources/list": { resources: [] },
    "resources/templates/list": { resourceTemplates: [] },
    "tools/call": { content: [{ type: "text", text: `called ${String(params?.["name"])}` }] },
    "resources/read": { contents: [{ uri: params?.["uri"], text: "read" }] },
  }[method];
  return result ? resultOf(message, result) : { jsonrpc: "2.0", id, error: { code: -32601, message: "No" } };
};

/** A server of revision 2026-07-28. @param own its other methods */
export function modern(own: Script, capabilities: object = {}): Script {
  return (asked) => {
    const { message } = asked;
    if (message.method === "server/discover")
      return resultOf(message, { resultType: "complete", supportedVersions: ["2026-07-28"], capabilities });
    return own(asked) ?? honestly(asked);
  };
}

/** A server of the earlier revisions with one session, "its-session". @param own its other methods */
export function withSession(own: Script, capabilities: object = {}): Script {
  return (asked) => {
    const { message, response, headers } = asked;
    const serverInfo = { name: "s", version: "1" };
    if (message.method === "initialize") {
      response.setHeader("mcp-session-id", "its-session");
      return resultOf(message, { protocolVersion: "2025-11-25", capabilities, serverInfo });
    }
    if (message.method !== "server/discover" && headers["mcp-session-id"] !== "its-session")
      return { jsonrpc: "2.0", id: message.id, error: { code: -32001, message: "No session" } };
    return own(asked) ?? honestly(asked);
  };
}
