/** Before something grave: the fresh sign-in, and what was chosen when the person comes back. */
import { html, type Html } from "../html.ts";
import { type ActionForm, confirmForm, definitions } from "./pieces.ts";

/** @param parts.address of this page, with what was chosen sealed in it */
export function askAgainPage(parts: { readonly address: string; readonly minutes: number }): Html {
  return html`<div class="card">
    <p>No changes were made yet. This requires a sign-in within the last ${parts.minutes} minutes.</p>
    <p>You will return to this form.</p>
    <p class="bar"><a class="button primary" href="${parts.address}">Sign in again</a></p>
  </div>`;
}

export function savedFormPage(parts: {
  readonly form: ActionForm;
  /** What was chosen, as people read it. */
  readonly shown: readonly (readonly [name: string, value: string])[];
  readonly button: string;
  readonly back: string;
}): Html {
  const { form, shown, button, back } = parts;
  const text = "You have signed in again. Confirm the action:";
  return confirmForm({ ...form, button, back, text, more: definitions(shown) });
}
