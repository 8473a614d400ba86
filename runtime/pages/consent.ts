/**
 * The page on which a person decides whether an MCP client may act for them; works without JavaScript.
 *
 * It names what tells an honest client from a copy: who vouches for the name, and where the answer goes.
 *
 * @see MCP security best practices, "Confused deputy"; OAuth 2.1 §7.12
 */
import { html, type Html } from "./html.ts";
import { page } from "./layout.ts";

export interface ConsentParts {
  /** As the client calls itself; the client id when it has no name. */
  readonly clientName: string;
  /** Host whose document states the name; undefined = the client registered itself and nobody vouches. */
  readonly clientHost: string | undefined;
  /** Host, or scheme of an application, that gets the answer. */
  readonly redirectTarget: string;
  /** The answer goes to a program on the user's own machine. */
  readonly isLoopback: boolean;
  /** The MCP servers that tokens will be good for. */
  readonly servers: readonly { readonly name: string; readonly url: string }[];
  readonly scopes: readonly string[];
  /** Email, name or id of who is signed in. */
  readonly user: string;
  readonly form: ConsentForm;
}

export interface ConsentForm {
  /** Path that the form is posted to. */
  readonly action: string;
  readonly requestId: string;
  readonly csrfToken: string;
}

/** What a scope means, for people; those without a text are shown as they are. */
function scopeText(scope: string, serverCount: number): string {
  if (scope !== "mcp") return scope;
  return `Act on your behalf on ${serverCount === 1 ? "this MCP server" : "these MCP servers"}, as far as policy lets you`;
}

/** Send with `pageHeaders([…])` that names where the answer goes: browsers hold the form's redirects to `form-action`. */
export function consentPage(parts: ConsentParts): string {
  return page({
    title: `Allow ${parts.clientName} to act for you?`,
    body: html`<p>You are signed in as <strong>${parts.user}</strong>.</p>
      <dl>
        <dt>Application</dt>
        <dd>${parts.clientName}</dd>
        <dt>Identified by</dt>
        <dd>${parts.clientHost ?? "its own registration; the name is not verified"}</dd>
        <dt>Answer goes to</dt>
        <dd><code>${parts.redirectTarget}</code>${parts.isLoopback && " (this computer)"}</dd>
        <dt>${parts.servers.length === 1 ? "MCP server" : "MCP servers"}</dt>
        <dd>${serverList(parts.servers)}</dd>
      </dl>
      <h2>It will be able to</h2>
      <ul>
        ${parts.scopes.map((scope) => html`<li>${scopeText(scope, parts.servers.length)}</li>`)}
      </ul>
      ${
        parts.isLoopback &&
        html`<p class="warning" role="note">
          <strong>Did you just start this application?</strong> The answer goes to a program on this computer, and any
          program here could claim to be it. If you did not start it, cancel.
        </p>`
      }
      <form method="post" action="${parts.form.action}">
        ${hiddenFields(parts.form)}
        <button class="primary" type="submit" name="decision" value="approve">Allow</button>
        <button type="submit" name="decision" value="deny">Cancel</button>
      </form>`,
  });
}

export type NoAccessParts = Pick<ConsentParts, "clientName" | "servers" | "user" | "form"> & {
  /** Request id, to quote to an administrator. */
  readonly reference: string;
};

/** For somebody whom policy lets do nothing on the server: said before consent, not at each later call. */
export function noAccessPage(parts: NoAccessParts): string {
  return page({
    title: "No access to this MCP server",
    body: html`<p>
        You are signed in as <strong>${parts.user}</strong>, and policy does not let you use
        ${parts.servers.length === 1 ? "this server" : "any of these servers"}:
      </p>
      ${serverList(parts.servers)}
      <p>Ask your administrator for access, or sign in as somebody else.</p>
      <dl>
        <dt>Application</dt>
        <dd>${parts.clientName}</dd>
        <dt>Request ID</dt>
        <dd><code>${parts.reference}</code></dd>
      </dl>
      <form method="post" action="${parts.form.action}">
        ${hiddenFields(parts.form)}
        <button type="submit" name="decision" value="deny">Return to the application</button>
      </form>`,
  });
}

function serverList(servers: ConsentParts["servers"]): Html {
  return html`<ul>
    ${servers.map((server) => html`<li>${server.name} <span class="dim address">${server.url}</span></li>`)}
  </ul>`;
}

function hiddenFields(form: ConsentForm): Html {
  return html`<input type="hidden" name="request" value="${form.requestId}" />
    <input type="hidden" name="csrf_token" value="${form.csrfToken}" />`;
}
