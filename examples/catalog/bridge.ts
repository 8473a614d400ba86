/** Serves a stdio MCP server over Streamable HTTP: one process for each session, as a client would start it. */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export interface Bridge {
  readonly origin: string;
  close(): Promise<void>;
}

const MAX_SESSIONS = 20;

/** @param command program and its arguments */
export async function startBridge(
  command: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<Bridge> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const open = async (): Promise<StreamableHTTPServerTransport> => {
    const inner = new StdioClientTransport({ command, args: [...args], env, stderr: "ignore" });
    const outer = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, outer),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    // Requests of a client wait for the response with their ID; other messages go to the stream of GET.
    Object.assign(outer, {
      onmessage: (message: JSONRPCMessage) => void inner.send(message),
      onclose: () => void inner.close(),
    });
    Object.assign(inner, {
      onmessage: (message: JSONRPCMessage) => void outer.send(message).catch(() => undefined),
      onclose: () => void outer.close(),
    });
    await Promise.all([inner.start(), outer.start()]);
    return outer;
  };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const given = request.headers["mcp-session-id"];
    const known = typeof given === "string" ? sessions.get(given) : undefined;
    if (known === undefined && (given !== undefined || sessions.size >= MAX_SESSIONS)) {
      response.writeHead(given === undefined ? 503 : 404).end();
      return;
    }
    const session = known ?? (await open());
    await session.handleRequest(request, response);
    // The request began no session.
    if (session.sessionId === undefined) await session.close();
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      await Promise.all([...sessions.values()].map((session) => session.close()));
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
