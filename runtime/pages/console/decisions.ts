/** The screen of decisions: who was allowed to do what, and why. Untrusted text is visible and bounded already. */
import { html, type Html, type HtmlValue } from "../html.ts";
import {
  addFilter,
  type AddFilterParts,
  type Chip,
  filterBar,
  timeFilter,
  type TimeFilterParts,
} from "./lists/chips.ts";
import { icon } from "./icons.ts";
import { type DecisionOutcome, OUTCOMES, outcomeMark } from "./outcome.ts";
import { type PanelParts, split } from "./lists/panel.ts";
import {
  actionFields,
  type ActionForm,
  consoleDuration,
  definitions,
  emptyState,
  pager,
  type Tab,
  tabs,
} from "./pieces.ts";
import { ruleList, type AppliedRule, verdictBox } from "./lists/rules.ts";

/** Text that is also a link to the same list with this value as a filter. */
interface FilterLink {
  readonly text: string;
  /** Absent: there is nothing to filter by. */
  readonly href?: string | undefined;
}

export interface DecisionRow {
  readonly id: string;
  /** Address of the same list with this decision open. */
  readonly href: string;
  readonly timeMs: number;
  readonly outcome: DecisionOutcome;
  readonly outcomeHref: string;
  readonly user: FilterLink;
  readonly client: FilterLink;
  readonly route: FilterLink;
  /** The called tool, or "GET /x". */
  readonly what: string;
  readonly reason: string;
  readonly durationMs?: number | undefined;
}

/** A single row, for live updates. */
export function decisionRow(row: DecisionRow, isOpen = false): Html {
  const { id, href, timeMs, outcome, outcomeHref, user, client, route, what, reason, durationMs } = row;
  return html`<tr data-id="${id}" id="d-${id}" class="${outcome}" ${isOpen && html`aria-current="true"`}>
    <td class="short a2 dim">${rowTime(timeMs)}</td>
    <td class="short o1"><a class="plain" href="${outcomeHref}">${outcomeMark(outcome)}</a></td>
    <th scope="row" class="a1">
      <span class="cut" title="${what}${route.text === "" ? "" : ` on ${route.text}`}"
        ><a class="row-link" href="${href}"><code>${what}</code></a> ${filterLink(route, "dim")}</span
      >
    </th>
    <td class="b1 user-col"><span class="cut" title="${user.text}">${filterLink(user)}</span></td>
    <td class="wide-only client-col"><span class="cut" title="${client.text}">${filterLink(client, "dim")}</span></td>
    <td class="c1"><span class="cut" title="${reason}">${reason}</span></td>
    <td class="number wide-only dim">${durationMs !== undefined && consoleDuration(durationMs)}</td>
  </tr>`;
}

/** "30 Nov 09:44:13": the year is in the title that the script adds, and in the details. UTC without a script, as the page says. */
function rowTime(timeMs: number): Html {
  const date = new Date(timeMs).toISOString();
  const text = `${Number(date.slice(8, 10))} ${MONTHS[Number(date.slice(5, 7)) - 1] ?? ""} ${date.slice(11, 19)}`;
  return html`<time datetime="${date}" data-time="row">${text}</time>`;
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

function filterLink({ text, href }: FilterLink, more = ""): Html {
  return href === undefined
    ? html`<span class="${more}">${text}</span>`
    : html`<a class="plain ${more}" href="${href}">${text}</a>`;
}

export interface DecisionList {
  readonly caption: string;
  /** denied: all but allowed; all: any outcome. */
  readonly group: "denied" | "allowed" | "all";
  readonly rows: readonly DecisionRow[];
  readonly next?: string | undefined;
  readonly isPartial: boolean;
}

export interface ViewForm {
  readonly form: ActionForm;
  /** Name of the saved view that is shown; undefined: it is not saved. */
  readonly saved: string | undefined;
  readonly maxName: number;
}

export interface DecisionsParts {
  readonly views: readonly Tab[];
  /** Saves or deletes this view; absent: it is a built-in one. */
  readonly save: ViewForm | undefined;
  readonly chips: readonly Chip[];
  readonly add: AddFilterParts;
  readonly time: TimeFilterParts;
  /** Number of decisions over time, or why there is none. */
  readonly chart: Html | undefined;
  readonly lists: readonly DecisionList[];
  readonly first?: string | undefined;
  readonly downloads: readonly { readonly href: string; readonly text: string }[];
  /** Problem of the filters, or of the source. */
  readonly note?: Html | undefined;
  /** Address of the stream of new decisions; absent if no new ones can appear. */
  readonly stream?: { readonly path: string; readonly worker: string } | undefined;
  readonly isKept: boolean;
  readonly panel: PanelParts | undefined;
  /** ID of the decision in the panel. */
  readonly openId: string | undefined;
}

export function decisionsPage(parts: DecisionsParts): Html {
  const { views, save, chips, add, time, chart, lists, first, stream, note, isKept, downloads, panel, openId } = parts;
  const one = lists.length === 1 ? lists[0] : undefined;
  return html`<div class="head">
      <p>Requests and tool calls, with the rule that decided.</p>
      ${
        stream !== undefined &&
        html`<div class="bar" id="live" data-stream="${stream.path}" data-worker="${stream.worker}" hidden>
          <p class="dim" id="live-state" role="status" aria-live="polite"></p>
          <button type="button" class="primary" id="live-new" hidden></button>
          <button type="button" id="live-pause" aria-pressed="false">${icon("pause")}Pause</button>
        </div>`
      }
      ${
        downloads.length > 0 &&
        html`<details class="pop">
          <summary class="button">${icon("download")}Export</summary>
          <div>${downloads.map(({ href, text }) => html`<p><a href="${href}">${text}</a></p>`)}</div>
        </details>`
      }
    </div>
    ${tabs("Views", views)}
    ${filterBar({ chips, more: html`${timeFilter(time)} ${addFilter(add)} ${save && viewForm(save)}` })} ${note}
    ${split(
      html`${chart} ${lists.map((list) => listOf(list, isKept, openId))}
      ${one && pager({ first, next: one.next, note: one.isPartial ? PARTIAL : undefined })}`,
      panel,
    )}`;
}

function viewForm({ form, saved, maxName }: ViewForm): Html {
  if (saved !== undefined)
    return html`<form method="post" action="${form.action}">
      ${actionFields(form)}<button class="quiet" type="submit">${icon("close")}Delete view ${saved}</button>
    </form>`;
  return html`<details class="pop">
    <summary class="button quiet">${icon("save")}Save view</summary>
    <div>
      <form method="post" action="${form.action}">
        ${actionFields(form)}
        <p>
          <label for="view-name">Name</label>
          <input id="view-name" name="name" maxlength="${maxName}" required autocomplete="off" />
        </p>
        <button class="primary" type="submit">Save view</button>
      </form>
    </div>
  </details>`;
}

const PARTIAL = "Partial results. Older continues the search.";

function listOf({ caption, group, rows, next }: DecisionList, isKept: boolean, openId: string | undefined): Html {
  if (rows.length === 0)
    return isKept
      ? emptyState(
          group === "denied" ? "No denied requests" : "No matching decisions",
          "Requests that reach a route appear here. Remove a filter, or choose a longer time.",
        )
      : emptyState("No record store configured", "Set record_store in the main configuration file.");
  const more =
    group !== "all" && next !== undefined
      ? html`<p><a href="${next}">${group === "denied" ? "More denied" : "More allowed"}</a></p>`
      : undefined;
  return html`<div class="scroll fits fold">
      <table id="decisions-${group}">
        <caption>
          ${caption}
        </caption>
        <thead>
          <tr>
            <th scope="col" class="w-time">Time</th>
            <th scope="col" class="w-outcome">Outcome</th>
            <th scope="col" class="w-what">Request</th>
            <th scope="col" class="w-who user-col">User</th>
            <th scope="col" class="w-client wide-only client-col">Client</th>
            <th scope="col">Reason</th>
            <th scope="col" class="w-took number wide-only">Duration</th>
          </tr>
        </thead>
        <tbody>
          ${rows.map((row) => decisionRow(row, row.id === openId))}
        </tbody>
      </table>
    </div>
    ${more}`;
}

export interface GivenArgument {
  readonly name: string;
  readonly text: string;
  /** The rule that decided is about it. */
  readonly isMarked: boolean;
}

export interface DecisionParts {
  readonly outcome: DecisionOutcome;
  /** Why, in one sentence. */
  readonly verdict: string;
  /** Path of a page with this decision alone. */
  readonly pageHref: string;
  readonly links: readonly { readonly href: string; readonly text: string }[];
  readonly facts: readonly (readonly [label: string, value: HtmlValue])[];
  /** Arguments of a tool call as recorded; text: why they are not shown; undefined: not a tool call. */
  readonly given: readonly GivenArgument[] | string | undefined;
  readonly trace: TraceParts | undefined;
  /** Why there is no trace. */
  readonly noTrace: string;
  /** All fields that this user can see, as stored. */
  readonly fields: readonly (readonly [name: string, text: string])[];
}

export interface TraceParts {
  /** By which configuration, and whether it gives the same result. */
  readonly about: string;
  readonly notes: readonly string[];
  readonly rules: readonly AppliedRule[];
}

/** One decision: the verdict first, then its rule, then details. For a panel, or a page of its own. */
export function decisionPage(parts: DecisionParts): Html {
  const { outcome, verdict, pageHref, links, facts, given, trace, noTrace, fields } = parts;
  const { tone, icon: mark, text } = OUTCOMES[outcome];
  return html`${verdictBox(outcome === "allowed" ? "good" : tone, mark, text, verdict)}
    <p class="bar">
      ${links.map(({ href, text: name }) => html`<a class="button" href="${href}">${name}</a>`)}
      <button type="button" id="copy-link" data-href="${pageHref}" hidden>${icon("copy")}<span>Copy link</span></button>
    </p>
    ${definitions(facts)} ${given !== undefined && givenPart(given)}
    <h3>Why</h3>
    ${trace ? tracePart(trace) : html`<p>${noTrace}</p>`}
    <details class="more">
      <summary>Record, ${fields.length} fields</summary>
      ${definitions(fields.map(([name, value]) => [name, html`<code>${value}</code>`]))}
    </details>`;
}

function givenPart(given: readonly GivenArgument[] | string): Html {
  if (typeof given === "string")
    return html`<h3>Arguments</h3>
      <p class="dim">${given}</p>`;
  return html`<h3>Arguments</h3>
    <dl class="given">
      ${given.map(
        ({ name, text, isMarked }) =>
          html`<dt>${name}</dt>
            <dd>${isMarked ? html`<mark>${text}</mark>` : text}</dd>`,
      )}
    </dl>`;
}

function tracePart({ about, notes, rules }: TraceParts): Html {
  return html`${ruleList(rules)}
    <p class="hint">${about} ${notes.map((note) => html`${note} `)}</p>`;
}
