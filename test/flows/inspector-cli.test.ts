/** The MCP Inspector's command line, in both protocol eras: from a bare 401 to tool calls. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { runClient, type Finished } from "../support/terminal-client.ts";
import { LONG_MS } from "../support/limits.ts";

const LAUNCHER = new URL(
  "../../node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js",
  import.meta.url,
).pathname;

let world: McpGateway;
const homes: string[] = [];

beforeAll(async () => {
  world = await startMcpGateway({ federated: true });
});

afterAll(async () => {
  await world?.close();
  for (const home of homes) await rm(home, { recursive: true, force: true });
});

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), "inspector-test-"));
  homes.push(home);
  return home;
}

function inspect(home: string, era: string, ...args: readonly string[]): Promise<Finished> {
  return inspectAt(world.resource, home, era, ...args);
}

function inspectAt(resource: string, home: string, era: string, ...args: readonly string[]): Promise<Finished> {
  return runClient(
    [
      LAUNCHER,
      "--cli",
      resource,
      "--transport=http",
      `--protocol-era=${era}`,
      // Any free port: the default one may be in use, and loopback redirects may come with any port.
      "--callback-url=http://127.0.0.1:0/oauth/callback",
      "--format=json",
      ...args,
    ],
    {
      home,
      user: "alice@example.com",
      // Without a terminal it signs in only where it may open a browser; secrets into its file, not a keychain.
      env: { MCP_AUTO_OPEN_ENABLED: "true", MCP_INSPECTOR_SECRET_STORE: "file" },
    },
  );
}

describe.each(["legacy", "auto", "modern"])(
  "the Inspector's command line, protocol era %s",
  { timeout: LONG_MS },
  (era) => {
    test("connects through a scripted sign-in, lists and calls a tool, and signs in once", async () => {
      const home = await newHome();
      const list = await inspect(home, era, "--method", "tools/list");
      expect(list.exitCode, list.stderr).toBe(0);
      expect(list.asked).toHaveLength(1);
      expect(list.stdout).toContain("list_repos");

      const call = await inspect(home, era, "--method", "tools/call", "--tool-name", "list_repos");
      expect(call.exitCode, call.stderr).toBe(0);
      expect(call.stdout).toContain("playground");
      expect(call.asked).toEqual([]);

      const denied = await inspect(home, era, "--method", "tools/call", "--tool-name", "delete_repo");
      expect(denied.exitCode).not.toBe(0);
      // It calls only listed tools, and this one is not listed.
      expect(denied.stderr).toContain("Tool 'delete_repo' not found on server");
      expect(denied.asked).toEqual([]);
    });
  },
);

test("nothing that was denied reached the server", () => {
  expect(world.mcpServer.calls.map(({ tool }) => tool)).not.toContain("delete_repo");
});

test.each(["legacy", "modern"])(
  "at a federated endpoint, protocol era %s, with one sign-in",
  { timeout: LONG_MS },
  async (era) => {
    const home = await newHome();
    const list = await inspectAt(world.federatedResource, home, era, "--method", "tools/list");
    expect([list.exitCode, list.asked.length], list.stderr).toEqual([0, 1]);
    for (const name of ["t__list_repos", "n__delete_repo"]) expect(list.stdout).toContain(name);
    expect(list.stdout).not.toContain("t__delete_repo");
    const call = await inspectAt(
      world.federatedResource,
      home,
      era,
      "--method",
      "tools/call",
      "--tool-name",
      "t__list_repos",
    );
    expect([call.exitCode, call.asked], call.stderr).toEqual([0, []]);
    expect(call.stdout).toContain("playground");
  },
);
