/** The ticket desk: an MCP server on the official SDK that trusts the gateway in front, and may change under its users. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

export interface DeskServer {
  /** "http://127.0.0.1:PORT", what the route's `to` is. */
  readonly origin: string;
  /** What was paid back, oldest first: what the gateway denied is not among it. */
  readonly refunds: readonly Refund[];
  /** Each call of a tool so far. */
  readonly calls: readonly string[];
  /** The server's next release says something else of a tool. */
  describe(tool: string, description: string): void;
  close(): Promise<void>;
}

export interface Refund {
  readonly order: string;
  readonly amount: number;
}

interface Tool {
  readonly name: string;
  description: string;
  readonly properties: Readonly<Record<string, { readonly type: string }>>;
}

const TICKET = { ticket: { type: "string" } };

/** @param more names of tools beside its own */
export async function startDesk(more: readonly string[] = []): Promise<DeskServer> {
  const refunds: Refund[] = [];
  const calls: string[] = [];
  const tools: Tool[] = [
    { name: "list_tickets", description: "Lists open tickets", properties: {} },
    { name: "read_ticket", description: "Shows one ticket", properties: TICKET },
    {
      name: "refund",
      description: "Pays an amount back to the customer of an order",
      properties: { order: { type: "string" }, amount: { type: "number" } },
    },
    { name: "delete_ticket", description: "Deletes a ticket for good", properties: TICKET },
    { name: "export_customers", description: "Exports all customers", properties: {} },
    ...more.map((name) => ({ name, description: "Does what it says", properties: {} })),
  ];
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: "desk", version: "1.0.0" });
    for (const { name, description, properties } of tools) {
      const inputSchema = fromJsonSchema<Record<string, unknown>>({
        type: "object",
        properties,
        required: Object.keys(properties),
      });
      server.registerTool(name, { description, inputSchema }, (input) => {
        calls.push(name);
        if (name === "refund") refunds.push({ order: String(input["order"]), amount: Number(input["amount"]) });
        return { content: [{ type: "text" as const, text: `${name} done` }] };
      });
    }
    return server;
  });
  const serve = toNodeHandler(handler);
  // The cast: Node types `method` as "string or undefined", the SDK as optional.
  const server = createServer((request, response) => void serve(request as NodeIncomingMessageLike, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    refunds,
    calls,
    describe(name, description) {
      const tool = tools.find((each) => each.name === name);
      if (tool) tool.description = description;
    },
    async close() {
      await handler.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
