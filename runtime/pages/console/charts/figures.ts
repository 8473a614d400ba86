/** Small drawings beside words that say the same: the course of a figure, and bars of a list. */
import { html, type Html, type HtmlValue } from "../../html.ts";
import { areaPath, linePath, TOP_Y } from "./paths.ts";

/** "quiet" is the color of ordinary traffic. */
export type FigureTone = "quiet" | "bad";

/** @param values the oldest first; undefined: unknown */
export function sparkLine(values: readonly (number | undefined)[], tone: FigureTone = "quiet"): Html | undefined {
  const highest = values.reduce<number>((a, b) => Math.max(a, b ?? 0), 0);
  if (values.filter((value) => value !== undefined).length < 2) return undefined;
  // Room for the width of the line.
  const place = (value: number): number => 0.03 + 0.92 * (highest === 0 ? 0 : value / highest);
  return html`<svg
    class="spark${tone === "bad" ? " red" : ""}"
    viewBox="0 0 ${values.length * 10} ${TOP_Y}"
    preserveAspectRatio="none"
    aria-hidden="true"
  >
    <path class="under" d="${areaPath(values, place)}" />
    <path d="${linePath(values, place)}" />
  </svg>`;
}

export interface BarRow {
  readonly name: HtmlValue;
  readonly href: string;
  readonly value: number;
  /** The value as it is read: "2.4 s". */
  readonly text: string;
  /** What explains it, in a line below. */
  readonly why?: string | undefined;
}

/** The highest of a list, each with a bar. */
export function topBars(rows: readonly BarRow[], tone: FigureTone): Html {
  const highest = rows.reduce((most, { value }) => Math.max(most, value), 0);
  return html`<ol class="tops${tone === "bad" ? "" : " blue"}">
    ${rows.map(
      ({ name, href, value, text, why }) =>
        html`<li>
          <a class="plain" href="${href}">${name}</a><b>${text}</b
          ><svg aria-hidden="true">
            <rect width="${highest === 0 ? 0 : Math.max(1, Math.round((value / highest) * 100))}%" height="100%" />
          </svg>
          ${why !== undefined && why !== "" && html`<span class="why">${why}</span>`}
        </li>`,
    )}
  </ol>`;
}
