/**
 * The page on which a user decides whether a workload may act for them; works without JavaScript.
 *
 * It shows everything that is recorded of the request. The first button denies.
 */
import { html, type Html } from "../html.ts";
import { drawnIcon } from "../icons.ts";
import { mark, page, type Page, warning } from "../layout.ts";
import { time } from "../time.ts";

/** In all texts, invisible characters are made visible. */
export interface RunPageParts {
  /** The signed-in user. */
  readonly user: string;
  /** User ID of the workload: its issuer and subject. */
  readonly workload: string;
  /** Platform that attests the workload: name in the configuration, and `iss`. */
  readonly issuer: { readonly name: string; readonly url: string };
  /** Attested by the platform. */
  readonly claims: readonly (readonly [name: string, value: string])[];
  /** The workload's own text. */
  readonly purpose: string;
  readonly approver: string;
  readonly servers: readonly RunServer[];
  readonly scopes: readonly { readonly scope: string; readonly tools: readonly string[] }[];
  readonly asked: Date;
  readonly ends: Date;
  /** Time for the decision. */
  readonly expires: Date;
  readonly form: {
    readonly action: string;
    readonly requestId: string;
    readonly csrfToken: string;
  };
}

export interface RunServer {
  readonly name: string;
  readonly url: string;
  /** gone: it is no longer configured. closed: the user has no access to it. */
  readonly state: "open" | "gone" | "closed";
  /** Where the user connects their account; undefined: nothing is missing. */
  readonly connectUrl?: string | undefined;
}

/** Send with `pageHeaders()`. */
export function runPage(parts: RunPageParts): Page {
  const { form, servers } = parts;
  return page({
    title: "Allow this workload to act for you?",
    mark: mark("info", "user"),
    body: html`<p>
        You are signed in as <strong><bdi>${parts.user}</bdi></strong
        >. <a href="/.gateway/sign_out">Not you?</a>
      </p>
      <dl>
        <dt>Workload</dt>
        <dd><bdi>${parts.workload}</bdi></dd>
        <dt>Attested by</dt>
        <dd>
          <bdi>${parts.issuer.name}</bdi> <span class="dim address"><bdi>${parts.issuer.url}</bdi></span>
        </dd>
        ${parts.claims.map(
          ([name, value]) =>
            html`<dt><bdi>${name}</bdi></dt>
              <dd><bdi>${value}</bdi></dd>`,
        )}
        <dt>Requested for</dt>
        <dd><bdi>${parts.approver}</bdi></dd>
        <dt>Requested</dt>
        <dd>${time(parts.asked)}</dd>
        <dt>Access ends</dt>
        <dd>${time(parts.ends)}</dd>
        <dt>Decide before</dt>
        <dd>${time(parts.expires)}</dd>
      </dl>
      <h2>Purpose</h2>
      <p class="dim">Written by the workload, not verified.</p>
      <pre><bdi>${parts.purpose}</bdi></pre>
      <h2>MCP servers</h2>
      <ul class="rows">
        ${servers.map(serverRow)}
      </ul>
      <h2>Scopes</h2>
      <ul class="can">
        ${parts.scopes.map(
          ({ scope, tools }) =>
            html`<li>
              <span class="good">${drawnIcon("check")}</span
              ><span
                ><code><bdi>${scope}</bdi></code
                >${scope === "mcp" && ": use these MCP servers with your own permissions"}${
                  tools.length > 0 &&
                  html`: ${tools.map((tool, index) => html`${index > 0 && ", "}<code><bdi>${tool}</bdi></code>`)}`
                }</span
              >
            </li>`,
        )}
      </ul>
      ${
        servers.some(({ connectUrl }) => connectUrl !== undefined) &&
        warning(html`The workload cannot use a server before you connect your account. You can do that now or later.`)
      }
      <form method="post" action="${form.action}">
        <input type="hidden" name="request" value="${form.requestId}" />
        <input type="hidden" name="csrf_token" value="${form.csrfToken}" />
        <p class="actions">
          <button type="submit" name="decision" value="refuse">Deny</button>
          <button class="primary" type="submit" name="decision" value="approve">Approve</button>
        </p>
      </form>
      <p class="dim">
        The workload can do at most what you can do yourself. You can end it at any time on
        <a href="/.gateway/">your page</a>.
      </p>`,
  });
}

const STATES: Readonly<Record<RunServer["state"], string>> = {
  open: "",
  gone: "This server no longer exists.",
  closed: "Policy denies this server to the workload when it acts for you.",
};

function serverRow({ name, url, state, connectUrl }: RunServer): Html {
  return html`<li>
    <div>
      <h3><bdi>${name}</bdi></h3>
      <p class="dim address"><bdi>${url}</bdi></p>
      ${state !== "open" && html`<p>${STATES[state]}</p>`}
    </div>
    ${
      connectUrl !== undefined &&
      html`<a class="button" href="${connectUrl}"
        >Connect<span class="hidden"> <bdi>${name}</bdi></span></a
      >`
    }
  </li>`;
}

/** The result of the decision. */
export function runDonePage(decision: "active" | "refused", workload: string): Page {
  const isActive = decision === "active";
  return page({
    title: isActive ? "Approved" : "Denied",
    mark: isActive ? mark("good", "check") : mark("bad", "blocks"),
    body: isActive
      ? html`<p><bdi>${workload}</bdi> can act for you now. You can end it on <a href="/.gateway/">your page</a>.</p>`
      : html`<p><bdi>${workload}</bdi> cannot act for you.</p>`,
  });
}
