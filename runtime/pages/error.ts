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
  const facts: readonly (readonly [string, string])[] = [
    ...(parts.details ?? []),
    ["Status", String(parts.status)],
    ["Request ID", parts.requestId],
  ];
  return page({
    title: parts.title,
    body: html`<p>${parts.message}</p>
      <dl>
        ${facts.map(
          ([label, value]) =>
            html`<dt>${label}</dt>
              <dd><code>${value}</code></dd>`,
        )}
      </dl>
      ${parts.links && parts.links.length > 0 && html`<p>${parts.links.map((link) => html`<a class="button" href="${link.href}">${link.text}</a>`)}</p>`}`,
  });
}
