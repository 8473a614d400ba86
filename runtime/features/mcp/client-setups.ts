/** Steps to add a server in each common MCP client. Recorded in November 2026 from the clients' documentation. */

/** @param id letters, digits, "-" and "_" @param url of the server */
export type ClientSetup = (
  id: string,
  url: string,
) => {
  readonly where: string;
  readonly text: string;
  /** Address that makes the client itself add the server. */
  readonly link?: string;
};

const TERMINAL = "In a terminal";

export const claudeCode: ClientSetup = (id, url) => ({
  where: TERMINAL,
  text: `claude mcp add --transport http ${id} ${shellWord(url)}`,
});

export const claude: ClientSetup = (_id, url) => ({
  where: "In Settings, Connectors: add a custom connector with this address",
  text: url,
});

export const codex: ClientSetup = (id, url) => ({
  where: TERMINAL,
  text: `codex mcp add ${id} --url ${shellWord(url)}`,
});

export const chatGpt: ClientSetup = (_id, url) => ({
  where: "In Settings, Connectors, with developer mode on: create a connector with this address",
  text: url,
});

export const vsCode: ClientSetup = (id, url) => ({
  where: "In .vscode/mcp.json",
  text: json({ servers: { [id]: { type: "http", url } } }),
  link: `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: id, type: "http", url }))}`,
});

export const copilotCli: ClientSetup = (id, url) => ({
  where: "In ~/.copilot/mcp-config.json",
  text: json({ mcpServers: { [id]: { type: "http", url, tools: ["*"] } } }),
});

/** Its two versions read different files; the command writes the right one. */
export const openCode: ClientSetup = () => ({
  where: "In a terminal; choose a remote server and give the address",
  text: "opencode mcp add",
});

export const cursor: ClientSetup = (id, url) => ({
  where: "In .cursor/mcp.json",
  text: json({ mcpServers: { [id]: { url } } }),
  link: `cursor://anysphere.cursor-deeplink/mcp/install?${cursorQuery(id, url)}`,
});

export const stdio: ClientSetup = (id, url) => ({
  where: "In the list of servers that the client starts (mcp-remote makes the connection)",
  text: json({ mcpServers: { [id]: { command: "npx", args: ["-y", "mcp-remote", url] } } }),
});

/** Clients accept few characters in names, and shells interpret others. */
export function serverId(name: string): string {
  return name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "") || "mcp-server";
}

function cursorQuery(name: string, url: string): string {
  const config = Buffer.from(JSON.stringify({ url })).toString("base64");
  return new URLSearchParams({ name, config }).toString();
}

function json(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

/** One word of a POSIX shell, with any characters. */
function shellWord(text: string): string {
  return /^[A-Za-z0-9@%+=:,./_-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
