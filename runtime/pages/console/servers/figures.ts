/** Figures of one route: requests, denials and failures of the last day, by hour. */
import { html, type Html } from "../../html.ts";
import { sparkLine } from "../charts/figures.ts";

export interface FiguresView {
  /** By hour, the oldest first. */
  readonly calls: readonly number[];
  readonly refused: readonly number[];
  readonly failed: readonly number[];
  /** Not all records of the day were counted. */
  readonly isPartial: boolean;
}

export function figureCards({ calls, refused, failed, isPartial }: FiguresView): Html {
  const all = total(calls);
  return html`<div class="cards">
      ${figureCard("Requests, 24 h", all, "", calls, "quiet")}
      ${figureCard("Not allowed, 24 h", total(refused), share(total(refused), all), refused, "bad")}
      ${figureCard("Failed, 24 h", total(failed), share(total(failed), all), failed, "bad")}
    </div>
    ${isPartial && html`<p class="dim">Only the latest records were counted.</p>`}`;
}

function figureCard(
  label: string,
  value: number,
  note: string,
  values: readonly number[],
  tone: "quiet" | "bad",
): Html {
  return html`<section class="card kpi">
    <h2>${label}</h2>
    <span class="figure">${value.toLocaleString("en-US")}</span>
    <p class="dim">${note === "" ? html`&nbsp;` : note}</p>
    ${value > 0 && sparkLine(values, tone)}
  </section>`;
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function share(some: number, all: number): string {
  return all === 0 ? "" : `${((100 * some) / all).toFixed(1)} % of all`;
}
