/** mcp-remote, the bridge that gives local-only hosts remote servers: from a bare 401 to tool calls over stdio. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { clientEnvironment, signInWhenAsked, type SignInWatch } from "../support/terminal-client.ts";

const PROXY = new URL("../../node_modules/mcp-remote/dist/proxy.js", import.meta.url).pathname;

let world: McpGateway;
let home: string;

beforeAll(async () => {
  world = await startMcpGateway({ federated: true });
  home = await mkdtemp(join(tmpdir(), "mcp-remote-test-"));
});

afterAll(async () => {
  await world?.close();
  if (home !== undefined) await rm(home, { recursive: true, force: true });
});

interface Host {
  readonly client: Client;
  readonly watch: SignInWatch;
}

/** A host application that starts mcp-remote as its configuration says: `npx mcp-remote URL`. */
async function startHost(resource = world.resource): Promise<Host> {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROXY, resource],
    env: { ...clientEnvironment(home), MCP_REMOTE_CONFIG_DIR: home },
    stderr: "pipe",
  });
  const watch = signInWhenAsked(transport.stderr as Readable, "alice@example.com");
  const client = new Client({ name: "host", version: "1" });
  try {
    await client.connect(transport);
    await watch.settled();
  } catch (error) {
    await client.close();
    throw new Error(`Cannot connect:\n${watch.text()}`, { cause: error });
  }
  return { client, watch };
}

test("mcp-remote connects through a scripted sign-in, lists and calls a tool; a denied tool is an error and the next call works", async () => {
  const { client, watch } = await startHost();
  try {
    expect(watch.asked).toHaveLength(1);
    expect(new URL(watch.asked[0] ?? "").searchParams.get("resource")).toBe(world.resource);
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("list_repos");
    expect(JSON.stringify(await client.callTool({ name: "list_repos", arguments: {} }))).toContain("gateway");
    await expect(client.callTool({ name: "delete_repo", arguments: { repo: "gateway" } })).rejects.toThrow(/denied/i);
    expect(JSON.stringify(await client.callTool({ name: "list_repos", arguments: {} }))).toContain("gateway");
  } finally {
    await client.close();
  }
  expect(world.mcpServer.calls.map(({ tool }) => tool)).not.toContain("delete_repo");
});

test("mcp-remote reconnects with its stored tokens, without user interaction", async () => {
  const { client, watch } = await startHost();
  try {
    expect(watch.asked).toEqual([]);
    expect(JSON.stringify(await client.callTool({ name: "list_repos", arguments: {} }))).toContain("gateway");
  } finally {
    await client.close();
  }
});

test("mcp-remote offers a federated endpoint, with the tools of both servers that the user may use", async () => {
  const { client } = await startHost(world.federatedResource);
  try {
    const names = (await client.listTools()).tools.map((tool) => tool.name);
    expect(names).toEqual(expect.arrayContaining(["t__list_repos", "n__list_repos", "n__delete_repo"]));
    expect(names).not.toContain("t__delete_repo");
    expect(JSON.stringify(await client.callTool({ name: "n__list_repos", arguments: {} }))).toContain("gateway");
    await expect(client.callTool({ name: "t__delete_repo", arguments: {} })).rejects.toThrow(/denied/i);
  } finally {
    await client.close();
  }
});
