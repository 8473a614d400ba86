/**
 * The page on which a user decides whether an MCP client may act for them; works without JavaScript.
 *
 * It names what tells an honest client from a copy: who has verified the name, and where the answer goes. It also says what
 * the client can do with the user's permissions, how long that lasts, and how to end it.
 *
 * @see MCP security best practices, "Confused deputy"; OAuth 2.1 §7.12
 */
import { drawnIcon, type Icon } from "./icons.ts";
import { html, type Html, type HtmlValue } from "./html.ts";
import { reference } from "./error.ts";
import { mark, page, type Page, warning } from "./layout.ts";
import { monogram } from "./monogram.ts";
import { redirectText, type RedirectTarget } from "./redirect-target.ts";
import { span, time } from "./time.ts";

export interface ConsentParts extends RedirectTarget {
  /** As the client calls itself; the client id when it has no name. */
  readonly clientName: string;
  /** Host whose document states the name; undefined: the client registered itself, and its name is unverified. */
  readonly clientHost: string | undefined;
  /** The MCP servers that tokens will be valid for. */
  readonly servers: readonly ConsentServer[];
  readonly scopes: readonly ConsentScope[];
  /** Known tools of the one server; absent: unknown, or several servers. */
  readonly tools?: ConsentTools | undefined;
  readonly access: AccessLength;
  /** The signed-in user. */
  readonly user: string;
  readonly form: ConsentForm;
}

export interface ConsentServer {
  readonly name: string;
  readonly url: string;
  /** It did not respond when it was asked whether the user has to connect it. */
  readonly isSilent?: boolean | undefined;
  /** A federated server: names of the servers behind it. */
  readonly members?: readonly string[] | undefined;
}

/** Names of tools, by what the policy says to this user. */
export interface ConsentTools {
  readonly allowed: readonly string[];
  /** All tools of the server are known. */
  readonly isComplete: boolean;
  /** Each call waits for an approval. */
  readonly approval: readonly string[];
  /** Only their number: lists hide their names from this user. */
  readonly denied: number;
}

export interface ConsentScope {
  readonly scope: string;
  /** Names, or prefixes followed by "*", of the tools that it opens; [] for the scope that every token has. */
  readonly tools: readonly string[];
}

/** How long the application has access without asking again. */
export type AccessLength =
  | { readonly kind: "while-used"; readonly idleSeconds: number; readonly totalSeconds: number | undefined }
  | { readonly kind: "session"; readonly ends: Date };

export interface ConsentForm {
  /** Path that the form is posted to. */
  readonly action: string;
  readonly requestId: string;
  readonly csrfToken: string;
}

/** The meaning of a scope; one without a text is shown unchanged. */
function scopeText({ scope, tools }: ConsentScope, serverCount: number): string | Html {
  if (scope === "mcp") {
    const where = serverCount === 1 ? "this MCP server" : "these MCP servers";
    return `Act on your behalf on ${where}, with your own permissions`;
  }
  if (tools.length === 0) return scope;
  return html`Use ${tools.length === 1 && !tools[0]?.endsWith("*") ? "the tool" : "the tools"} ${toolNames(tools)}
  (${scope})`;
}

/** Send with `pageHeaders([…])` that names where the answer goes: browsers hold the form's redirects to `form-action`. */
export function consentPage(parts: ConsentParts): Page {
  const { clientName, clientHost, servers, scopes, tools, user } = parts;
  const [server] = servers;
  const where = servers.length === 1 && server ? server.name : `${servers.length} MCP servers`;
  return page({
    title: `Allow ${clientName} to use ${where} as you?`,
    mark: html`<div class="pair">
      ${monogram(clientName, "l")}${drawnIcon("arrow")}${servers.slice(0, 3).map(({ name }) => monogram(name, "l"))}
    </div>`,
    body: html`<p class="dim">
        ${verifiedBadge(clientHost)} Signed in as <strong>${user}</strong>. <a href="/.gateway/sign_out">Not you?</a>
      </p>
      <h2>It can, in your name</h2>
      <ul class="can">
        ${scopes.map((scope) => item("good", "check", scopeText(scope, servers.length)))}
        ${servers.map(({ name, members }) => members && item("good", "check", `Use the servers behind ${name}: ${members.join(", ")}`))}
        ${tools && tools.allowed.length > 0 && item("good", "check", html`Call ${toolNames(tools.allowed)}${!tools.isComplete && ", and others that you can call"}`)}
        ${
          tools &&
          tools.approval.length > 0 &&
          item("warn", "clock", html`Call ${toolNames(tools.approval)}, some calls only after an approval`)
        }
      </ul>
      <h2>It cannot</h2>
      <ul class="can">
        ${tools && tools.denied > 0 && item("bad", "blocks", `Call ${tools.denied} other tool${tools.denied === 1 ? "" : "s"} of this server`)}
        ${item("bad", "blocks", "Use any other server, or do what you cannot do yourself")}
      </ul>
      ${
        servers.some(({ isSilent }) => isSilent) &&
        html`<p class="dim">
          You can allow access now. A server that did not respond may ask you to connect it later.
        </p>`
      }
      ${
        parts.isLoopback &&
        warning(
          html`<strong>Did you just start this application?</strong> The result goes to a program on this computer, at
            <code>${parts.redirectTarget}</code>. Any program here could claim this name. If you did not start it,
            choose Cancel.`,
        )
      }
      <form method="post" action="${parts.form.action}">
        ${hiddenFields(parts.form)}
        <p class="actions">
          <button type="submit" name="decision" value="deny">Cancel</button>
          <button class="primary" type="submit" name="decision" value="approve">Allow</button>
        </p>
      </form>
      <p class="dim">You can end this access at any time on <a href="/.gateway/">your page</a>.</p>`,
    reference: html`<div class="ref">
      <dl>
        <dt>Application</dt>
        <dd>${clientName}</dd>
        <dt>Identified by</dt>
        <dd>${clientHost ?? "its own registration; the name is not verified"}</dd>
        <dt>Result goes to</dt>
        <dd>${redirectText(parts)}</dd>
        <dt>${servers.length === 1 ? "MCP server" : "MCP servers"}</dt>
        <dd>${serverList(servers)}</dd>
        <dt>Access ends</dt>
        <dd>${accessText(parts.access)}</dd>
      </dl>
    </div>`,
  });
}

function verifiedBadge(host: string | undefined): Html {
  return host === undefined
    ? html`<span class="badge warn">${drawnIcon("warning")}Unverified name</span>`
    : html`<span class="badge good">${drawnIcon("check")}Verified by ${host}</span>`;
}

function item(tone: "good" | "warn" | "bad", icon: Icon, text: HtmlValue): Html {
  return html`<li><span class="${tone}">${drawnIcon(icon)}</span><span>${text}</span></li>`;
}

const SHOWN_TOOLS = 12;

function toolNames(tools: readonly string[]): Html {
  const shown = tools.slice(0, SHOWN_TOOLS);
  const more = tools.length - shown.length;
  return html`${shown.map((tool, index) => html`${index > 0 && ", "}<code>${tool}</code>`)}${more > 0 && ` and ${more} more`}`;
}

export type NoAccessParts = Pick<ConsentParts, "clientName" | "servers" | "user" | "form"> & {
  readonly requestId: string;
  readonly supportUrl: string | undefined;
};

/** Status of `noAccessPage()`. */
export const NO_ACCESS_STATUS = 403;
/** The application gets the same code. */
const NO_ACCESS_CODE = "access_denied";

/** For a user without any access to the server: said before consent, not at each later call. */
export function noAccessPage(parts: NoAccessParts): Page {
  return page({
    title: "No access to this MCP server",
    mark: mark("bad", "lock"),
    reference: reference({ status: NO_ACCESS_STATUS, code: NO_ACCESS_CODE, requestId: parts.requestId }),
    body: html`<p>
        You are signed in as <strong>${parts.user}</strong>. The policy of this gateway does not let you use
        ${parts.servers.length === 1 ? "this server" : "any of these servers"}:
      </p>
      ${serverList(parts.servers)}
      <p>Ask your administrator for access, or <a href="/.gateway/sign_out">use another account</a>.</p>
      <dl>
        <dt>Application</dt>
        <dd>${parts.clientName}</dd>
      </dl>
      <form method="post" action="${parts.form.action}">
        ${hiddenFields(parts.form)}
        <p class="actions">
          <button class="primary" type="submit" name="decision" value="deny">Return to the application</button>
          ${parts.supportUrl !== undefined && html`<a class="button" href="${parts.supportUrl}">Get help</a>`}
        </p>
      </form>`,
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
