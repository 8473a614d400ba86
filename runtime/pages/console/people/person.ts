/** The console's page of one person: what acts in their name, and how each of it is ended. */
import { type DecisionOutcome, outcomeMark } from "../outcome.ts";
import { fullTable } from "../columns.ts";
import { html, type Html, type HtmlValue } from "../../html.ts";
import { actionLink, type ActionLink } from "../objects.ts";
import { card, consoleTime, definitions, emptyState, sourceFailed } from "../pieces.ts";

export interface Listed<T> {
  readonly rows: readonly T[];
  /** There are more than are shown. */
  readonly isCut: boolean;
}

/** A table of a kind of objects (`administration/`). */
export interface Section {
  readonly heading: string | undefined;
  readonly table: Html;
  readonly rows: number;
  /** There are more than are shown. */
  readonly isCut: boolean;
}

export interface DecisionRow {
  readonly href: string;
  readonly timeMs: number;
  readonly outcome: DecisionOutcome;
  readonly route: string;
  readonly what: string;
  readonly from: string;
}

export interface PersonView {
  readonly facts: readonly (readonly [label: string, value: HtmlValue])[];
  readonly block: string | undefined;
  /** "End everything", "Block", "Unblock". */
  readonly actions: readonly ActionLink[];
  readonly sections: readonly Section[];
  readonly decisions: { readonly rows: readonly DecisionRow[]; readonly all: string } | "failed" | undefined;
}

export function personBody(view: PersonView): Html {
  return html`${view.block !== undefined && html`<p class="refused" role="status">Blocked. ${view.block}</p>`}
  ${card(
    "Profile",
    html`${definitions(view.facts)}
    ${view.actions.length > 0 && html`<p class="bar">${view.actions.map((each) => actionLink(each, true))}</p>`}`,
  )}
  ${view.sections.map(section)} ${decisionsPart(view.decisions)}`;
}

function section({ heading, table, rows, isCut }: Section): Html {
  return html`${heading !== undefined && html`<h2>${heading}</h2>`} ${table}
  ${isCut && html`<p class="dim">Showing the first ${rows}.</p>`}`;
}

/** What a client says of itself is never taken for more. */
export function clientName(name: string, href: string | undefined, vouchedBy: string | undefined): Html {
  const shown = href === undefined ? html`${name}` : html`<a href="${href}">${name}</a>`;
  return html`${shown}<br /><span class="dim"
      >${vouchedBy === undefined ? "unverified" : `verified by ${vouchedBy}`}</span
    >`;
}

function decisionsPart(decisions: PersonView["decisions"]): Html | undefined {
  if (decisions === undefined) return undefined;
  if (decisions === "failed")
    return html`<h2>Recent decisions</h2>
      ${sourceFailed("The record store")}`;
  return html`<h2>Recent decisions</h2>
    ${fullTable({
      id: "decisions",
      caption: "The newest first",
      columns: [
        { name: "Time", kind: "short" },
        { name: "Outcome", kind: "short" },
        { name: "Route", isHead: true },
        { name: "What" },
        { name: "From" },
      ],
      rows: decisions.rows.map(({ href, timeMs, outcome, route, what, from }) => [
        html`<a href="${href}">${consoleTime(timeMs)}</a>`,
        outcomeMark(outcome),
        route,
        what,
        from,
      ]),
      empty: emptyState("No decisions yet", "Requests of this user appear here."),
    })}
    ${decisions.rows.length > 0 && html`<p><a href="${decisions.all}">All decisions for this user</a></p>`}`;
}
