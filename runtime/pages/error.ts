/** The page of every refusal and failure: what happened, what to do, and the id to quote. Never the reason's internals. */
import { html } from "./html.ts";
import { page } from "./layout.ts";

export interface ErrorPageParts {
  readonly status: number;
  /** Short, as a heading: "Access denied". */
  readonly title: string;
  /** One or two sentences for the person in front of the browser. */
  readonly message: string;
  readonly requestId: string;
  /** Facts worth showing, label and value ("Client ID", "https://…"). Shown escaped. */
  readonly details?: readonly (readonly [label: string, value: string])[];
  /** Where to go from here. */
  readonly links?: readonly { readonly href: string; readonly text: string }[];
}

/** A whole document; send it with `pageHeaders()` of layout.ts. */
export function errorPage(parts: ErrorPageParts): string {
  const { details = [], links = [] } = parts;
  return page({
    title: parts.title,
    body: html`<p>${asSentence(parts.message)}</p>
      ${
        details.length > 0 &&
        html`<dl>
          ${details.map(
            ([label, value]) =>
              html`<dt>${label}</dt>
                <dd><code>${value}</code></dd>`,
          )}
        </dl>`
      }
      ${links.length > 0 && html`<p>${links.map((link) => html`<a class="button" href="${link.href}">${link.text}</a>`)}</p>`}
      <p class="reference">Status ${parts.status}, request ID <code>${parts.requestId}</code></p>`,
  });
}

/** A heading for people; codes say more than the status where they know more. */
export function errorTitle(status: number, code: string): string {
  if (code.startsWith("sign-in.")) return status === 401 ? "Please sign in" : "Sign-in did not work";
  if (code.startsWith("device.")) return status === 450 ? "A registered device is needed" : "The device was not taken";
  if (status === 401) return "Please sign in";
  if (status === 403) return "Access denied";
  if (status === 404) return "Nothing here";
  if (status === 421) return "Unknown host";
  if (status === 429) return "Too many requests";
  if (status === 500) return "Something went wrong";
  return status > 500 ? "Not available right now" : "This request cannot be answered";
}

/** Short messages are written without a full stop, for logs and programs. */
function asSentence(message: string): string {
  return /[.!?]$/.test(message) ? message : `${message}.`;
}
