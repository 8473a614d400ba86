/** Asks a person where to sign in, where the gateway has several identity providers. */
import { html } from "./html.ts";
import { page } from "./layout.ts";

export interface ChooseProviderParts {
  /** Host that the person goes on to. */
  readonly host: string;
  /** Who they are already, by a provider that does not help there; undefined: nobody. */
  readonly user: string | undefined;
  /** At least one. */
  readonly choices: readonly { readonly label: string; readonly href: string }[];
}

export function chooseProviderPage({ host, user, choices }: ChooseProviderParts): string {
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
      <nav aria-label="Identity providers">
        ${choices.map(({ label, href }) => html`<p><a class="${style}" href="${href}">${label}</a></p>`)}
      </nav>`,
  });
}
