/** `gateway catalog export`: the files that clients read. test/real/clients has the clients themselves. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { MANAGED_CLIENTS } from "../../../../runtime/tools/catalog/clients.ts";
import { exportCatalog } from "../../../../runtime/tools/catalog/export.ts";

const YAML = (more: string, routes = ""): string => `
runtime_flags: { mcp: true }
idp_provider_url: https://id.example.com
idp_client_id: gateway
shared_secret: AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=
authenticate_service_url: https://auth.example.com
${more}
routes:
  - { name: wiki, from: "https://wiki.example.com", to: "http://wiki.internal", mcp: { server: { path: /mcp/ } }, allow_any_authenticated_user: true }
  - { name: Old (builds), from: "https://mcp.example.com", prefix: /builds/, to: "http://b.internal", mcp: { server: {} }, allow_any_authenticated_user: true }
  - { name: all, from: "https://all.example.com", mcp: { server: { members: { w: wiki } } }, allow_any_authenticated_user: true }
  - { name: app, from: "https://app.example.com", to: "http://app.internal", allow_any_authenticated_user: true }
${routes}`;
const URLS = ["https://all.example.com", "https://mcp.example.com/builds", "https://wiki.example.com/mcp"];

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-export-"));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

async function exported(client: string, yaml = YAML("mcp_catalog: public")): Promise<string> {
  const file = join(directory, "gateway.yaml");
  await writeFile(file, yaml);
  return exportCatalog(file, client);
}

describe("exportCatalog()", () => {
  test.each([
    ["vscode", { ChatMCP: "registry", McpGalleryServiceUrl: "https://auth.example.com/.gateway/registry" }],
    ["copilot", { allowedMcpServers: [{ serverUrl: URLS[1] }, { serverUrl: URLS[0] }, { serverUrl: URLS[2] }] }],
    [
      "claude-code",
      {
        allowedMcpServers: [{ serverUrl: URLS[1] }, { serverUrl: URLS[0] }, { serverUrl: URLS[2] }],
        allowManagedMcpServersOnly: true,
      },
    ],
    ["cursor", { mcpServers: { all: { url: URLS[0] }, "Old-builds": { url: URLS[1] }, wiki: { url: URLS[2] } } }],
    [
      "gemini",
      {
        mcp: { allowed: ["Old-builds", "all", "wiki"] },
        mcpServers: { all: { httpUrl: URLS[0] }, "Old-builds": { httpUrl: URLS[1] }, wiki: { httpUrl: URLS[2] } },
      },
    ],
  ] as const)("prints JSON for %s", async (client, expected) => {
    expect(JSON.parse(await exported(client))).toEqual(expected);
  });

  test("prints TOML for codex, also without servers", async () => {
    expect(await exported("codex")).toBe(
      `[mcp_servers.Old-builds]\nidentity = { url = "${URLS[1]}" }\n\n[mcp_servers.all]\nidentity = { url = "${URLS[0]}" }\n\n[mcp_servers.wiki]\nidentity = { url = "${URLS[2]}" }\n`,
    );
    expect(MANAGED_CLIENTS.codex.text({ servers: [], registry: undefined })).toBe("[mcp_servers]\n");
  });

  test("gives two servers with the same ID the ID with the owner, and rejects what stays ambiguous", async () => {
    const twin =
      '  - { name: old-builds, from: "https://b.example.com", to: "http://b.internal", mcp: { server: {} }, allow_any_authenticated_user: true }';
    const same =
      '  - { name: "Old builds", from: "https://c.example.com", to: "http://c.internal", mcp: { server: {} }, allow_any_authenticated_user: true }';
    const two = JSON.parse(await exported("cursor", YAML("", `${twin}\n${same}`))) as { mcpServers: object };
    expect(Object.keys(two.mcpServers).toSorted()).toEqual([
      "Old-builds",
      "all",
      "default-Old-builds",
      "old-builds",
      "wiki",
    ]);
    const third = same.replace("Old builds", "Old  builds").replace("c.example", "d.example");
    await expect(exported("cursor", YAML("", `${same}\n${third}`))).rejects.toThrow(
      'two servers have the ID "default-Old-builds"',
    );
  });

  test("has no file for VS Code unless it can read the registry", async () => {
    await expect(exported("vscode", YAML("mcp_catalog: users"))).rejects.toThrow(/Set mcp_catalog to public/);
  });

  test("rejects an unknown client", async () => {
    await expect(exported("toString")).rejects.toThrow(
      'Cannot export for "toString": it must be one of vscode, copilot',
    );
  });

  test("rejects an invalid configuration with its problems", async () => {
    await expect(exported("codex", YAML("mcp_catalog: all"))).rejects.toThrow(/"mcp_catalog" is "all", must be/);
  });
});
