/** The user page's parts about what can act for this user: browsers that are signed in, and applications with access. */
import { html, type Html } from "./html.ts";
import { minute, time } from "./time.ts";

export interface EndForm {
  readonly action: string;
  readonly csrfToken: string;
}

export interface SessionParts {
  readonly id: string;
  readonly began: Date;
  readonly ends: Date;
  /** The browser in front of which this page stands. */
  readonly isThis: boolean;
}

export interface GrantParts {
  readonly id: string;
  readonly clientName: string;
  readonly clientId: string;
  /** Who vouches for the name; undefined for registered applications. */
  readonly clientHost: string | undefined;
  /** Address of the server, or of the host of several. */
  readonly server: string;
  /** Whose assertion allowed it, in the place of the user's consent. */
  readonly issuer: string | undefined;
  readonly began: Date;
  /** Put off with each use. */
  readonly ends: Date;
  /** Put off by nothing; undefined = there is no such end. */
  readonly endsForGood: Date | undefined;
}

export interface ApprovalParts {
  readonly key: string;
  readonly clientName: string;
  readonly server: string;
  readonly given: Date;
  readonly ends: Date;
}

/** @param sessions this user's, this browser's among them */
export function sessionsSection(sessions: readonly SessionParts[], form: EndForm): Html {
  return html`<h2>Signed-in browsers</h2>
    ${sessions.map(
      ({ id, began, ends, isThis }, index) =>
        html`<article>
          <h3>${isThis ? "This browser" : `Another browser, since ${minute(began)}`}</h3>
          <p class="dim">Signed in ${time(began)}. The session ends ${time(ends)}.</p>
          ${!isThis && endButton(form, "session", id, `End the session of browser ${index + 1}`)}
        </article>`,
    )}`;
}

/** @returns undefined when there is nothing to say */
export function accessSection(
  grants: readonly GrantParts[],
  approvals: readonly ApprovalParts[],
  form: EndForm,
): Html | undefined {
  if (grants.length === 0 && approvals.length === 0) return undefined;
  return html`<h2>Applications</h2>
    ${grants.length === 0 && html`<p>No application has access in your name.</p>`}
    ${grants.map((grant) => grantArticle(grant, form))} ${approvals.length > 0 && approvalsPart(approvals, form)}`;
}

function grantArticle(grant: GrantParts, form: EndForm): Html {
  const { id, clientName, clientId, clientHost, server, issuer, began } = grant;
  return html`<article>
    <h3>${clientName}</h3>
    <p class="dim">
      ${clientHost === undefined ? html`Registered here as <code>${clientId}</code>.` : html`Identified by <code>${clientHost}</code>.`}
      It has been allowed to use <code>${server}</code> in your name since
      ${time(began)}${issuer !== undefined && html` by your company's identity provider <code>${issuer}</code>, without asking you`}.
      Its access ends ${whenItEnds(grant)}.
    </p>
    ${endButton(form, "grant", id, `End access of ${clientName}`)}
  </article>`;
}

function whenItEnds({ ends, endsForGood }: GrantParts): Html {
  if (endsForGood === undefined) return html`${time(ends)}, unless it is used before then`;
  if (endsForGood <= ends) return html`${time(endsForGood)}`;
  return html`${time(ends)}, unless it is used before then, and ${time(endsForGood)} at the latest`;
}

function approvalsPart(approvals: readonly ApprovalParts[], form: EndForm): Html {
  return html`<h3>Remembered approvals</h3>
    <p class="dim">These applications get access again without asking you. Withdraw an approval to be asked again.</p>
    ${approvals.map(
      ({ key, clientName, server, given, ends }) =>
        html`<article>
          <p>${clientName}, for <code>${server}</code></p>
          <p class="dim">You approved it ${time(given)}. The approval ends ${time(ends)}.</p>
          ${endButton(form, "approval", key, `Withdraw approval of ${clientName}`)}
        </article>`,
    )}`;
}

function endButton(form: EndForm, what: string, id: string, text: string): Html {
  return html`<form method="post" action="${form.action}">
    <input type="hidden" name="csrf" value="${form.csrfToken}" />
    <input type="hidden" name="${what}" value="${id}" />
    <button type="submit">${text}</button>
  </form>`;
}
