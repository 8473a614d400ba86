/** Two real MCP servers on the official SDKs behind one federated route: one of the revisions with sessions, one of 2026-07-28. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { completable } from "@modelcontextprotocol/sdk/server/completable.js";
import { McpServer as ServerV1, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { ElicitResultSchema, SubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler, McpServer as ServerV2 } from "@modelcontextprotocol/server";
import { z } from "zod";

export interface MemberServer {
  readonly origin: string;
  /** Methods that reached it, in order. */
  readonly seen: string[];
  /** Open sessions, of the one that has some. */
  readonly sessions: ReadonlyMap<string, unknown>;
  /** Forgets all sessions, as a restart does. */
  forget(): void;
  close(): Promise<void>;
}

/** Revisions until 2025-11-25, with sessions. */
export async function startLegacyMember(): Promise<MemberServer> {
  const seen: string[] = [];
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    body: Message | undefined,
  ): Promise<void> => {
    const given = request.headers["mcp-session-id"];
    let transport = sessions.get(String(given));
    if (transport === undefined) {
      const isInitialize = body?.method === "initialize";
      if (!isInitialize) {
        response.writeHead(given === undefined ? 400 : 404, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message: "Bad Request" }, id: null }));
        return;
      }
      const made: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void sessions.set(id, made),
        onsessionclosed: (id) => void sessions.delete(id),
      });
      await legacyServer().connect(made);
      transport = made;
    }
    await transport.handleRequest(request, response, body);
  };
  const server = listen(seen, serve);
  return {
    origin: await server.origin,
    seen,
    sessions,
    forget: () => sessions.clear(),
    close: () => server.close(),
  };
}

function legacyServer(): ServerV1 {
  const server = new ServerV1(
    { name: "old", version: "1" },
    { instructions: "Old files.", capabilities: { logging: {}, resources: { subscribe: true } } },
  );
  const texts = (text: string) => ({ content: [{ type: "text" as const, text }] });
  server.registerTool("echo", { description: "echo", inputSchema: { text: z.string() } }, ({ text }) =>
    texts(`old ${text}`),
  );
  server.registerTool("secret", { description: "secret" }, () => texts("old secret"));
  server.registerTool("steps", { description: "steps" }, async (extra) => {
    const { progressToken } = extra._meta ?? {};
    if (progressToken !== undefined)
      await extra.sendNotification({
        method: "notifications/progress",
        params: { progressToken, progress: 1, total: 2 },
      });
    await server.server.sendLoggingMessage({ level: "info", data: "halfway" }, extra.sessionId);
    return texts("done");
  });
  server.registerTool("confirm", { description: "confirm" }, async (extra) => {
    const params = { message: "Sure?", requestedSchema: { type: "object" as const, properties: {} } };
    const { action } = await extra.sendRequest({ method: "elicitation/create", params }, ElicitResultSchema);
    return texts(`the user said ${action}`);
  });
  server.registerTool("ask", { description: "ask" }, async () => {
    const { action } = await server.server.elicitInput({
      message: "Really?",
      requestedSchema: { type: "object", properties: {} },
    });
    return texts(`the user said ${action}`);
  });
  server.registerTool("touch", { description: "touch" }, async () => {
    await server.server.sendResourceUpdated({ uri: "old://notes/1" });
    return texts("touched");
  });
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}));
  server.registerPrompt(
    "greet",
    { description: "greets", argsSchema: { who: completable(z.string(), () => ["ann", "bob"]) } },
    ({ who }) => ({
      messages: [{ role: "user", content: { type: "text", text: `old hello ${who}` } }],
    }),
  );
  server.registerResource("note", "old://notes/1", {}, (uri) => ({ contents: [{ uri: uri.href, text: "old note" }] }));
  server.registerResource("file", new ResourceTemplate("old://files/{name}", { list: undefined }), {}, (uri) => ({
    contents: [{ uri: uri.href, text: `old file ${uri.pathname}` }],
  }));
  return server;
}

/** Revision 2026-07-28 alone. */
export async function startModernMember(): Promise<MemberServer> {
  const seen: string[] = [];
  const handler = createMcpHandler(modernServer, { legacy: "reject" });
  const handle = toNodeHandler(handler);
  const server = listen(seen, async (request, response, body) =>
    handle(request as NodeIncomingMessageLike, response, body),
  );
  return {
    origin: await server.origin,
    seen,
    sessions: new Map(),
    forget: () => {},
    async close() {
      await handler.close();
      await server.close();
    },
  };
}

function modernServer(): ServerV2 {
  const server = new ServerV2({ name: "new", version: "1" }, { instructions: "New files." });
  const texts = (text: string) => ({ content: [{ type: "text" as const, text }] });
  server.registerTool("echo", { description: "echo", inputSchema: z.object({ text: z.string() }) }, ({ text }) =>
    texts(`new ${text}`),
  );
  server.registerTool("sum", { description: "sum", inputSchema: z.object({ n: z.number() }) }, ({ n }) =>
    texts(`new ${n}`),
  );
  server.registerPrompt("greet", { description: "greets", argsSchema: z.object({ who: z.string() }) }, ({ who }) => ({
    messages: [{ role: "user", content: { type: "text", text: `new hello ${who}` } }],
  }));
  server.registerResource("note", "new://notes/1", {}, (uri) => ({ contents: [{ uri: uri.href, text: "new note" }] }));
  return server;
}

interface Message {
  readonly method?: string;
}

function listen(
  seen: string[],
  serve: (request: IncomingMessage, response: ServerResponse, body: Message | undefined) => Promise<void>,
): { readonly origin: Promise<string>; close(): Promise<void> } {
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const body = text === "" ? undefined : (JSON.parse(text) as Message);
      seen.push(body === undefined ? String(request.method) : (body.method ?? "response"));
      serve(request, response, body).catch(() => response.destroy());
    });
  });
  return {
    origin: new Promise((resolve) => {
      server.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
    }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** The SDKs' clients, with the token of a user of `support/pipeline.ts` and the host of a route. */
export interface Caller {
  readonly port: number;
  readonly path?: string;
  readonly user?: string;
}

function transportOptions({ port, path = "/all", user = "alice" }: Caller) {
  const headers = { authorization: `Bearer gwt_${user}` };
  return { url: new URL(`http://localhost:${port}${path}`), options: { requestInit: { headers } } };
}

export async function connectV1(
  caller: Caller,
  capabilities = {},
): Promise<{ client: ClientV1; transport: TransportV1 }> {
  const { url, options } = transportOptions(caller);
  const client = new ClientV1({ name: "v1", version: "1" }, { capabilities });
  const transport = new TransportV1(url, options);
  await client.connect(transport);
  return { client, transport };
}

/** @param revision of its requests */
export async function connectV2(
  caller: Caller,
  revision: "2025-11-25" | "2026-07-28" = "2026-07-28",
): Promise<{ client: ClientV2; transport: TransportV2 }> {
  const { url, options } = transportOptions(caller);
  const versionNegotiation = { mode: revision === "2026-07-28" ? { pin: revision } : "legacy" } as const;
  const client = new ClientV2({ name: "v2", version: "1" }, { versionNegotiation });
  const transport = new TransportV2(url, options);
  await client.connect(transport);
  return { client, transport };
}
