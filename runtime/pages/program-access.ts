/** Asks a user whether a program may act for them on one host. */
import { html } from "./html.ts";
import { mark, page, type Page, warning } from "./layout.ts";
import { redirectText, type RedirectTarget } from "./redirect-target.ts";
import { time } from "./time.ts";

export interface ProgramAccessParts extends RedirectTarget {
  readonly user: string;
  /** Origin of the host that the program will reach. */
  readonly address: string;
  /** End of the session, and of what the program gets. */
  readonly ends: Date;
  readonly form: { readonly action: string; readonly request: string; readonly csrfToken: string };
}

export function programAccessPage(parts: ProgramAccessParts): Page {
  return page({
    title: "May a program act for you?",
    mark: mark("info", "key"),
    body: html`<p>
        You are signed in as <strong>${parts.user}</strong>. A program asks to use an address in your name.
      </p>
      <dl>
        <dt>Address</dt>
        <dd><code>${parts.address}</code></dd>
        <dt>Result goes to</dt>
        <dd>${redirectText(parts)}</dd>
        <dt>Access ends</dt>
        <dd>when you sign out, and ${time(parts.ends)} at the latest</dd>
      </dl>
      <p>The program will be able to do there what you can do.</p>
      ${
        parts.isLoopback &&
        warning(
          html`<strong>Did you just start this program?</strong> The result goes to a program on this computer. If you
            did not start it, choose Cancel.`,
        )
      }
      <form method="post" action="${parts.form.action}">
        <input type="hidden" name="request" value="${parts.form.request}" />
        <input type="hidden" name="csrf" value="${parts.form.csrfToken}" />
        <p class="actions">
          <button type="submit" name="decision" value="deny">Cancel</button>
          <button class="primary" type="submit" name="decision" value="approve">Allow</button>
        </p>
      </form>
      <p class="dim">To end this access at any time, sign out on <a href="/.gateway/">your page</a>.</p>`,
  });
}
