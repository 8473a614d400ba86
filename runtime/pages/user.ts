/** Pages of the signed-in person: who am I, until when, and the way out. */
import { html, type Html } from "./html.ts";
import { page } from "./layout.ts";
import { time } from "./time.ts";

export interface PageUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly leftOut?: { readonly groups: boolean };
}

/** `/.gateway/` */
export function userPage(parts: {
  readonly user: PageUser;
  readonly expiresAt: Date;
  readonly csrfToken: string;
  /** What other parts have to say to this user. */
  readonly sections?: readonly (Html | undefined)[];
}): string {
  const { user, expiresAt } = parts;
  return page({
    title: user.name || user.email || user.id,
    body: html`<p>You are signed in.</p>
      <dl>
        ${row("Email", user.email)} ${row("User", user.id)} ${row("Groups", groupsText(user))}
        <dt>Session ends</dt>
        <dd>${time(expiresAt)}</dd>
      </dl>
      ${parts.sections} ${signOutForm(parts.csrfToken)}`,
  });
}

/** For users with a role in the console. @param roles "operator and auditor" */
export function consoleSection(roles: string): Html {
  return html`<h2>Console</h2>
    <p><a href="/.gateway/console/">Open the console</a> as ${roles}.</p>`;
}

function groupsText({ groups, leftOut }: PageUser): string {
  return leftOut?.groups === true
    ? "unknown: there are too many, so the identity provider left them out"
    : groups.join(", ");
}

/** `/.gateway/sign_out`, asked for by a link: the person decides. */
export function signOutPage(parts: { readonly user: PageUser; readonly csrfToken: string }): string {
  return page({
    title: "Sign out?",
    body: html`<p>
        You are signed in as ${parts.user.email || parts.user.name || parts.user.id}. Signing out ends the session on
        every page behind this gateway.
      </p>
      ${signOutForm(parts.csrfToken)}`,
  });
}

function signOutForm(csrfToken: string): Html {
  return html`<form method="post" action="/.gateway/sign_out">
    <input type="hidden" name="csrf" value="${csrfToken}" />
    <button class="primary" type="submit">Sign out</button>
  </form>`;
}

function row(label: string, value: string): Html | false {
  return (
    value !== "" &&
    html`<dt>${label}</dt>
      <dd>${value}</dd>`
  );
}
