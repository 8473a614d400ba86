/** Icons of the console: one hidden drawing in each page, to which others refer. */
import { PATHS, type Icon } from "../icons.ts";
import { html, dangerouslyTrustedHtml, type Html } from "../html.ts";

export type { Icon } from "../icons.ts";

export const ICONS: Html = dangerouslyTrustedHtml(
  `<svg hidden aria-hidden="true">${Object.entries(PATHS)
    .map(([name, path]) => `<symbol id="i-${name}" viewBox="0 0 16 16"><path d="${path}"/></symbol>`)
    .join("")}</svg>`,
);

/** Next to words: it says nothing that they do not. */
export function icon(name: Icon): Html {
  return html`<svg class="i" aria-hidden="true"><use href="#i-${name}" /></svg>`;
}
