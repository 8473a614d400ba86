/**
 * The page on which a user decides about one call of a tool; works without JavaScript.
 *
 * The first button denies, an approval is for one call only, and the page says who asks and by which client.
 */
import { drawnIcon } from "./icons.ts";
import { html, type Html } from "./html.ts";
import { mark, page, type Page, warning } from "./layout.ts";
import { time } from "./time.ts";

/** A piece of JSON. A quoted one is isolated, so that it cannot change the text direction around it. */
export interface CallPiece {
  readonly text: string;
  readonly isQuoted: boolean;
}

export interface ApprovalPageParts {
  /** In all texts, invisible characters are made visible. */
  readonly tool: string;
  readonly routeName: string;
  readonly server: string;
  readonly asker: string;
  /** The signed-in user asks. */
  readonly isAsker: boolean;
  /** Self-reported; "" for callers without a client. */
  readonly clientName: string;
  readonly clientId: string;
  readonly arguments: readonly CallPiece[] | undefined;
  readonly others: readonly { readonly name: string; readonly value: readonly CallPiece[] }[];
  /** The client's own header fields. */
  readonly fields: readonly CallPiece[] | undefined;
  readonly asked: Date;
  readonly ends: Date;
  /** The same call was approved before, with unknown result. */
  readonly isAfterUnknown: boolean;
  /** The signed-in user. */
  readonly user: string;
  /** Groups whose members approve; [] where the asker confirms. */
  readonly approvers: readonly (readonly string[])[];
  readonly mayApprove: boolean;
  readonly form: { readonly action: string; readonly requestId: string; readonly csrfToken: string };
}

/** Send with `pageHeaders()`. */
export function approvalPage(parts: ApprovalPageParts): Page {
  const { form, mayApprove, isAsker } = parts;
  return page({
    title: mayApprove ? `Approve one call of ${parts.tool}?` : `A call of ${parts.tool} is pending approval`,
    mark: mark(mayApprove ? "info" : "warn", mayApprove ? "user" : "clock"),
    body: html`<p>
        You are signed in as <strong><bdi>${parts.user}</bdi></strong
        >.
      </p>
      <dl>
        <dt>Asked by</dt>
        <dd>${isAsker ? "you" : html`<bdi>${parts.asker}</bdi>`}</dd>
        <dt>Application</dt>
        <dd>
          ${
            parts.clientId === ""
              ? "none"
              : html`<bdi>${parts.clientName}</bdi>, self-reported name
                  <span class="dim address"><bdi>${parts.clientId}</bdi></span>`
          }
        </dd>
        <dt>MCP server</dt>
        <dd>
          <bdi>${parts.routeName}</bdi> <span class="dim address"><bdi>${parts.server}</bdi></span>
        </dd>
        <dt>Tool</dt>
        <dd>
          <code><bdi>${parts.tool}</bdi></code>
        </dd>
        <dt>Asked</dt>
        <dd>${time(parts.asked)}</dd>
        <dt>Ends</dt>
        <dd>${time(parts.ends)}</dd>
      </dl>
      ${sentWith(parts)}
      ${
        parts.isAfterUnknown &&
        warning(
          html`<strong>The same call was approved before.</strong> It is unknown whether it was carried out: check the
            server before you approve it again.`,
        )
      }
      ${!mayApprove && html`<p>${whoMay(parts.approvers)} Send that user the address of this page.</p>`}
      ${
        (mayApprove || isAsker) &&
        html`<form method="post" action="${form.action}">
          <input type="hidden" name="request" value="${form.requestId}" />
          <input type="hidden" name="csrf_token" value="${form.csrfToken}" />
          <p class="actions">
            <button type="submit" name="decision" value="refuse">${mayApprove ? "Deny" : "Withdraw"}</button>
            ${mayApprove && html`<button class="primary" type="submit" name="decision" value="approve">Approve once</button>`}
          </p>
        </form>`
      }
      ${mayApprove && html`<p class="dim">This is for one call that sends exactly this.</p>`}`,
  });
}

function whoMay(approvers: ApprovalPageParts["approvers"]): Html {
  const lists = approvers.map((groups, index) => {
    const names = groups.map((group, at) => html`${at > 0 && " or "}<code><bdi>${group}</bdi></code>`);
    return html`${index > 0 && ", and of "}${names}`;
  });
  return html`Another user must approve it: a member of ${lists}.`;
}

/** Everything that a call sends. */
export function sentWith(parts: Pick<ApprovalPageParts, "arguments" | "others" | "fields">): Html {
  return html`<h2>Arguments</h2>
    ${parts.arguments === undefined ? html`<p>None.</p>` : callJson(parts.arguments)}
    ${parts.others.map(
      ({ name, value }) =>
        html`<h3>Also sent: <bdi>${name}</bdi></h3>
          ${callJson(value)}`,
    )}
    ${
      parts.fields !== undefined &&
      html`<h3>Also sent in HTTP header fields</h3>
        ${callJson(parts.fields)}`
    }`;
}

/** The arguments of a tool; quoted texts are isolated, whatever direction they are written in. */
function callJson(pieces: readonly CallPiece[]): Html {
  return html`<pre>${pieces.map(({ text, isQuoted }) => (isQuoted ? html`<bdi>${text}</bdi>` : text))}</pre>`;
}

/** The result of the decision. */
export function approvalDonePage(decision: "approved" | "refused", parts: { readonly tool: string }): Page {
  return page({
    title: decision === "approved" ? "Approved" : "Denied",
    mark: decision === "approved" ? mark("good", "check") : mark("bad", "blocks"),
    body:
      decision === "approved"
        ? html`<p>
            The call of <code><bdi>${parts.tool}</bdi></code> may be made once, within ten minutes. Return to the
            application. It continues automatically, or repeats the call when you ask it to.
          </p>`
        : html`<p>
            The call of <code><bdi>${parts.tool}</bdi></code> is not made. The application gets a denial when it asks
            again.
          </p>`,
  });
}

export interface WaitingCallView {
  readonly href: string;
  readonly tool: string;
  readonly routeName: string;
  readonly clientName: string;
  readonly asked: Date;
}

/** The portal's part about pending calls. @returns undefined when there are none */
export function waitingSection(calls: readonly WaitingCallView[]): Html | undefined {
  if (calls.length === 0) return undefined;
  return html`<section class="card" aria-labelledby="pending">
    <header>
      <h2 id="pending">Pending approval</h2>
      <span class="badge warn">${calls.length}</span>
    </header>
    <ul class="rows">
      ${calls.map(
        ({ href, tool, routeName, clientName, asked }) =>
          html`<li>
            <span class="mark warn">${drawnIcon("clock")}</span>
            <div>
              <h3>
                <a href="${href}"><bdi>${tool}</bdi></a>
              </h3>
              <p class="dim">
                On <bdi>${routeName}</bdi>${clientName !== "" && html`, by <bdi>${clientName}</bdi>`}, asked
                ${time(asked)}.
              </p>
            </div>
            <a class="button" href="${href}"
              >Review<span class="hidden"> the call of <bdi>${tool}</bdi></span></a
            >
          </li>`,
      )}
    </ul>
  </section>`;
}
