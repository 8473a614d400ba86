/** The first page of the console: what needs attention, what waits for the reader, then how requests fare. */
import { html, type Html, type HtmlValue } from "../html.ts";
import { columnChart, type ColumnParts } from "./charts/chart.ts";
import { type BarRow, type FigureTone, sparkLine, topBars } from "./charts/figures.ts";
import { icon, type Icon } from "./icons.ts";
import { badge, consoleTime, sourceFailed, type Tone } from "./pieces.ts";

/** "failed": its source is unavailable or late. */
export type Part<T> = T | "failed";

export interface AttentionRow {
  readonly tone: "bad" | "warn";
  readonly icon: Icon;
  readonly title: string;
  readonly text: string;
  /** Milliseconds since the epoch; absent: unknown. */
  readonly sinceMs?: number | undefined;
  readonly href: string;
  /** "Open server" */
  readonly button: string;
}

export interface WaitingRow {
  readonly href: string;
  readonly tool: string;
  /** Who asked, and on which route. */
  readonly text: string;
  readonly left: string;
}

export interface FigureParts {
  readonly name: string;
  readonly href: string;
  readonly value: string;
  /** In small type after the value: "2.2 %". */
  readonly small?: string | undefined;
  readonly text: string;
  readonly spark: readonly (number | undefined)[];
  readonly tone: FigureTone;
}

export interface TopsParts {
  readonly title: string;
  readonly href: string;
  readonly rows: Part<readonly BarRow[]>;
  readonly tone: FigureTone;
  readonly empty: string;
  /** Where not all of the time was counted. */
  readonly note?: string | undefined;
}

export interface ChangeItem {
  readonly icon: Icon;
  readonly href: string;
  readonly title: string;
  readonly text: string;
  readonly timeMs: number;
}

export interface DependencyRow {
  readonly tone: Tone;
  readonly name: string;
  readonly text: string;
  readonly state: string;
}

export interface OverviewParts {
  readonly attention: Part<readonly AttentionRow[]>;
  /** Of all rows of `attention`. */
  readonly problems: number;
  /** "sales/crm (12)": routes with failed requests in the last hour. */
  readonly failedLately: readonly string[];
  /** The newest failed request. */
  readonly lastFailure?: { readonly href: string; readonly timeMs: number } | undefined;
  /** Undefined: the reader decides about no calls. */
  readonly waiting: Part<{ readonly rows: readonly WaitingRow[]; readonly count: number }> | undefined;
  readonly figures: readonly FigureParts[];
  readonly chart: ColumnParts;
  /** "per 5 minutes" */
  readonly step: string;
  readonly decisionsHref: string;
  readonly tops: readonly TopsParts[];
  readonly changes: Part<readonly ChangeItem[]>;
  readonly changesHref: string;
  readonly dependencies: readonly DependencyRow[];
}

export function overviewBody(parts: OverviewParts): Html {
  const { attention, waiting, figures, chart, tops } = parts;
  return html`<div class="grid">
      ${attentionCard(parts, attention)} ${waiting !== undefined && waitingCard(waiting)}
    </div>
    <div class="figures">${figures.map(figureCard)}</div>
    <section class="card" aria-labelledby="decisions">
      <header>
        <h2 id="decisions">Decisions</h2>
        <span class="small">${parts.step}</span><a href="${parts.decisionsHref}">Open decisions</a>
      </header>
      <div class="in">${columnChart(chart)}</div>
    </section>
    <div class="grid">${tops.map(topsCard)}</div>
    <div class="grid">${changesCard(parts)} ${dependenciesCard(parts.dependencies)}</div>`.withoutIndentation();
}

function attentionCard(
  { problems, lastFailure, failedLately, waiting }: OverviewParts,
  rows: Part<readonly AttentionRow[]>,
): Html {
  return html`<section class="card ${waiting === undefined ? "c12" : "c8"}" aria-labelledby="attention">
    <header>
      <h2 id="attention">Needs attention</h2>
      ${problems > 0 && html`<span class="count ${hasBad(rows) ? "alarm" : "attn"}">${problems}</span>`}
      <a href="/.gateway/console/health"
        >${rows !== "failed" && problems > rows.length ? `All ${problems}` : "All checks"}</a
      >
    </header>
    ${
      rows === "failed"
        ? sourceFailed("The store")
        : rows.length === 0
          ? html`<div class="none">
              ${icon("allowed")}
              <p><strong>No problems now</strong></p>
              ${failedLately.length > 0 && html`<p>Failed requests in the last hour: ${failedLately.join(", ")}</p>`}
              ${lastFailure && html`<p>Last failed request: <a href="${lastFailure.href}">${consoleTime(lastFailure.timeMs)}</a></p>`}
            </div>`
          : html`<ul class="rows">
              ${rows.map(
                (row) =>
                  html`<li>
                    <span class="mark ${row.tone}">${icon(row.icon)}</span>
                    <div class="grow">
                      <h3><a class="plain" href="${row.href}">${row.title}</a></h3>
                      <p>${row.text}</p>
                    </div>
                    ${row.sinceMs !== undefined && html`<span class="since">${consoleTime(row.sinceMs, "minute")}</span>`}
                    <a class="button" href="${row.href}">${row.button}</a>
                  </li>`,
              )}
            </ul>`
    }
  </section>`;
}

function hasBad(rows: Part<readonly AttentionRow[]>): boolean {
  return rows !== "failed" && rows.some(({ tone }) => tone === "bad");
}

function waitingCard(waiting: NonNullable<OverviewParts["waiting"]>): Html {
  return html`<section class="card c4" aria-labelledby="waiting">
    <header>
      <h2 id="waiting">Waiting for you</h2>
      ${waiting !== "failed" && waiting.count > 0 && html`<span class="count attn">${waiting.count}</span>`}
      <a href="/.gateway/console/approvals">Approvals</a>
    </header>
    ${
      waiting === "failed"
        ? sourceFailed("The store")
        : waiting.rows.length === 0
          ? html`<div class="none">
              ${icon("approvals")}
              <p><strong>No pending approvals</strong></p>
              <p>Calls that a policy sends to you for approval appear here.</p>
            </div>`
          : html`<ul class="rows">
              ${waiting.rows.map(
                ({ href, tool, text, left }) =>
                  html`<li>
                    <div class="grow">
                      <h3>
                        <a class="plain" href="${href}"><code>${tool}</code></a>
                      </h3>
                      <p>${text}</p>
                    </div>
                    <span class="left">${left}</span>
                  </li>`,
              )}
            </ul>`
    }
  </section>`;
}

function figureCard({ name, href, value, small, text, spark, tone }: FigureParts): Html {
  return html`<a class="card figure" href="${href}">
    <span class="name">${name}</span>
    <span class="value">${value}${small !== undefined && html` <small>${small}</small>`}</span>
    <span class="text">${text}</span>${sparkLine(spark, tone)}
  </a>`;
}

function topsCard({ title, href, rows, tone, empty, note }: TopsParts): Html {
  return html`<section class="card c4">
    <header>
      <h2>${title}</h2>
      <a href="${href}">All<span class="hidden">: ${title}</span></a>
    </header>
    ${
      rows === "failed"
        ? sourceFailed("The record store")
        : rows.length === 0
          ? html`<p class="none">${empty}</p>`
          : topBars(rows, tone)
    }
    ${note !== undefined && html`<p class="note-below">${note}</p>`}
  </section>`;
}

function changesCard({ changes, changesHref }: OverviewParts): Html {
  return html`<section class="card c6" aria-labelledby="changes">
    <header>
      <h2 id="changes">Latest changes</h2>
      <a href="${changesHref}">All changes</a>
    </header>
    ${
      changes === "failed"
        ? sourceFailed("The store")
        : changes.length === 0
          ? html`<p class="none">No changes published to the admin address. Files have their own history.</p>`
          : html`<ul class="rows">
              ${changes.map(
                (each) =>
                  html`<li>
                    <span class="mark">${icon(each.icon)}</span>
                    <div class="grow">
                      <h3><a class="plain" href="${each.href}">${each.title}</a></h3>
                      <p>${each.text}</p>
                    </div>
                    <span class="since">${consoleTime(each.timeMs, "minute")}</span>
                  </li>`,
              )}
            </ul>`
    }
  </section>`;
}

function dependenciesCard(rows: readonly DependencyRow[]): Html {
  const mark = (tone: Tone): HtmlValue => icon(tone === "good" || tone === "quiet" ? "check" : "warning");
  return html`<section class="card c6" aria-labelledby="dependencies">
    <header>
      <h2 id="dependencies">Dependencies</h2>
      <a href="/.gateway/console/health">Health</a>
    </header>
    <ul class="rows">
      ${rows.map(
        ({ tone, name, text, state }) =>
          html`<li>
            <span class="mark ${tone}">${mark(tone)}</span>
            <div class="grow">
              <h3>${name}</h3>
              <p>${text}</p>
            </div>
            ${badge(tone, state)}
          </li>`,
      )}
    </ul>
  </section>`;
}
