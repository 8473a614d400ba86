/**
 * The page on which a person decides whether an MCP client may act for them; works without JavaScript.
 *
 * It names what tells an honest client from a copy: who vouches for the name, and where the answer goes; and how long the
 * access lasts, and how it is ended.
 *
 * @see MCP security best practices, "Confused deputy"; OAuth 2.1 §7.12
 */
import { html, type Html } from "./html.ts";
import { reference } from "./error.ts";
import { page } from "./layout.ts";
import { redirectText, type RedirectTarget } from "./redirect-target.ts";
import { span, time } from "./time.ts";

export interface ConsentParts extends RedirectTarget {
  /** As the client calls itself; the client id when it has no name. */
  readonly clientName: string;
  /** Host whose document states the name; undefined = the client registered itself and nobody vouches. */
  readonly clientHost: string | undefined;
  /** The MCP servers that tokens will be good for. */
  readonly servers: readonly ConsentServer[];
  readonly scopes: readonly ConsentScope[];
  readonly access: AccessLength;
  /** Email, name or id of who is signed in. */
  readonly user: string;
  readonly form: ConsentForm;
}

export interface ConsentServer {
  readonly name: string;
  readonly url: string;
  /** It did not respond when it was asked whether the user has to connect it. */
  readonly isSilent?: boolean | undefined;
}

export interface ConsentScope {
  readonly scope: string;
  /** Names, or beginnings with "*" behind them, of the tools that it opens; [] for the scope that every token has. */
  readonly tools: readonly string[];
}

/** How long the application may go on without asking again. */
export type AccessLength =
  | { readonly kind: "while-used"; readonly idleSeconds: number; readonly totalSeconds: number | undefined }
  | { readonly kind: "session"; readonly ends: Date };

export interface ConsentForm {
  /** Path that the form is posted to. */
  readonly action: string;
  readonly requestId: string;
  readonly csrfToken: string;
}

/** What a scope means, for people; those without a text are shown as they are. */
function scopeText({ scope, tools }: ConsentScope, serverCount: number): string | Html {
  if (scope === "mcp") {
    const where = serverCount === 1 ? "this MCP server" : "these MCP servers";
    return `Act on your behalf on ${where}, within what you may do there yourself`;
  }
  if (tools.length === 0) return scope;
  const names = tools.map((tool, index) => html`${index > 0 && ", "}<code>${tool}</code>`);
  return html`Use ${tools.length === 1 && !tools[0]?.endsWith("*") ? "the tool" : "the tools"} ${names} (${scope})`;
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
        <dt>Result goes to</dt>
        <dd>${redirectText(parts)}</dd>
        <dt>${parts.servers.length === 1 ? "MCP server" : "MCP servers"}</dt>
        <dd>${serverList(parts.servers)}</dd>
        <dt>Access ends</dt>
        <dd>${accessText(parts.access)}</dd>
      </dl>
      <h2>It will be able to</h2>
      <ul>
        ${parts.scopes.map((scope) => html`<li>${scopeText(scope, parts.servers.length)}</li>`)}
      </ul>
      ${
        parts.servers.some(({ isSilent }) => isSilent) &&
        html`<p class="dim">You can allow access now. A server that did not answer may ask you to connect it later.</p>`
      }
      ${
        parts.isLoopback &&
        html`<p class="warning" role="note">
          <strong>Did you just start this application?</strong> The result goes to a program on this computer, and any
          program here could claim this name. If you did not start it, choose Cancel.
        </p>`
      }
      <form method="post" action="${parts.form.action}">
        ${hiddenFields(parts.form)}
        <button class="primary" type="submit" name="decision" value="approve">Allow</button>
        <button type="submit" name="decision" value="deny">Cancel</button>
      </form>
      <p class="dim">You can end this access at any time on <a href="/.gateway/">your page</a>.</p>`,
  });
}

export type NoAccessParts = Pick<ConsentParts, "clientName" | "servers" | "user" | "form"> & {
  readonly requestId: string;
  readonly supportUrl: string | undefined;
};

/** Answered with NO_ACCESS_STATUS. */
export const NO_ACCESS_STATUS = 403;
/** What the application is told, too. */
const NO_ACCESS_CODE = "access_denied";

/** For somebody whom policy lets do nothing on the server: said before consent, not at each later call. */
export function noAccessPage(parts: NoAccessParts): string {
  return page({
    title: "No access to this MCP server",
    body: html`<p>
        You are signed in as <strong>${parts.user}</strong>. The policy of this gateway does not let you use
        ${parts.servers.length === 1 ? "this server" : "any of these servers"}:
      </p>
      ${serverList(parts.servers)}
      <p>Ask your administrator for access, or sign in as another user.</p>
      <dl>
        <dt>Application</dt>
        <dd>${parts.clientName}</dd>
      </dl>
      <form method="post" action="${parts.form.action}">
        ${hiddenFields(parts.form)}
        <button class="primary" type="submit" name="decision" value="deny">Return to the application</button>
        ${parts.supportUrl !== undefined && html`<a class="button" href="${parts.supportUrl}">Get help</a>`}
      </form>
      ${reference({ status: NO_ACCESS_STATUS, code: NO_ACCESS_CODE, requestId: parts.requestId })}`,
  });
}

function accessText(access: AccessLength): Html {
  if (access.kind === "session") return html`with your sign-in, ${time(access.ends)}`;
  const { idleSeconds, totalSeconds } = access;
  if (totalSeconds === undefined) return html`after ${span(idleSeconds)} without use`;
  if (totalSeconds <= idleSeconds) return html`${span(totalSeconds)} from now`;
  return html`after ${span(idleSeconds)} without use, and ${span(totalSeconds)} from now at the latest`;
}

function serverList(servers: ConsentParts["servers"]): Html {
  return html`<ul>
    ${servers.map(
      ({ name, url, isSilent }) =>
        html`<li>
          ${name} <span class="dim address">${url}</span>${isSilent === true && html` <strong>did not answer</strong>`}
        </li>`,
    )}
  </ul>`;
}

function hiddenFields(form: ConsentForm): Html {
  return html`<input type="hidden" name="request" value="${form.requestId}" />
    <input type="hidden" name="csrf_token" value="${form.csrfToken}" />`;
}
