import { describe, expect, test } from "vitest";

import { formatCheck } from "../../../../runtime/tools/check.ts";
import { matchesDomain, parseDomainPattern } from "../../../../runtime/settings/domains.ts";
import { clientRecipes, KNOWN_CLIENTS } from "../../../../runtime/features/mcp/known-clients.ts";
import { loadSlices } from "../../../../runtime/config/load.ts";
import { CLIENTS } from "../../../../runtime/tools/doctor/clients.ts";
import { snapshotFrom } from "../../../support/config.ts";

const SERVER = `
runtime_flags: { mcp: true }
routes:
  - from: https://tools.example.com
    to: https://tools.example.net
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
    mcp: { server: {} }
`;

/** What `gateway check` says about the setting. */
function notes(domains: string): readonly string[] {
  const text = `shared_secret: ${Buffer.alloc(32).toString("base64")}\ninsecure_server: true\nidp_provider_url: https://idp.example.com\nidp_client_id: gateway\nmcp_allowed_client_id_domains: ${domains}\n${SERVER}`;
  const { problems, config } = loadSlices([{ file: "gateway.yaml", text, boot: true }]);
  expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
  const lines = formatCheck(problems, config).text.split("\n");
  return lines.filter((line) => line.includes("mcp_allowed_client_id_domains"));
}

describe('the word "known-clients" in mcp_allowed_client_id_domains', () => {
  test("allows the domains of the list, in addition to others", () => {
    const { settings } = snapshotFrom("mcp_allowed_client_id_domains: [known-clients, clients.example.com]");
    for (const { domain } of KNOWN_CLIENTS)
      expect(matchesDomain(settings.mcpAllowedClientIdDomains, domain)).toBe(true);
    expect(matchesDomain(settings.mcpAllowedClientIdDomains, "clients.example.com")).toBe(true);
    expect(matchesDomain(settings.mcpAllowedClientIdDomains, "evil.example")).toBe(false);
    expect(matchesDomain(settings.mcpAllowedClientIdDomains, "known-clients")).toBe(false);
  });

  test("represents exact domains with documents and sources, and doctor fetches no other document", () => {
    for (const { domain, document, source } of KNOWN_CLIENTS) {
      expect([new URL(document).protocol, new URL(document).host]).toEqual(["https:", domain]);
      expect(source).not.toBe("");
    }
    const tried = CLIENTS.flatMap(({ byDocument = [] }) => byDocument.map(({ says }) => /https:\S+/.exec(says)?.[0]));
    expect(tried.length).toBeGreaterThan(4);
    const known = new Set(KNOWN_CLIENTS.map(({ document }) => document));
    expect(tried.filter((document) => !known.has(document ?? ""))).toEqual([]);
  });
});

describe("gateway check about mcp_allowed_client_id_domains", () => {
  test("names the excluded products, and the word that admits them", () => {
    const [note = "", ...others] = notes("[vscode.dev]");
    expect(others).toEqual([]);
    expect(note).toContain("Claude Code, Claude, Codex");
    expect(note).toContain('"known-clients"');
  });

  test.each(["[known-clients]", "[claude.ai, chatgpt.com]", "[]"])("is silent about %s", (domains) => {
    expect(notes(domains)).toEqual([]);
  });
});

describe("clientRecipes()", () => {
  const recipes = clientRecipes("Team: tools", "https://tools.example.com/mcp", []);

  test("cover the clients that doctor and the domains know, each with the address or the command that asks for it", () => {
    const known = [...CLIENTS, ...KNOWN_CLIENTS].map(({ name }) => name);
    const others = recipes.filter(({ client }) => !known.some((name) => name.startsWith(client)));
    // Whatever they are, it is mcp-remote that connects.
    expect(others.map(({ client }) => client)).toEqual(["Clients without support for remote servers (stdio)"]);
    expect(others[0]?.text).toContain("mcp-remote");
    expect(known).toContain("mcp-remote");
    for (const { name } of KNOWN_CLIENTS) expect(recipes.map(({ client }) => client)).toContain(name);
    for (const { client, text } of recipes) {
      if (client !== "opencode") expect(text, client).toContain("https://tools.example.com/mcp");
    }
  });

  test("name the server with characters that all of them accept", () => {
    const commands = recipes.filter(({ text }) => text.includes("mcp add "));
    expect(commands.map(({ text }) => text)).toEqual([
      "claude mcp add --transport http Team-tools https://tools.example.com/mcp",
      "codex mcp add Team-tools --url https://tools.example.com/mcp",
    ]);
  });

  test("omit excluded clients", () => {
    const some = clientRecipes("a", "https://a.example.com", [parseDomainPattern("vscode.dev")]);
    expect(some.map(({ client }) => client)).not.toContain("Claude Code");
    expect(some.map(({ client }) => client)).toContain("VS Code");
  });
});
