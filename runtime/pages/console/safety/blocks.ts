/** What is blocked, and the form that blocks. All texts come visible and bounded. */
import { html, type Html } from "../../html.ts";
import {
  actionFields,
  confirmForm,
  consoleTime,
  emptyState,
  filterForm,
  MAX_REASON_CHARACTERS,
  pager,
  table,
} from "../pieces.ts";

export interface BlockRow {
  readonly kind: string;
  readonly name: string;
  /** Of a user: the address, where they are named by id. */
  readonly email: string;
  readonly route: string;
  readonly reason: string;
  readonly by: string;
  readonly sinceMs: number;
  readonly untilMs: number | undefined;
  /** Where it is lifted; undefined: not by this person. */
  readonly liftHref: string | undefined;
}

export interface BlocksParts {
  readonly rows: readonly BlockRow[];
  readonly isCut: boolean;
  readonly filter: { readonly path: string; readonly kind: string; readonly text: string };
  readonly kinds: readonly string[];
  /** Where something is blocked; undefined: not by this person. */
  readonly newHref: string | undefined;
}

export function blocksBody({ rows, isCut, filter, kinds, newHref }: BlocksParts): Html {
  const isFiltered = filter.kind !== "" || filter.text !== "";
  return html`${newHref !== undefined && html`<p><a class="button" href="${newHref}">Block something</a></p>`}
  ${filterForm(filter.path, [
    {
      name: "kind",
      label: "What",
      value: filter.kind,
      options: [["", "everything"], ...kinds.map((each) => [each, each] as const)],
    },
    { name: "text", label: "Name, route or reason has", value: filter.text, type: "search" },
  ])}
  ${table({
    id: "blocks",
    caption: `What is blocked, the latest first (${rows.length}${isCut ? " of more" : ""})`,
    columns: [
      { name: "What" },
      { name: "Name", isHead: true },
      { name: "On route" },
      { name: "Since", kind: "short" },
      { name: "Until", kind: "short" },
      { name: "Reason", kind: "wide" },
      { name: "By" },
      { name: "Lift", isQuiet: true },
    ],
    rows: rows.map((row) => [
      row.kind,
      html`<bdi>${row.name}</bdi>${row.email !== "" && html` <span class="dim"><bdi>${row.email}</bdi></span>`}`,
      row.route === "" ? (row.kind === "tool" ? "every route" : "") : html`<bdi>${row.route}</bdi>`,
      consoleTime(row.sinceMs, "minute"),
      row.untilMs === undefined ? "it is lifted" : consoleTime(row.untilMs, "minute"),
      html`<bdi>${row.reason}</bdi>`,
      html`<bdi>${row.by}</bdi>`,
      row.liftHref !== undefined &&
        html`<a href="${row.liftHref}">Lift<span class="hidden"> the block of ${row.kind} ${row.name}</span></a>`,
    ]),
    empty: isFiltered
      ? emptyState("Nothing that is blocked is like that", "Clear the filter to see all that is blocked.")
      : emptyState("Nothing is blocked", "A block refuses what it names, whatever policies say, until it is lifted."),
  })}
  ${isCut && pager({ note: "More is blocked than is shown here: filter for it." })}`;
}

export interface NewBlockParts {
  readonly action: string;
  readonly csrfToken: string;
  readonly kinds: readonly string[];
  readonly kind: string;
  readonly name: string;
  readonly route: string;
  readonly back: string;
}

export function newBlockBody(parts: NewBlockParts): Html {
  return html`<form class="card confirm" method="post" action="${parts.action}">
    ${actionFields({ name: "block", csrfToken: parts.csrfToken, fields: [] })}
    <p>
      A block refuses what it names in every process within 2 seconds. Nothing is ended: afterwards all goes on as it
      was.
    </p>
    <p>
      <label for="kind">What</label>
      <select id="kind" name="kind">
        ${parts.kinds.map((each) => html`<option value="${each}" ${each === parts.kind && html`selected`}>${each}</option>`)}
      </select>
    </p>
    ${input("name", "Name: user id or email, client id, grant id, route key, or tool", parts.name, true)}
    ${input("route", "Of a tool: on this route alone (owner/name)", parts.route, false)}
    ${input("until", "Until: a time from now such as 2h, or 2026-11-20T18:00:00Z; empty: until it is lifted", "", false)}
    <p>
      <label for="reason">Reason, for the record</label>
      <textarea id="reason" name="reason" maxlength="${MAX_REASON_CHARACTERS}" required></textarea>
    </p>
    <p class="bar">
      <button class="danger" type="submit">Block</button>
      <a class="button" href="${parts.back}">Do nothing</a>
    </p>
  </form>`;
}

function input(name: string, label: string, value: string, isRequired: boolean): Html {
  return html`<p>
    <label for="${name}">${label}</label>
    <input
      id="${name}"
      name="${name}"
      value="${value}"
      maxlength="2048"
      autocomplete="off"
      spellcheck="false"
      ${isRequired && html`required`}
    />
  </p>`;
}

export interface LiftBlockParts {
  readonly action: string;
  readonly csrfToken: string;
  /** What is lifted: kind, name, route. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly text: string;
  readonly back: string;
}

export function liftBlockBody(parts: LiftBlockParts): Html {
  return confirmForm({
    ...parts,
    name: "unblock",
    button: "Lift the block",
    text: html`<bdi>${parts.text}</bdi> is no longer refused, in every process within 2 seconds.`,
    asksReason: true,
  });
}
