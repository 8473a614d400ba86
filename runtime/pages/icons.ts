/** Icons of all pages, next to words: they say nothing that the words do not. */
import { html, type Html } from "./html.ts";

export const PATHS = {
  overview: "M2.5 7.5 8 3l5.5 4.5M4 7v6h8V7M6.8 13V9.6h2.4V13",
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
  allowed: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM5.4 8.2l1.9 1.9 3.4-3.9",
  limited: "M2.2 11.5a6 6 0 1 1 11.6 0M8 10l2.8-3.4",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 4.8V8l2.2 1.5",
  warning: "M8 2.3 14.3 13H1.7zM8 6.5v3M8 11.3v.1",
  "sign-in": "M9 2.5h4.5v11H9M2.5 8h7M7 5l3 3-3 3",
  check: "M3.2 8.4 6.5 11.7 12.8 4.8",
  close: "M4 4l8 8M12 4l-8 8",
  plus: "M8 3v10M3 8h10",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  open: "M9.5 2.5h4v4M13.5 2.5 7.5 8.5M11.5 9.5v4h-9v-9h4",
  download: "M8 2.5v8M4.8 7.3 8 10.5l3.2-3.2M3 13.5h10",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  save: "M4 2.5h8v11L8 10.5l-4 3z",
  menu: "M2.5 4h11M2.5 8h11M2.5 12h11",
  arrow: "M2.5 8h11M9.5 4l4 4-4 4",
  browser: "M3.5 3.5h9v6.5h-9zM1.5 12.5h13",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9ZM10.3 10.3 14 14",
  user: "M8 7.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM3.3 13.5c.4-2.6 2.2-4 4.7-4s4.3 1.4 4.7 4",
  key: "M5.3 13.2a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5ZM7.1 8.9 13.5 2.5M11 5l2 2",
  signOut: "M6.5 2.5h-4v11h4M6.5 8h7M10.5 5l3 3-3 3",
  gate: "M2.5 13.5V6L8 2.5 13.5 6v7.5M5.5 13.5V8.2h5v5.3M8 8.2v5.3",
} as const;

export type Icon = keyof typeof PATHS;

/** Draws an icon where it is. Pages of the console, which have many, refer to one drawing: `console/icons.ts`. */
export function drawnIcon(name: Icon): Html {
  return html`<svg class="i" viewBox="0 0 16 16" aria-hidden="true"><path d="${PATHS[name]}" /></svg>`;
}
