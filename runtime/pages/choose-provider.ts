/** Asks a person where to sign in, where the gateway has several identity providers. */
import { html, type Html } from "./html.ts";
import { page } from "./layout.ts";

export interface ChooseProviderParts {
  /** Host that the person goes on to. */
  readonly host: string;
  /** Who they are already, by a provider that does not help there; undefined: nobody. */
  readonly user: string | undefined;
  /** At least one. */
  readonly choices: readonly { readonly label: string; readonly href: string }[];
  /** Where a typed e-mail address is sent; undefined: no domain leads anywhere. */
  readonly byEmail?: {
    readonly path: string;
    readonly ticket: string;
    /** What was typed, and led nowhere; "" before anything was. */
    readonly typed: string;
  };
}

export function chooseProviderPage({ host, user, choices, byEmail }: ChooseProviderParts): string {
  const style = choices.length === 1 ? "button primary" : "button";
  return page({
    title: "Where do you sign in?",
    body: html`${
        user === undefined
          ? html`<p>To go on to <code>${host}</code>, sign in with your organization's account.</p>`
          : html`<p>
                You are signed in as <strong>${user}</strong>. What you opened at <code>${host}</code> is for people who
                sign in elsewhere.
              </p>
              <p>If you have an account there, sign in with it: it takes the place of the one in this browser.</p>`
      }
      ${byEmail && emailForm(byEmail)}
      <nav aria-label="Identity providers">
        ${choices.map(({ label, href }) => html`<p><a class="${style}" href="${href}">${label}</a></p>`)}
      </nav>`,
  });
}

function emailForm({ path, ticket, typed }: NonNullable<ChooseProviderParts["byEmail"]>): Html {
  return html`<form method="get" action="${path}">
      <input type="hidden" name="ticket" value="${ticket}" />
      <p>
        <label for="email">Work email address</label>
        <input
          id="email"
          name="login_hint"
          type="email"
          autocomplete="email"
          maxlength="320"
          required
          value="${typed}"
          aria-describedby="email-said"
        />
        <button class="button primary">Continue</button>
      </p>
      <p id="email-said" role="status">
        ${typed !== "" && "No organization here is known by this address. Check it, or choose below."}
      </p>
    </form>
    <p>Or choose your organization:</p>`;
}
