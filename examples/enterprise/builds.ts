/** The MCP server of the story: builds of a project, and a stream on which whoever listens hears of new ones. It wants a key. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

export interface BuildsServer {
  /** What a route's `to` is. */
  readonly origin: string;
  /** What was reported, oldest first. */
  readonly builds: readonly string[];
  /** Good ones: two while one is changed. */
  readonly keys: Set<string>;
  /** The key that came with the last request. */
  lastKey(): string;
  close(): Promise<void>;
}

export async function startBuildsServer(key: string): Promise<BuildsServer> {
  const keys = new Set([key]);
  let lastKey = "";
  const builds: string[] = [];
  const listeners = new Set<ServerResponse>();
  const report = (name: string): void => {
    builds.push(name);
    const params = { level: "info", logger: "builds", data: name };
    const event = `data: ${JSON.stringify({ jsonrpc: "2.0", method: "notifications/message", params })}\n\n`;
    for (const listener of listeners) listener.write(event);
  };
  const handler = createMcpHandler(() => createTools(builds, report));
  const serveMcp = toNodeHandler(handler);

  const server = createServer((request, response) => {
    lastKey = String(request.headers["x-builds-key"]);
    if (request.url !== "/mcp") {
      response.writeHead(404).end();
    } else if (!keys.has(lastKey)) {
      response.writeHead(403).end();
    } else if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(": listening\n\n");
      listeners.add(response);
      response.once("close", () => listeners.delete(response));
    } else {
      // The cast: Node types `method` as "string or undefined", the SDK as optional.
      void serveMcp(request as NodeIncomingMessageLike, response);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    builds,
    keys,
    lastKey: () => lastKey,
    async close() {
      await handler.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function createTools(builds: readonly string[], report: (name: string) => void): McpServer {
  const server = new McpServer({ name: "builds", version: "1.0.0" }, { capabilities: { logging: {} } });
  const answer = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
  const named = fromJsonSchema<{ readonly name: string }>({
    type: "object",
    properties: { name: { type: "string" } },
    required: ["name"],
  });
  const nothing = fromJsonSchema<object>({ type: "object", properties: {} });
  server.registerTool("list_builds", { description: "Lists the builds", inputSchema: nothing }, () => answer(builds));
  server.registerTool("report_build", { description: "Reports a build", inputSchema: named }, ({ name }) => {
    report(name);
    return answer({ reported: name });
  });
  server.registerTool("delete_build", { description: "Deletes a build for good", inputSchema: named }, ({ name }) =>
    answer({ deleted: name }),
  );
  return server;
}
