/** Asks a user where to sign in, where the gateway has several identity providers. */
import { html, type Html } from "./html.ts";
import { mark, page, type Page } from "./layout.ts";

export interface ChooseProviderParts {
  /** Host that the user continues to. */
  readonly host: string;
  /** The signed-in user, by a provider that does not help there. */
  readonly user: string | undefined;
  /** At least one. */
  readonly choices: readonly { readonly label: string; readonly href: string }[];
  /** Where an email address is sent; undefined: no domain leads to a provider. */
  readonly byEmail?: {
    readonly path: string;
    readonly ticket: string;
    /** The address that matched no provider; "" at first. */
    readonly typed: string;
  };
}

export function chooseProviderPage({ host, user, choices, byEmail }: ChooseProviderParts): Page {
  const style = choices.length === 1 ? "button primary" : "button";
  return page({
    title: "Where do you sign in?",
    mark: mark("info", "user"),
    body: html`${
        user === undefined
          ? html`<p>To continue to <code>${host}</code>, sign in with your organization's account.</p>`
          : html`<p>
                You are signed in as <strong>${user}</strong>. The page that you opened at <code>${host}</code> is for
                users of another provider.
              </p>
              <p>If you have an account there, sign in with it. It replaces the one in this browser.</p>`
      }
      ${byEmail && emailForm(byEmail)}
      <nav aria-label="Identity providers">
        ${choices.map(({ label, href }) => html`<p class="actions"><a class="${style}" href="${href}">${label}</a></p>`)}
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
      </p>
      <p class="actions"><button class="button primary">Continue</button></p>
      <p id="email-said" role="status">
        ${typed !== "" && "No organization matches this address. Check it, or choose below."}
      </p>
    </form>
    <p>Or choose your organization:</p>`;
}
