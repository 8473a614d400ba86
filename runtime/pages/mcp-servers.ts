/** The user page's part about MCP servers: which there are, whether they are connected, and how clients are set up. */
import { html, type Html } from "./html.ts";

export interface ServerParts {
  readonly name: string;
  /** What clients are given. */
  readonly url: string;
  readonly state: "connected" | "disconnected" | "not-needed";
  /** Where the user connects it. */
  readonly connectUrl: string;
  readonly disconnect: { readonly action: string; readonly route: string; readonly csrfToken: string };
}

const STATES: Readonly<Record<ServerParts["state"], string>> = {
  connected: "Connected: the gateway holds your access to the service behind it.",
  disconnected: "Not connected: the service behind it wants you to sign in there once.",
  "not-needed": "Ready: no further sign-in is needed.",
};

export function serversSection(servers: readonly ServerParts[]): Html {
  return html`<h2>MCP servers</h2>
    ${servers.map(serverArticle)}`;
}

function serverArticle(server: ServerParts): Html {
  const { name, url, state, connectUrl, disconnect } = server;
  return html`<article>
    <h3>${name}</h3>
    <p class="dim"><code>${url}</code></p>
    <p>${STATES[state]}</p>
    ${state === "disconnected" && html`<a class="button primary" href="${connectUrl}">Connect ${name}</a>`}
    ${
      state === "connected" &&
      html`<form method="post" action="${disconnect.action}">
        <input type="hidden" name="csrf" value="${disconnect.csrfToken}" />
        <input type="hidden" name="route" value="${disconnect.route}" />
        <button type="submit">Disconnect ${name}</button>
      </form>`
    }
    <details>
      <summary>Set up a client for ${name}</summary>
      ${clientSetups(name, url).map(
        ([client, text]) =>
          html`<p class="dim">${client}</p>
            <pre tabindex="0">${text}</pre>`,
      )}
    </details>
  </article>`;
}

/** Text to copy, by client. A click selects the whole of it (see `pre` in layout.ts). */
export function clientSetups(name: string, url: string): readonly (readonly [client: string, text: string])[] {
  // Clients take few characters in names, and shells give others a meaning.
  const id = name.replace(/[^A-Za-z0-9_-]+/g, "-").replace(/^-+|-+$/g, "") || "mcp-server";
  const json = (value: unknown): string => JSON.stringify(value, undefined, 2);
  return [
    ["Claude Code", `claude mcp add --transport http ${id} ${shellWord(url)}`],
    ["Codex", `codex mcp add ${id} --url ${shellWord(url)}`],
    ["VS Code, in .vscode/mcp.json", json({ servers: { [id]: { type: "http", url } } })],
    ["Cursor, in .cursor/mcp.json", json({ mcpServers: { [id]: { url } } })],
    [
      "Clients that only start programs",
      json({ mcpServers: { [id]: { command: "npx", args: ["-y", "mcp-remote", url] } } }),
    ],
  ];
}

/** One word of a POSIX shell, whatever characters it has. */
function shellWord(text: string): string {
  return /^[A-Za-z0-9@%+=:,./_-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
