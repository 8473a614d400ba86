/** How long a block lasts, in the form that asks for it. */
import { html, type Html } from "../../html.ts";

export function blockTimes(times: readonly (readonly [seconds: string, text: string])[]): Html {
  return html`<p>
    <label for="time">How long</label>
    <select id="time" name="time">
      ${times.map(([seconds, text]) => html`<option value="${seconds}">${text}</option>`)}
    </select>
  </p>`;
}
