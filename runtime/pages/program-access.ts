/** Asks a person whether a program may act for them on one host. */
import { html } from "./html.ts";
import { page } from "./layout.ts";

export interface ProgramAccessParts {
  readonly user: string;
  /** Origin of the host that the program will reach. */
  readonly address: string;
  /** Host to which the answer goes. */
  readonly redirectTarget: string;
  readonly isLoopback: boolean;
  readonly form: { readonly action: string; readonly request: string; readonly csrfToken: string };
}

export function programAccessPage(parts: ProgramAccessParts): string {
  return page({
    title: "May a program act for you?",
    body: html`<p>You are signed in as <strong>${parts.user}</strong>. A program asks to use</p>
      <dl>
        <dt>Address</dt>
        <dd><code>${parts.address}</code></dd>
        <dt>The answer goes to</dt>
        <dd><code>${parts.redirectTarget}</code></dd>
      </dl>
      <p>It will be able to do there what you can do, until you sign out.</p>
      ${
        parts.isLoopback &&
        html`<p class="warning" role="note">
          <strong>Did you just start this program?</strong> The answer goes to a program on this computer. If you did
          not start it, cancel.
        </p>`
      }
      <form method="post" action="${parts.form.action}">
        <input type="hidden" name="request" value="${parts.form.request}" />
        <input type="hidden" name="csrf" value="${parts.form.csrfToken}" />
        <button class="primary" type="submit" name="decision" value="approve">Allow</button>
        <button type="submit" name="decision" value="deny">Cancel</button>
      </form>`,
  });
}
