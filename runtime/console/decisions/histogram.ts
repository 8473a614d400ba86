/** Numbers of decisions over time, above the list, for the same filters. */
import { columnChart, type ColumnTone } from "../../pages/console/charts/chart.ts";
import { consoleTime, sourceFailed } from "../../pages/console/pieces.ts";
import { html, type Html } from "../../pages/html.ts";
import type { KeptRecord, RecordQuery, RecordReader } from "../../record-store/record-reader.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { NOT_ALLOWED_OR_FAILED, OUTCOME_NAMES } from "./filters.ts";

type Outcome = KeptRecord["outcome"];

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const WEEK = 7 * DAY;
const MOST_STEPS = 64;
/** Lengths of a column, in words. */
const STEPS: readonly (readonly [ms: number, text: string])[] = [
  [1_000, "second"],
  [15_000, "15 seconds"],
  [MINUTE, "minute"],
  [5 * MINUTE, "5 minutes"],
  [15 * MINUTE, "15 minutes"],
  [30 * MINUTE, "30 minutes"],
  [HOUR, "hour"],
  [3 * HOUR, "3 hours"],
  [6 * HOUR, "6 hours"],
  [DAY, "day"],
  [WEEK, "week"],
];

const TONES: Readonly<Record<Outcome, ColumnTone>> = {
  allowed: "allowed",
  denied: "denied",
  limited: "limited",
  waiting: "waiting",
  error: "failed",
  "sign-in": "allowed",
};

export interface HistogramDeps {
  readonly reader: Pick<RecordReader, "count">;
  readonly log: Log;
}

export interface HistogramQuestion {
  readonly query: Omit<RecordQuery, "limit" | "order" | "cursor">;
  readonly now: number;
  /** Address of the same list for one column. */
  readonly hrefOf: (sinceMs: number, untilMs: number) => string;
}

/** @returns the last 24 hours where the filters have no start */
export async function histogram(deps: HistogramDeps, { query, now, hrefOf }: HistogramQuestion): Promise<Html> {
  const { outcomes = NOT_ALLOWED_OR_FAILED } = query;
  const end = Math.min(query.untilMs ?? now, now);
  const begin = Math.min(query.sinceMs ?? end - DAY, end - 1_000);
  const weeks = Math.ceil((end - begin) / (MOST_STEPS * WEEK));
  const [stepMs, stepText] = STEPS.find(([ms]) => (end - begin) / ms <= MOST_STEPS) ?? [weeks * WEEK, `${weeks} weeks`];
  const last = Math.ceil(end / stepMs) * stepMs;
  // A range that ends now may begin within its first column.
  const from = query.untilMs === undefined ? begin + stepMs - 1 : begin;
  const slots = Math.max(1, Math.ceil((last - Math.floor(from / stepMs) * stepMs) / stepMs));
  const first = last - slots * stepMs;
  try {
    const asked = { ...query, outcomes, sinceMs: first, untilMs: last, slots };
    const { slots: counts, countedSinceMs = first } = await deps.reader.count(asked);
    const starts = counts.map((_, index) => first + index * stepMs);
    const valuesOf = (outcome: Outcome): readonly (number | undefined)[] =>
      counts.map((slot, index) => ((starts[index] ?? 0) < countedSinceMs ? undefined : (slot[outcome] ?? 0)));
    const [one = "denied"] = outcomes;
    const several = outcomes.includes("error") ? OUTCOME_NAMES.others : OUTCOME_NAMES["not-allowed"];
    const title = outcomes.length > 1 ? several : OUTCOME_NAMES[one];
    const chart = columnChart({
      id: "columns",
      title: `${title}, per ${stepText}`,
      starts,
      stepMs,
      isLow: true,
      isPast: end < now - stepMs,
      hrefOf: (start) => hrefOf(start, start + stepMs),
      series: outcomes.map((outcome) => ({
        name: OUTCOME_NAMES[outcome],
        tone: TONES[outcome],
        values: valuesOf(outcome),
      })),
    });
    return html`<section class="card histogram" aria-labelledby="columns-head">
      <h2 id="columns-head">${title}, per ${stepText}</h2>
      ${chart}
      ${countedSinceMs > first && html`<p class="hint">Counted since ${consoleTime(countedSinceMs)}. Choose a shorter time.</p>`}
    </section>`;
  } catch (error) {
    deps.log.warn({ reason: errorText(error) }, "console cannot query record store");
    return sourceFailed("The chart");
  }
}
