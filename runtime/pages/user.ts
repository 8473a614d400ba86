/** The portal, the page of the signed-in user: what they can use, what acts for them, and the way out. */
import { brandMark } from "./branding.ts";
import { drawnIcon } from "./icons.ts";
import { html, type Html } from "./html.ts";
import { mark, page, type Page, pageDocument } from "./layout.ts";
import { monogram } from "./monogram.ts";
import { time } from "./time.ts";

export interface PageUser {
  readonly id: string;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly leftOut?: { readonly groups: boolean };
}

export interface PortalParts {
  readonly user: PageUser;
  readonly expiresAt: Date;
  readonly csrfToken: string;
  /** Content of the search box. */
  readonly search: string;
  /** Content from other parts, in the order of the page. */
  readonly sections?: readonly (Html | undefined)[];
}

/** `/.gateway/` */
export function userPage({ user, expiresAt, csrfToken, search, sections }: PortalParts): Page {
  const name = user.name || user.email || user.id;
  return pageDocument(
    "Your servers and apps",
    (branding) =>
      html`<a class="skip" href="#main">Skip to main content</a>
        <header class="person-bar">
          <a class="brand" href="/.gateway/">${brandMark(branding, drawnIcon("gate"))}<span>${branding.name}</span></a>
          <form class="find" role="search" method="get" action="/.gateway/">
            <label class="hidden" for="q">Search your servers and apps</label>
            ${drawnIcon("search")}
            <input
              id="q"
              name="q"
              type="search"
              value="${search}"
              maxlength="100"
              placeholder="Search servers, apps and tools"
              autocomplete="off"
            />
          </form>
          <div class="me">${monogram(name, "round")}<span class="name">${name}</span>${signOutForm(csrfToken)}</div>
        </header>
        <main class="person" id="main" tabindex="-1">
          <div class="wide">
            <h1>Hello ${name}</h1>
            <p class="dim">What you can use, and what acts for you.</p>
          </div>
          ${sections}
          <section class="card" aria-labelledby="account">
            <header><h2 id="account">Your account</h2></header>
            <div class="in">
              <dl>
                ${row("Email", user.email)} ${row("User", user.id)} ${row("Groups", groupsText(user))}
                <dt>Session expires</dt>
                <dd>${time(expiresAt)}</dd>
              </dl>
            </div>
          </section>
        </main>`,
  );
}

/** For users with a role in the console. @param roles "operator and auditor" */
export function consoleSection(roles: string): Html {
  return html`<p class="card in wide line">
    ${drawnIcon("health")}<span>You are ${roles}. <a href="/.gateway/console/">Open the console</a></span>
  </p>`;
}

function groupsText({ groups, leftOut }: PageUser): string {
  return leftOut?.groups === true ? "unknown: too many, omitted by the identity provider" : groups.join(", ");
}

/** `/.gateway/sign_out`, opened by a link: the user decides. */
export function signOutPage(parts: { readonly user: PageUser; readonly csrfToken: string }): Page {
  return page({
    title: "Sign out?",
    mark: mark("info", "user"),
    body: html`<p>
        You are signed in as <strong>${parts.user.email || parts.user.name || parts.user.id}</strong>. Signing out ends
        the session on every page behind this gateway.
      </p>
      ${signOutForm(parts.csrfToken, "primary")}`,
  });
}

function signOutForm(csrfToken: string, look: "primary" | "" = ""): Html {
  return html`<form method="post" action="/.gateway/sign_out">
    <input type="hidden" name="csrf" value="${csrfToken}" />
    <button class="${look}" type="submit">Sign out</button>
  </form>`;
}

function row(label: string, value: string): Html | false {
  return (
    value !== "" &&
    html`<dt>${label}</dt>
      <dd>${value}</dd>`
  );
}
