/** Servers of an invented company, one team each, for a console with something in it. */
import type { InventedTool } from "../mcp-server.ts";

const tool = (name: string, description: string, ...parameters: readonly string[]): InventedTool => ({
  name,
  description,
  parameters,
});

/** Path of an endpoint of the demo's MCP server → its tools. */
export const INVENTED: Readonly<Record<string, readonly InventedTool[]>> = {
  "/salesforce/mcp": [
    tool("find_contact", "Finds a contact by name", "name"),
    tool("update_deal", "Moves a deal to another stage", "deal#", "stage"),
    tool("delete_deal", "Deletes a deal", "deal#"),
    tool("export_contacts", "Exports all contacts"),
  ],
  "/warehouse/mcp": [
    tool("list_tables", "Lists the tables"),
    tool("run_query", "Runs a query", "sql"),
    tool("drop_table", "Removes a table", "table"),
  ],
  "/desk/mcp": [
    tool("find_order", "Finds an order", "order#"),
    tool("refund", "Refunds a part of an order", "order#", "amount#"),
    tool("add_comment", "Adds a comment to an order", "order#", "text"),
  ],
};

interface InventedRoute {
  readonly owner: string;
  readonly name: string;
  readonly description: string;
  readonly policy: object;
}

const has = (group: string): object => ({ groups: { has: group } });
const starts = (text: string): object => ({ mcp_tool: { starts_with: text } });
const refundAbove = (amount: number): object => ({
  mcp_tool_argument: { tool: "refund", argument: "/amount", gt: amount },
});

const ROUTES: readonly InventedRoute[] = [
  {
    owner: "sales",
    name: "salesforce",
    description: "Contacts and deals",
    policy: {
      allow: { or: [has("sales"), has("support")] },
      deny: { or: [{ mcp_tool: { is: "export_contacts" } }, starts("delete_")] },
    },
  },
  {
    owner: "data",
    name: "warehouse",
    description: "Orders and events, read by SQL",
    policy: { allow: { and: [has("data")] }, deny: { and: [{ mcp_tool: { is: "drop_table" } }] } },
  },
];

/** @param mostRefunded a refund above it is denied */
const deskRoute = (mostRefunded: number): InventedRoute => ({
  owner: "payments",
  name: "desk",
  description: "Orders and refunds of the payments team",
  policy: [
    { allow: { or: [has("support"), has("sales")] }, deny: { and: [refundAbove(mostRefunded)] } },
    { approve: { and: [refundAbove(100)] }, approvers: ["admins"] },
  ],
});

/** @returns file name → slice, for the gateway at this origin; all servers are endpoints of the demo's MCP server */
export function trafficSlices(origin: string, mcpServer: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    ROUTES.map((route) => [`${route.owner}.json`, JSON.stringify(sliceOf(route, origin, mcpServer))]),
  );
}

/** Versions of the slice that its team publishes over the admin address, oldest first. */
export function publishedSlices(origin: string, mcpServer: string): readonly object[] {
  return [1_000, 500].map((amount) => sliceOf(deskRoute(amount), origin, mcpServer));
}

function sliceOf({ owner, name, description, policy }: InventedRoute, origin: string, mcpServer: string): object {
  const mcp = { server: { path: "/mcp" } };
  const route = { description, from: origin, prefix: `/${name}`, to: `${mcpServer}/${name}`, mcp, policy };
  return { version: 1, owner, routes: { [name]: route } };
}
