/**
 * A stand-in for the API of an LLM that calls MCP servers by itself, as several offer: the caller names a server and hands
 * over a token, and the "model" lists the tools and calls the one that the prompt names.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";

/** The part of such an API that matters here. */
export interface LlmRequest {
  readonly input: string;
  readonly tools: readonly {
    readonly type: "mcp";
    readonly server_url: string;
    /** The External Token: good for the MCP servers of one user, for a few minutes, and for nothing else. */
    readonly authorization: string;
  }[];
}

export interface LlmApi {
  readonly origin: string;
  /** Tokens that callers handed over. */
  readonly tokens: readonly string[];
  close(): Promise<void>;
}

export async function startLlmApi(): Promise<LlmApi> {
  const tokens: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as LlmRequest;
      for (const { authorization } of asked.tools) tokens.push(authorization);
      think(asked).then(
        (output) => response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ output })),
        (error: unknown) =>
          response.writeHead(502, { "content-type": "application/json" }).end(JSON.stringify({ error: String(error) })),
      );
    });
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

/** Calls the first tool whose name the input has in it. */
async function think({ input, tools }: LlmRequest): Promise<string> {
  for (const { server_url: url, authorization } of tools) {
    const client = new Client({ name: "llm-api", version: "1.0.0" });
    const requestInit = { headers: { authorization: `Bearer ${authorization}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    try {
      const { tools: offered } = await client.listTools();
      const wanted = offered.find(({ name }) => input.includes(name));
      if (!wanted) continue;
      const { content } = await client.callTool({ name: wanted.name, arguments: {} });
      const [first] = content;
      return first?.type === "text" ? first.text : JSON.stringify(content);
    } finally {
      await client.close();
    }
  }
  return "I know no tool for that";
}
