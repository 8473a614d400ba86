/** Icons of the console: one hidden drawing in each page, from which others take what they show. */
import { html, dangerouslyTrustedHtml, type Html } from "../html.ts";

const PATHS = {
  decisions: "M5.5 4H14M5.5 8H14M5.5 12H14M2.3 4h.4M2.3 8h.4M2.3 12h.4",
  approvals: "M2 9.5 4 3h8l2 6.5V13H2zM2 9.5h3.5l1 1.7h3l1-1.7H14",
  health: "M1.5 8H5l1.6-4 2.8 8L11 8h3.5",
  servers: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.3M5 11h.3",
  people:
    "M6 7.3a2.3 2.3 0 1 0 0-4.6 2.3 2.3 0 0 0 0 4.6ZM1.8 13.2c.3-2.4 2-3.7 4.2-3.7s3.9 1.3 4.2 3.7M10.8 7.2a2 2 0 1 0-.5-3.9M11.8 9.6c1.5.4 2.3 1.6 2.5 3.3",
  clients: "M5.5 2v3M10.5 2v3M3.8 5h8.4v2.2a4.2 4.2 0 0 1-8.4 0zM8 11.4V14",
  simulator: "M6.3 2h3.4M7 2v4L3.3 12.3c-.4.7.1 1.7 1 1.7h7.4c.9 0 1.4-1 1-1.7L9 6V2M5 10h6",
  changes:
    "M4.5 5.5v5M4.5 5.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM4.5 13.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11.5 6.5a1.5 1.5 0 1 0 0-3 1.5 1.5 0 0 0 0 3ZM11.5 6.5c0 2.5-3 2.5-7 4",
  lock: "M4 7.2h8V14H4zM5.6 7.2V5a2.4 2.4 0 0 1 4.8 0v2.2",
  blocks: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM3.9 3.9l8.2 8.2",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  gate: "M2.5 13.5V6L8 2.5 13.5 6v7.5M5.5 13.5V8.2h5v5.3M8 8.2v5.3",
} as const;

export type Icon = keyof typeof PATHS;

export const ICONS: Html = dangerouslyTrustedHtml(
  `<svg hidden aria-hidden="true">${Object.entries(PATHS)
    .map(([name, path]) => `<symbol id="i-${name}" viewBox="0 0 16 16"><path d="${path}"/></symbol>`)
    .join("")}</svg>`,
);

/** Beside words: it says nothing that they do not. */
export function icon(name: Icon): Html {
  return html`<svg class="i" aria-hidden="true"><use href="#i-${name}" /></svg>`;
}
