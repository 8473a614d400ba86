/**
 * Domains where the vendors of common MCP clients publish their client ID documents: the meaning of "known-clients" in
 * `mcp_allowed_client_id_domains`. The only such list; `gateway doctor` fetches the same documents.
 *
 * Recorded in November 2026. A domain is listed only if its owner makes the client and serves no third-party files on
 * it. (github.com serves those from other hosts, by redirects, which are not followed.)
 */
import * as setups from "./client-setups.ts";
import type { ClientSetup } from "./client-setups.ts";
import { matchesDomain, parseDomainPattern, type DomainPattern } from "../../settings/domains.ts";

export interface KnownClient {
  readonly name: string;
  readonly domain: string;
  /** The client's document URL. */
  readonly document: string;
  readonly setup: ClientSetup;
  /** It never registers dynamically where documents are supported, even if its own is rejected. */
  readonly isLockedOut?: true;
  /** Documentation or source that states it. */
  readonly source: string;
}

export const KNOWN_CLIENTS: readonly KnownClient[] = [
  {
    name: "Claude Code",
    setup: setups.claudeCode,
    domain: "claude.ai",
    document: "https://claude.ai/oauth/claude-code-client-metadata",
    isLockedOut: true,
    source: "what Claude Code 2.1 sends, in reports of servers",
  },
  {
    name: "Claude",
    setup: setups.claude,
    domain: "claude.ai",
    document: "https://claude.ai/oauth/mcp-oauth-client-metadata",
    isLockedOut: true,
    source: "what claude.ai sends, in reports of servers",
  },
  {
    name: "Codex",
    setup: setups.codex,
    domain: "chatgpt.com",
    // For servers that send `iss`; others get https://chatgpt.com/oauth/codex/<callback id>/client.json.
    document: "https://chatgpt.com/oauth/codex/client.json",
    isLockedOut: true,
    source: "OpenAI's Codex documentation, MCP, OAuth",
  },
  {
    name: "ChatGPT",
    setup: setups.chatGpt,
    domain: "chatgpt.com",
    document: "https://chatgpt.com/oauth/client.json",
    source: "what ChatGPT sends, in reports of servers; others are https://chatgpt.com/oauth/<id>/client.json",
  },
  {
    name: "VS Code",
    setup: setups.vsCode,
    domain: "vscode.dev",
    document: "https://vscode.dev/oauth/client-metadata.json",
    source: "github.com/microsoft/vscode, src/vs/base/common/oauth.ts",
  },
  {
    name: "Copilot CLI",
    setup: setups.copilotCli,
    domain: "github.com",
    document: "https://github.com/copilot/cli/client-metadata.json",
    source: "what Copilot CLI sends, in reports of servers",
  },
  {
    name: "opencode",
    setup: setups.openCode,
    domain: "opencode.ai",
    document: "https://opencode.ai/oauth/opencode/client.json",
    source: "github.com/anomalyco/opencode, pull request 47737",
  },
];

/** Common clients without a document: they register dynamically. */
const REGISTERING_CLIENTS: readonly Pick<KnownClient, "name" | "setup">[] = [
  { name: "Cursor", setup: setups.cursor },
  { name: "Clients without support for remote servers (stdio)", setup: setups.stdio },
];

/** Used instead of a domain. It cannot be a host: names of one label have no owner. */
export const KNOWN_CLIENTS_WORD = "known-clients";

/** @param texts values of `mcp_allowed_client_id_domains`, checked */
export function parseClientIdDomains(texts: readonly string[]): readonly DomainPattern[] {
  const known = [...new Set(KNOWN_CLIENTS.map(({ domain }) => domain))];
  return texts.flatMap((text) => (text === KNOWN_CLIENTS_WORD ? known : [text])).map(parseDomainPattern);
}

/** Names of common clients that cannot connect with these domains, because they do not fall back to registration. */
export function lockedOutClients(domains: readonly DomainPattern[]): readonly string[] {
  if (domains.length === 0) return [];
  return KNOWN_CLIENTS.filter(({ domain, isLockedOut }) => isLockedOut === true && !matchesDomain(domains, domain)).map(
    ({ name }) => name,
  );
}

export interface ClientInstructions {
  readonly client: string;
  /** Where to use the text: "In a terminal". */
  readonly where: string;
  /** Text to copy unchanged. */
  readonly text: string;
  /** Address that makes the client itself add the server. */
  readonly link?: string;
}

/**
 * How a user adds a server in each common client that can connect.
 *
 * @param name name of the server, any text
 * @param url its address
 * @param domains values of `mcp_allowed_client_id_domains`
 */
export function clientRecipes(
  name: string,
  url: string,
  domains: readonly DomainPattern[],
): readonly ClientInstructions[] {
  const lockedOut = lockedOutClients(domains);
  const id = setups.serverId(name);
  return [...KNOWN_CLIENTS, ...REGISTERING_CLIENTS]
    .filter((client) => !lockedOut.includes(client.name))
    .map((client) => ({ client: client.name, ...client.setup(id, url) }));
}
