/**
 * Managed settings of MCP clients: files that administrators install on devices, so that clients use servers of the gateway
 * only. Recorded in November 2026 from the clients' documentation and, where npm has the client, tried with it.
 */
import { GatewayError } from "../../shared/errors.ts";

export interface ExportedServer {
  /** Letters, digits, "-" and "_"; unique. */
  readonly id: string;
  readonly url: string;
}

export interface ExportedCatalog {
  /** In order of their IDs. */
  readonly servers: readonly ExportedServer[];
  /** Base URL of the registry; undefined: none that clients can read without a token. */
  readonly registry: string | undefined;
}

interface ManagedClient {
  /** Where administrators install the file. */
  readonly file: string;
  readonly text: (catalog: ExportedCatalog) => string;
}

export const MANAGED_CLIENTS = {
  vscode: {
    file: "/etc/vscode/policy.json (Linux); the same names in Group Policy and configuration profiles",
    text: ({ registry }) => {
      if (registry === undefined)
        throw new GatewayError(
          "catalog.export",
          "Cannot export for VS Code: it reads the registry without a token. Set mcp_catalog to public, and catalog to public on routes",
        );
      return json({ ChatMCP: "registry", McpGalleryServiceUrl: registry });
    },
  },
  copilot: {
    file: "managed-settings.json of the enterprise, in its .github-private repository, or /etc/github-copilot/managed-settings.json (Linux)",
    text: ({ servers }) => json({ allowedMcpServers: servers.map(({ url }) => ({ serverUrl: url })) }),
  },
  "claude-code": {
    file: "/etc/claude-code/managed-settings.json (Linux)",
    text: ({ servers }) =>
      json({ allowedMcpServers: servers.map(({ url }) => ({ serverUrl: url })), allowManagedMcpServersOnly: true }),
  },
  cursor: {
    file: "~/.cursor/mcp.json; the list of allowed servers is in the team's dashboard only",
    text: ({ servers }) => json({ mcpServers: Object.fromEntries(servers.map(({ id, url }) => [id, { url }])) }),
  },
  codex: {
    file: "/etc/codex/requirements.toml",
    text: ({ servers }) =>
      // A table without entries allows no server.
      servers.length === 0
        ? "[mcp_servers]\n"
        : servers.map(({ id, url }) => `[mcp_servers.${id}]\nidentity = { url = ${tomlText(url)} }\n`).join("\n"),
  },
  gemini: {
    file: "/etc/gemini-cli/settings.json (Linux)",
    text: ({ servers }) =>
      json({
        mcp: { allowed: servers.map(({ id }) => id) },
        mcpServers: Object.fromEntries(servers.map(({ id, url }) => [id, { httpUrl: url }])),
      }),
  },
} as const satisfies Readonly<Record<string, ManagedClient>>;

export type ManagedClientName = keyof typeof MANAGED_CLIENTS;

export const MANAGED_CLIENT_NAMES = Object.keys(MANAGED_CLIENTS) as readonly ManagedClientName[];

function json(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** A basic string; URLs are visible ASCII. */
function tomlText(text: string): string {
  return JSON.stringify(text);
}
