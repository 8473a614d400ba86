/** Figures of one route or user: requests, denials and failures over time. */
import { html, type Html } from "../../html.ts";
import { sparkLine } from "../charts/figures.ts";

export interface FiguresView {
  /** By parts of the time, the oldest first. */
  readonly calls: readonly number[];
  readonly refused: readonly number[];
  readonly failed: readonly number[];
  /** Not all records of that time were counted. */
  readonly isPartial: boolean;
}

/** @param range "24 h" */
export function figureCards({ calls, refused, failed, isPartial }: FiguresView, range: string): Html {
  const all = total(calls);
  return html`<div class="cards">
      ${figureCard(`Requests, ${range}`, all, "", calls, "quiet")}
      ${figureCard(`Not allowed, ${range}`, total(refused), share(total(refused), all), refused, "bad")}
      ${figureCard(`Failed, ${range}`, total(failed), share(total(failed), all), failed, "bad")}
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
    <span class="amount">${grouped(value)}</span>
    <p class="dim">${note === "" ? html`&nbsp;` : note}</p>
    ${value > 0 && sparkLine(values, tone)}
  </section>`;
}

/** "12,345". `toLocaleString` costs 30 ms of CPU at its first use in a process. */
function grouped(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/g, ",");
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function share(some: number, all: number): string {
  return all === 0 ? "" : `${((100 * some) / all).toFixed(1)} % of all`;
}
