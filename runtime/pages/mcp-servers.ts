/** The user page's part about MCP servers: which there are, whether they are connected, and how clients are set up. */
import type { ClientRecipe } from "./client-recipe.ts";
import { html, type Html } from "./html.ts";

export interface ServerParts {
  readonly name: string;
  /** What clients are given. */
  readonly url: string;
  readonly state: "connected" | "disconnected" | "not-needed";
  /** Where the user connects it. */
  readonly connectUrl: string;
  /** How clients are set up for it. */
  readonly recipes: readonly ClientRecipe[];
  readonly disconnect: { readonly action: string; readonly route: string; readonly csrfToken: string };
}

const STATES: Readonly<Record<ServerParts["state"], string>> = {
  connected: "Connected: the gateway holds your access to the service behind it.",
  disconnected: "Not connected: you have to sign in once to the service behind it.",
  "not-needed": "Ready: no further sign-in is needed.",
};

export function serversSection(servers: readonly ServerParts[]): Html {
  return html`<h2>MCP servers</h2>
    ${servers.map(serverArticle)}`;
}

function serverArticle(server: ServerParts): Html {
  const { name, url, state, connectUrl, disconnect, recipes } = server;
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
      ${recipes.map(
        ({ client, where, text }) =>
          html`<p class="dim">${client}. ${where}:</p>
            <pre tabindex="0">${text}</pre>`,
      )}
    </details>
  </article>`;
}
