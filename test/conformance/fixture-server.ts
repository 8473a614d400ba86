/**
 * A dual-era MCP server on the official SDK with everything the conformance suite asks for; it authenticates nobody.
 * Sessions for the eras up to 2025-11-25, stateless for 2026-07-28. Loopback only.
 *
 * Runs alone too: `node test/conformance/fixture-server.ts PORT`.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import {
  localhostHostValidation,
  localhostOriginValidation,
  NodeStreamableHTTPServerTransport,
  toNodeHandler,
} from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  createRequestStateCodec,
  isLegacyRequest,
  McpServer,
  type EventStore,
  type JSONRPCMessage,
} from "@modelcontextprotocol/server";

import { registerInputTools } from "./fixture-inputs.ts";
import { registerPrompts, registerResources } from "./fixture-resources.ts";
import { registerSkills, SKILLS_CAPABILITY } from "./fixture-skills.ts";
import { registerAskingTools, registerContentTools, registerNotifyingTools } from "./fixture-tools.ts";

export interface FixtureServer {
  /** Address of the MCP endpoint. */
  readonly url: string;
  close(): Promise<void>;
}

const stateCodec = createRequestStateCodec({ key: randomUUID() + randomUUID() });

function createFixture(): McpServer {
  const server = new McpServer(
    { name: "gateform-conformance-fixture", version: "1.0.0" },
    {
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        completions: {},
        extensions: SKILLS_CAPABILITY,
      },
      requestState: { verify: (state, ctx) => stateCodec.verify(state, ctx) },
    },
  );
  registerContentTools(server);
  registerNotifyingTools(server);
  registerAskingTools(server);
  registerInputTools(server, stateCodec);
  registerResources(server);
  registerPrompts(server);
  registerSkills(server);
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
  return server;
}

/** Keeps every event of every stream, so that a client can resume; small and never cleaned, for tests only. */
function createEventStore(): EventStore {
  const events: { id: string; stream: string; message: JSONRPCMessage }[] = [];
  return {
    async storeEvent(stream, message) {
      const id = `${stream}_${events.length}`;
      events.push({ id, stream, message });
      return id;
    },
    async replayEventsAfter(lastId, { send }) {
      const from = events.findIndex((event) => event.id === lastId);
      const stream = events[from]?.stream ?? "";
      for (const event of events.slice(from + 1)) {
        if (event.stream === stream && Object.keys(event.message).length > 0) await send(event.id, event.message);
      }
      return stream;
    },
  };
}

export async function startFixtureServer(port = 0): Promise<FixtureServer> {
  const modern = createMcpHandler(createFixture, { legacy: "reject" });
  const handleModern = toNodeHandler(modern);
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const validHost = localhostHostValidation();
  const validOrigin = localhostOriginValidation();

  const handleLegacy = async (req: IncomingMessage, res: ServerResponse, body: unknown): Promise<void> => {
    const id = req.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (known) return known.handleRequest(req, res, body);
    if (typeof id === "string") return answer(res, 404, -32001, "Session not found");
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      eventStore: createEventStore(),
      retryInterval: 500,
      onsessioninitialized: (session) => void sessions.set(session, transport),
      onsessionclosed: (session) => void sessions.delete(session),
    });
    await createFixture().connect(transport);
    return transport.handleRequest(req, res, body);
  };

  const server = createServer((req, res) => {
    void (async () => {
      if (!validHost(req, res) || !validOrigin(req, res)) return;
      if (!req.url?.startsWith("/mcp")) return answer(res, 404, -32600, "Not found");
      const body = req.method === "POST" ? await readJson(req) : undefined;
      const request = new Request(`http://${req.headers.host}${req.url}`, {
        method: req.method ?? "GET",
        headers: webHeaders(req),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      if (await isLegacyRequest(request, body)) return handleLegacy(req, res, body);
      // The adapter's type does not know exactOptionalPropertyTypes; IncomingMessage is what it is made for.
      return handleModern(req as Parameters<typeof handleModern>[0], res, body);
    })().catch(() => {
      if (!res.headersSent) answer(res, 400, -32700, "Parse error");
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async close() {
      for (const transport of sessions.values()) await transport.close();
      await modern.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function webHeaders(req: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(req.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  return headers;
}

async function readJson(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as unknown;
}

function answer(res: ServerResponse, status: number, code: number, message: string): void {
  res.writeHead(status, { "content-type": "application/json" });
  res.end(JSON.stringify({ jsonrpc: "2.0", error: { code, message }, id: null }));
}

if (process.argv[1] === import.meta.filename) {
  const fixture = await startFixtureServer(Number(process.argv[2] ?? 0));
  console.log(fixture.url);
}
