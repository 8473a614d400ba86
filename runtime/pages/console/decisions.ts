/** The screen of decisions: who was let in or not, and why. */
import { html, type Html, type HtmlValue } from "../html.ts";
import { type DecisionOutcome, outcomeMark } from "./outcome.ts";
import {
  badge,
  card,
  type TableColumn,
  consoleDuration,
  consoleTime,
  definitions,
  emptyState,
  type FilterField,
  filterForm,
  pager,
  table,
  tableRow,
  type Tone,
} from "./pieces.ts";

/** Texts of strangers are visible and bounded already. */
export interface DecisionRow {
  readonly id: string;
  readonly href: string;
  readonly timeMs: number;
  readonly outcome: DecisionOutcome;
  readonly who: string;
  readonly client: string;
  readonly route: string;
  /** The tool that was called, or "GET /x". */
  readonly what: string;
  readonly reason: string;
  /** 0: no response; absent: it is not over, or not recorded. */
  readonly status?: number | undefined;
  readonly durationMs?: number | undefined;
}

const COLUMNS: readonly TableColumn[] = [
  { name: "Time", kind: "short", isHead: true },
  { name: "Outcome", kind: "short" },
  { name: "User", kind: "short" },
  { name: "Route", kind: "short" },
  { name: "Request" },
  { name: "Reason", kind: "wide" },
  { name: "Status", kind: "number" },
  { name: "Duration", kind: "number" },
  { name: "Client", kind: "short" },
];

/** One row by itself, for a list that goes on. */
export function decisionRow(row: DecisionRow): Html {
  return tableRow(COLUMNS, cellsOf(row), row.id);
}

function cellsOf(row: DecisionRow): readonly HtmlValue[] {
  const { status, durationMs } = row;
  return [
    html`<a href="${row.href}">${consoleTime(row.timeMs)}</a>`,
    outcomeMark(row.outcome),
    row.who,
    row.route,
    html`<code>${row.what}</code>`,
    row.reason,
    status === undefined ? "" : status === 0 ? "no response" : status,
    durationMs === undefined ? "" : consoleDuration(durationMs),
    html`<span class="cut" title="${row.client}">${row.client}</span>`,
  ];
}

export interface DecisionList {
  readonly caption: string;
  /** denied: all but the allowed; all: whatever comes. */
  readonly group: "denied" | "allowed" | "all";
  readonly rows: readonly DecisionRow[];
  readonly next?: string | undefined;
  readonly isPartial: boolean;
}

export interface DecisionsParts {
  /** Path of the page. */
  readonly action: string;
  readonly filters: readonly FilterField[];
  readonly kept: readonly (readonly [name: string, value: string])[];
  readonly lists: readonly DecisionList[];
  readonly first?: string | undefined;
  readonly view: { readonly href: string; readonly text: string };
  readonly downloads: readonly { readonly href: string; readonly text: string }[];
  /** What is wrong with what is looked for, or with the source. */
  readonly note?: Html | undefined;
  /** Address of the stream of new ones; absent where nothing new can come. */
  readonly stream?: string | undefined;
  readonly isKept: boolean;
}

export function decisionsPage(parts: DecisionsParts): Html {
  const { lists, first, stream, note, isKept, downloads, view } = parts;
  const one = lists.length === 1 ? lists[0] : undefined;
  return html`${filterForm(parts.action, parts.filters, parts.kept)} ${note}
    <div class="bar">
      ${
        stream !== undefined &&
        html`<div class="bar" id="live" data-stream="${stream}" hidden>
          <button type="button" id="live-pause" aria-pressed="false">Pause</button>
          <button type="button" class="primary" id="live-new" hidden></button>
          <p class="dim" id="live-state" role="status" aria-live="polite"></p>
        </div>`
      }
      <a class="button" href="${view.href}">${view.text}</a>
      ${downloads.map(({ href, text }) => html`<a class="button" href="${href}">${text}</a>`)}
    </div>
    ${lists.map((list) => listOf(list, isKept))}
    ${one && pager({ first, next: one.next, note: one.isPartial ? PARTIAL : undefined })}`;
}

const PARTIAL = "Partial results. Older continues the search.";

function listOf({ caption, group, rows, next }: DecisionList, isKept: boolean): Html {
  const empty = isKept
    ? emptyState(
        group === "denied" ? "No denied requests" : "No matching decisions",
        "Requests that reach a route appear here. Try other filters.",
      )
    : emptyState("No record store configured", "Set record_store in the main configuration file.");
  const body = table({
    id: `decisions-${group}`,
    caption,
    columns: COLUMNS,
    rows: rows.map(cellsOf),
    ids: rows.map(({ id }) => id),
    empty,
  });
  return group === "all"
    ? html`${body}`
    : html`${body}${next !== undefined && html`<p><a href="${next}">${group === "denied" ? "More denied" : "More allowed"}</a></p>`}`;
}

export interface DecisionParts {
  readonly outcome: DecisionOutcome;
  readonly timeMs: number;
  readonly reason: string;
  /** Label and value; texts of strangers visible. */
  readonly facts: readonly (readonly [label: string, value: HtmlValue])[];
  readonly result: readonly (readonly [label: string, value: HtmlValue])[];
  /** All fields, as they are kept. */
  readonly fields: readonly (readonly [name: string, text: string])[];
  /** What of it this reader may not see. */
  readonly withheld?: string | undefined;
  readonly trace?: TraceParts | undefined;
  /** Why there is no trace. */
  readonly noTrace: string;
  readonly links: readonly { readonly href: string; readonly text: string }[];
}

export interface TraceParts {
  /** By which configuration, and whether it comes to the same. */
  readonly about: string;
  readonly notes: readonly string[];
  readonly rules: readonly TraceRule[];
}

export interface TraceRule {
  /** "A deny rule, any of". */
  readonly name: string;
  readonly outcome: "true" | "false" | "unknown" | "error";
  /** The record says that this rule decided. */
  readonly isDeciding: boolean;
  readonly criteria: readonly {
    readonly name: string;
    readonly wanted: string;
    readonly actual: string;
    readonly outcome: TraceRule["outcome"];
  }[];
}

export function decisionPage(parts: DecisionParts): Html {
  const { outcome, timeMs, reason, facts, result, fields, withheld, trace, noTrace, links } = parts;
  return html`<p>${outcomeMark(outcome)} ${consoleTime(timeMs)}: ${reason}.</p>
    <p class="bar">${links.map(({ href, text }) => html`<a class="button" href="${href}">${text}</a>`)}</p>
    <div class="cards">
      ${card("Request", definitions(facts))} ${result.length > 0 && card("Response", definitions(result))}
    </div>
    ${card("Why", trace ? tracePart(trace) : html`<p>${noTrace}</p>`)}
    ${card(
      "All fields",
      html`${withheld !== undefined && html`<p class="dim">${withheld}</p>`}
      ${table({
        id: "fields",
        caption: "Stored fields",
        columns: [
          { name: "Field", kind: "short", isHead: true },
          { name: "Value", kind: "wide" },
        ],
        rows: fields.map(([name, text]) => [name, html`<code>${text}</code>`]),
        empty: html``,
      })}`,
    )}`;
}

function tracePart({ about, notes, rules }: TraceParts): Html {
  return html`<p>${about}</p>
    ${
      notes.length > 0 &&
      html`<ul class="dim">
        ${notes.map((note) => html`<li>${note}</li>`)}
      </ul>`
    }
    ${rules.length === 0 && html`<p>The policy has no rules. All requests are denied.</p>`}
    <ol class="trace">
      ${rules.map(
        ({ name, outcome, isDeciding, criteria }) =>
          html`<li>
            ${name}: ${verdictBadge(outcome)} ${isDeciding && html`<strong>This rule decided.</strong>`}
            <ul>
              ${criteria.map(
                (each) =>
                  html`<li>
                    ${verdictBadge(each.outcome)} ${each.name}
                    <code>${each.wanted}</code>${each.actual !== "" && html`, actual: <code>${each.actual}</code>`}
                  </li>`,
              )}
            </ul>
          </li>`,
      )}
    </ol>`;
}

const VERDICTS: Readonly<Record<TraceRule["outcome"], readonly [Tone, string]>> = {
  true: ["quiet", "matched"],
  false: ["quiet", "not matched"],
  unknown: ["warn", "unknown"],
  error: ["bad", "evaluation error"],
};

function verdictBadge(outcome: TraceRule["outcome"]): Html {
  const [tone, text] = VERDICTS[outcome];
  return badge(tone, text);
}
