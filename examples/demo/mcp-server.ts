/**
 * The MCP server behind the demo's two MCP routes, on the official SDK.
 *
 * It has no authentication and no authorization of its own: it listens on loopback and trusts the gateway in front. It
 * speaks both protocol eras: stateless 2026-07-28, and the sessions of 2025 by the SDK's stateless fallback.
 *
 * `node examples/demo/mcp-server.ts` starts it alone and prints its address.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { localhostHostValidation, type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, type McpRequestContext, McpServer } from "@modelcontextprotocol/server";
import { decodeJwt } from "jose";

/** A tool call that reached the server. What the gateway denied is not among them. */
export interface SeenCall {
  readonly tool: string;
  readonly arguments: unknown;
}

export interface RunningMcpServer {
  /** Address of the MCP endpoint, "http://127.0.0.1:PORT/mcp". */
  readonly url: string;
  /** "http://127.0.0.1:PORT", what a route's `to` is. */
  readonly origin: string;
  /** Calls so far, oldest first. */
  readonly calls: readonly SeenCall[];
  close(): Promise<void>;
}

const MCP_PATH = "/mcp";

/** A tool of an invented server: it answers "done". Parameters that end with "#" are numbers. */
export interface InventedTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly string[];
}

export interface McpServerOptions {
  /** Default: any free one. */
  readonly port?: number;
  /** Further MCP endpoints by path, such as "/desk/mcp". */
  readonly invented?: Readonly<Record<string, readonly InventedTool[]>>;
}

/** Starts the server on loopback. */
export async function startMcpServer(options: McpServerOptions = {}): Promise<RunningMcpServer> {
  const calls: SeenCall[] = [];
  const notes: string[] = [];
  const repositories = new Set(["gateway", "website", "playground"]);
  const handlers = new Map([
    [MCP_PATH, createMcpHandler((context) => createTools(context, { calls, notes, repositories }))],
    ...Object.entries(options.invented ?? {}).map(
      ([path, tools]) => [path, createMcpHandler(() => createInvented(tools, calls))] as const,
    ),
  ]);
  const endpoints = new Map([...handlers].map(([path, handler]) => [path, toNodeHandler(handler)]));
  // A page in the user's browser must not reach this server by a DNS name that points to loopback.
  const hasLocalHost = localhostHostValidation();

  const server = createServer((request, response) => {
    if (!hasLocalHost(request, response)) return;
    const serveMcp = endpoints.get(new URL(request.url ?? "/", "http://localhost").pathname);
    if (!serveMcp) {
      response.writeHead(404, { "content-type": "text/plain" }).end(`No such page; the MCP endpoint is ${MCP_PATH}\n`);
      return;
    }
    // The cast: Node types `method` as "string or undefined", the SDK as optional.
    void serveMcp(request as NodeIncomingMessageLike, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  return {
    origin,
    url: origin + MCP_PATH,
    calls,
    async close() {
      await Promise.all([...handlers.values()].map((handler) => handler.close()));
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

interface State {
  readonly calls: SeenCall[];
  readonly notes: string[];
  readonly repositories: Set<string>;
}

/** One instance serves one request, so what tools remember lives in `state`. */
function createTools(context: McpRequestContext, state: State): McpServer {
  const server = new McpServer({ name: "demo", version: "1.0.0" });
  const tool = (name: string, description: string, parameters: readonly string[], run: (input: Input) => unknown) =>
    server.registerTool(name, { description, inputSchema: textParameters(parameters) }, (input) => {
      state.calls.push({ tool: name, arguments: input });
      return { content: [{ type: "text" as const, text: JSON.stringify(run(input)) }] };
    });

  tool("list_repos", "Lists the repositories", [], () => [...state.repositories]);
  tool("create_issue", "Opens an issue in a repository", ["repo", "title"], ({ repo, title }) => ({
    repo,
    title,
    number: state.calls.filter((call) => call.tool === "create_issue").length,
  }));
  tool("delete_repo", "Deletes a repository for good", ["repo"], ({ repo }) => ({
    deleted: state.repositories.delete(repo ?? ""),
  }));
  tool("add_note", "Keeps a note", ["text"], ({ text }) => {
    state.notes.push(text ?? "");
    return { notes: state.notes.length };
  });
  tool("list_notes", "Lists the notes", [], () => state.notes);
  tool("whoami", "Shows what the gateway told this server about you", [], () => toldByGateway(context.requestInfo));
  return server;
}

function createInvented(tools: readonly InventedTool[], calls: SeenCall[]): McpServer {
  const server = new McpServer({ name: "invented", version: "1.0.0" });
  for (const { name, description, parameters } of tools)
    server.registerTool(name, { description, inputSchema: textParameters(parameters) }, (input) => {
      calls.push({ tool: name, arguments: input });
      return { content: [{ type: "text" as const, text: "done" }] };
    });
  return server;
}

type Input = Readonly<Record<string, string>>;

/** An input schema of required texts, and numbers whose names end with "#". */
function textParameters(names: readonly string[]) {
  const plain = names.map((name) => name.replace("#", ""));
  return fromJsonSchema<Input>({
    type: "object",
    properties: Object.fromEntries(
      plain.map((name, at) => [name, { type: names[at]?.endsWith("#") ? "number" : "string" }]),
    ),
    required: plain,
  });
}

/** The user's claims and the headers that the gateway added. A server that decides by them verifies, see web-app.ts. */
function toldByGateway(request: Request | undefined): { claims: unknown; headers: Record<string, string> } {
  const added = [...(request?.headers ?? [])].filter(([name]) => /^x-(gateway|demo)-/.test(name));
  const headers = Object.fromEntries(added);
  const assertion = headers["x-gateway-assertion"];
  return { claims: assertion === undefined ? null : decodeJwt(assertion), headers };
}

if (import.meta.main) {
  const running = await startMcpServer({ port: Number(process.env["DEMO_MCP_PORT"] ?? 0) });
  console.log(`MCP server on ${running.url}`);
}
