/** The page for browsers at the address of an MCP server: what the address is for, and how to give it to an application. */
import type { ClientRecipe } from "./client-recipe.ts";
import { reference, type ErrorPageParts } from "./error.ts";
import { html } from "./html.ts";
import { mark, page, type Page } from "./layout.ts";

/** Only what the public metadata of the resource says, because no user has signed in. */
export interface McpAddressParts extends Pick<ErrorPageParts, "status" | "code" | "requestId" | "supportUrl"> {
  readonly name: string;
  /** Address for clients. */
  readonly url: string;
  readonly recipes: readonly ClientRecipe[];
}

export function mcpAddressPage(parts: McpAddressParts): Page {
  const { name, url, recipes, supportUrl } = parts;
  return page({
    title: "This address is for MCP clients",
    mark: mark("info", "clients"),
    reference: reference(parts),
    body: html`<p>
        <strong>${name}</strong> is an MCP server. An application, such as a chat or a code editor, uses it for you; a
        browser cannot. Give this address to your application. It will ask you to sign in.
      </p>
      <h2>Address to copy</h2>
      <pre tabindex="0">${url}</pre>
      <h2>How to add it</h2>
      ${recipes.map(
        ({ client, where, text }) =>
          html`<details>
            <summary>${client}</summary>
            <p class="dim">${where}:</p>
            <pre tabindex="0">${text}</pre>
          </details>`,
      )}
      <h2>What you have connected</h2>
      <p>Your page lists your applications and ends their access. You sign in to see it.</p>
      <p class="actions">
        <a class="button" href="/.gateway/">Open your page</a>
        ${supportUrl !== undefined && html`<a class="button" href="${supportUrl}">Get help</a>`}
      </p>`,
  });
}
