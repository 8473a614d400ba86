/** The official SDK clients connect unaided: from a bare 401 to a tool call, through the authorization server. */
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from "@modelcontextprotocol/client";
import { UnauthorizedError as UnauthorizedV1 } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { createSdkProvider } from "../support/sdk-provider.ts";

let world: McpGateway;

beforeAll(async () => {
  world = await startMcpGateway();
});

afterAll(async () => {
  await world?.close();
});

const textOf = (result: unknown): string => JSON.stringify((result as { content: unknown }).content);

describe("SDK v1", () => {
  test("registers, signs in, lists and calls a tool; a denied tool is an error, not a broken connection", async () => {
    const { provider, callback } = createSdkProvider("alice@example.com");
    const url = new URL(world.resource);
    const first = new TransportV1(url, { authProvider: provider });
    await expect(new ClientV1({ name: "v1", version: "1" }).connect(first as never)).rejects.toBeInstanceOf(
      UnauthorizedV1,
    );
    expect(callback().get("state")).toBe("state-of-the-sdk");
    await first.finishAuth(callback().get("code") ?? "");

    const client = new ClientV1({ name: "v1", version: "1" });
    await client.connect(new TransportV1(url, { authProvider: provider }));
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("list_repos");
    expect(textOf(await client.callTool({ name: "list_repos", arguments: {} }))).toContain("gateway");
    await expect(client.callTool({ name: "delete_repo", arguments: { repo: "gateway" } })).rejects.toThrow(/denied/i);
    expect(textOf(await client.callTool({ name: "list_repos", arguments: {} }))).toContain("gateway");
    const { adminOrigin, adminToken } = world.gateway;
    const metrics = await fetch(`${adminOrigin}/metrics`, { headers: { authorization: `Bearer ${adminToken}` } });
    const counts = (await metrics.text()).split("\n").filter((line) => /^mcp_server_operation\w+_count/.test(line));
    const countOf = (...parts: readonly string[]) =>
      counts.find((line) => parts.every((part) => line.includes(part)))?.replace(/^.* /, "");
    expect(countOf('mcp_method_name="initialize"')).toBe("1");
    expect(countOf('mcp_method_name="notifications/initialized"', 'mcp_protocol_version="20')).toBe("1");
    expect(countOf('mcp_method_name="tools/list"')).toBe("1");
    expect(countOf('gen_ai_tool_name="list_repos"', 'mcp_method_name="tools/call"')).toBe("2");
    // No server has answered to its name.
    expect(countOf('error_type="-31403"', 'gen_ai_tool_name="_OTHER"')).toBe("1");
    await client.close();
  });

  test("refreshes automatically when its access token is invalid", async () => {
    const { provider, kept, callback } = createSdkProvider("alice@example.com");
    const url = new URL(world.resource);
    const first = new TransportV1(url, { authProvider: provider });
    await expect(new ClientV1({ name: "v1", version: "1" }).connect(first as never)).rejects.toBeInstanceOf(
      UnauthorizedV1,
    );
    await first.finishAuth(callback().get("code") ?? "");
    const tokens = kept.get("tokens") as Record<string, unknown>;
    kept.set("tokens", { ...tokens, access_token: "gwt_expired" });
    const client = new ClientV1({ name: "v1", version: "1" });
    await client.connect(new TransportV1(url, { authProvider: provider }));
    expect((kept.get("tokens") as Record<string, unknown>)["refresh_token"]).not.toBe(tokens["refresh_token"]);
    await client.close();
  });
});

describe.each(["auto", "legacy"] as const)("SDK v2, version negotiation %s", (mode) => {
  test("registers, signs in with iss checked, lists and calls a tool", async () => {
    const { provider, callback } = createSdkProvider("alice@example.com");
    const url = new URL(world.resource);
    const options = { versionNegotiation: { mode } } as never;
    const first = new TransportV2(url, { authProvider: provider });
    await expect(new ClientV2({ name: "v2", version: "1" }, options).connect(first)).rejects.toBeInstanceOf(
      UnauthorizedV2,
    );
    await first.finishAuth(callback());

    const client = new ClientV2({ name: "v2", version: "1" }, options);
    await client.connect(new TransportV2(url, { authProvider: provider }));
    const { tools } = await client.listTools();
    expect(tools.map((tool) => tool.name)).toContain("list_repos");
    expect(textOf(await client.callTool({ name: "list_repos", arguments: {} }))).toContain("gateway");
    await expect(client.callTool({ name: "delete_repo", arguments: { repo: "gateway" } })).rejects.toThrow(/denied/i);
    await client.close();
  });
});

test("nothing that was denied reached the server", () => {
  expect(world.mcpServer.calls.map(({ tool }) => tool)).not.toContain("delete_repo");
});
