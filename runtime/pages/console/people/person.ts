/** The console's page of one user: what acts for them, and how each of it is ended. */
import { type DecisionOutcome, outcomeMark } from "../outcome.ts";
import { monogram } from "../../monogram.ts";
import { figureCards, type FiguresView } from "../servers/figures.ts";
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

/** Routes that the user can reach. */
export interface PersonReach {
  readonly rows: readonly {
    readonly href: string;
    readonly name: string;
    /** "4 of 5 tools, 1 with approval" */
    readonly what: string;
    /** The rule that lets the user in. */
    readonly why: string;
  }[];
  /** That are not shown. */
  readonly more: number;
  /** Routes that no rule opens to the user. */
  readonly others: number;
}

export interface PersonView {
  readonly name: string;
  /** Address of the list. */
  readonly list: string;
  /** Undefined: the user's attributes are no longer stored. */
  readonly reach: PersonReach | undefined;
  /** Counts of the last 7 days. */
  readonly figures: FiguresView | "failed" | undefined;
  readonly facts: readonly (readonly [label: string, value: HtmlValue])[];
  readonly block: string | undefined;
  /** "End everything", "Block", "Unblock". */
  readonly actions: readonly ActionLink[];
  readonly sections: readonly Section[];
  readonly decisions: { readonly rows: readonly DecisionRow[]; readonly all: string } | "failed" | undefined;
}

export function personBody(view: PersonView): Html {
  return html`<p class="crumb"><a href="${view.list}">Users</a></p>
    ${view.block !== undefined && html`<p class="refused" role="status">Blocked. ${view.block}</p>`}
    ${card(
      "Profile",
      html`${definitions(view.facts)}
      ${view.actions.length > 0 && html`<p class="bar">${view.actions.map((each) => actionLink(each, true))}</p>`}`,
    )}
    ${typeof view.figures === "object" && figureCards(view.figures, "7 days")} ${view.sections.slice(0, 1).map(section)}
    ${reachCard(view.reach)} ${view.sections.slice(1).map(section)} ${decisionsPart(view.decisions)}`;
}

function reachCard(reach: PersonReach | undefined): Html | undefined {
  if (!reach) return undefined;
  const { rows, more, others } = reach;
  const rest = `${more > 0 ? `${more} more. ` : ""}${others === 1 ? "1 route is" : `${others} routes are`} not open to this user.`;
  return html`<h2>Can reach</h2>
    ${fullTable({
      id: "reach",
      caption: `Routes that some request of this user can pass. ${rest}`,
      columns: [
        { name: "Server or app", isHead: true },
        { name: "Access", kind: "short" },
        { name: "Rule", kind: "wide" },
      ],
      rows: rows.map(({ href, name, what, why }) => [
        html`<span class="named">${monogram(name, "s")}<a href="${href}">${name}</a></span>`,
        what,
        why,
      ]),
      empty: emptyState("Nothing", "No rule of any route allows this user."),
    })}`;
}

function section({ heading, table, rows, isCut }: Section): Html {
  return html`${heading !== undefined && html`<h2>${heading}</h2>`} ${table}
  ${isCut && html`<p class="dim">Showing the first ${rows}.</p>`}`;
}

/** A name that only the client states is marked as unverified. */
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
      caption: "Newest first",
      columns: [
        { name: "Time", kind: "short" },
        { name: "Outcome", kind: "short" },
        { name: "Route", isHead: true },
        { name: "Request" },
        { name: "Client IP" },
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
