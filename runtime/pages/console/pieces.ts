/** Parts of the console's screens. Untrusted texts arrive visible and bounded (console/show-untrusted.ts). */
import { html, type Html, type HtmlValue } from "../html.ts";

export type Tone = "good" | "bad" | "warn" | "quiet";

/** A highlighted word. Its color adds no information. */
export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

export interface TableColumn {
  readonly name: string;
  /** number: on the right; short: never broken; wide: room for sentences. */
  readonly kind?: "number" | "short" | "wide";
  /** Its cells name their rows. */
  readonly isHead?: boolean;
  /** The name is only for screen readers. Narrow windows keep the column in view. */
  readonly isQuiet?: boolean;
  /** Only in wide windows: the page of the object has it too. */
  readonly isExtra?: boolean;
}

export interface TableParts {
  /** In a page at most once. */
  readonly id: string;
  /** What the rows are: "Sessions, newest first". */
  readonly caption: string;
  readonly columns: readonly TableColumn[];
  /** A cell for each column. */
  readonly rows: readonly (readonly HtmlValue[])[];
  /** Of the rows, for scripts. */
  readonly ids?: readonly string[];
  /** Replaces a table without rows. */
  readonly empty: Html;
}

/** Scrolls where it does not fit, also by keyboard. */
export function table({ id, caption, columns, rows, ids, empty }: TableParts): Html {
  if (rows.length === 0) return empty;
  return html`<div class="scroll" role="region" aria-labelledby="${id}-caption" tabindex="0">
    <table id="${id}">
      <caption id="${id}-caption">
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map((column) => {
            const { name, isQuiet } = column;
            const shown = isQuiet === true ? html`<span class="hidden">${name}</span>` : name;
            return html`<th scope="col" class="${classOf(column)}">${shown}</th>`;
          })}
        </tr>
      </thead>
      <tbody>
        ${rows.map((cells, index) => tableRow(columns, cells, ids?.[index]))}
      </tbody>
    </table>
  </div>`;
}

/** @param id of the row, for scripts */
export function tableRow(columns: readonly TableColumn[], cells: readonly HtmlValue[], id?: string): Html {
  return html`<tr ${id !== undefined && html`data-id="${id}"`}>
    ${columns.map((column, index) =>
      column.isHead === true
        ? html`<th scope="row" class="${classOf(column)}">${cells[index]}</th>`
        : html`<td class="${classOf(column)}">${cells[index]}</td>`,
    )}
  </tr>`;
}

function classOf({ kind, isExtra = false, isQuiet = false }: TableColumn): string {
  return `${kind ?? ""}${isExtra ? " extra" : ""}${isQuiet ? " actions" : ""}`.trim();
}

/** @param text how entries appear here */
export function emptyState(title: string, text: string): Html {
  return html`<div class="empty">
    <p><strong>${title}</strong></p>
    <p>${text}</p>
  </div>`;
}

/** Replaces the content of an unavailable source. @param name "The record store" */
export function sourceFailed(name: string): Html {
  return html`<p class="failed" role="status">${name} is unavailable. The rest of the page is shown.</p>`;
}

export interface PagerParts {
  /** Of the newest, or first, page; absent: this is it. */
  readonly first?: string | undefined;
  readonly next?: string | undefined;
  /** Default "Older". */
  readonly nextText?: string;
  readonly note?: string | undefined;
}

export function pager({ first, next, nextText = "Older", note }: PagerParts): Html | undefined {
  if (first === undefined && next === undefined && note === undefined) return undefined;
  return html`<nav class="bar" aria-label="Pages">
    ${first !== undefined && html`<a class="button" href="${first}">First page</a>`}
    ${next !== undefined && html`<a class="button" rel="next" href="${next}">${nextText}</a>`}
    ${note !== undefined && html`<p class="dim">${note}</p>`}
  </nav>`;
}

export interface FilterField {
  readonly name: string;
  readonly label: string;
  readonly value: string;
  /** A choice among these, value and text. */
  readonly options?: readonly (readonly [value: string, text: string])[];
  readonly type?: "text" | "search" | "datetime-local";
}

/** Asks by GET, so that what is found has an address. @param action path of the page @param kept what goes along unseen */
export function filterForm(
  action: string,
  fields: readonly FilterField[],
  kept: readonly (readonly [name: string, value: string])[] = [],
): Html {
  const isSet = fields.some(({ value }) => value !== "");
  return html`<form class="filter" method="get" action="${action}" role="search">
    ${kept.map(([name, value]) => hiddenField(name, value))}
    ${fields.map(
      (field) => html`<div><label for="filter-${field.name}">${field.label}</label>${filterInput(field)}</div>`,
    )}
    <button type="submit">Filter</button>
    ${isSet && html`<a class="button" href="${action}">Clear</a>`}
  </form>`;
}

function filterInput({ name, value, options, type = "text" }: FilterField): Html {
  if (!options)
    return html`<input
      id="filter-${name}"
      name="${name}"
      type="${type}"
      value="${value}"
      maxlength="256"
      autocomplete="off"
      spellcheck="false"
    />`;
  return html`<select id="filter-${name}" name="${name}">
    ${options.map(([each, text]) => html`<option value="${each}" ${each === value && html`selected`}>${text}</option>`)}
  </select>`;
}

/** Label and value; what is undefined, false or "" is left out. */
export function definitions(rows: readonly (readonly [label: string, value: HtmlValue])[]): Html {
  const shown = rows.filter(([, value]) => value !== undefined && value !== null && value !== false && value !== "");
  return html`<dl>
    ${shown.map(
      ([label, value]) =>
        html`<dt>${label}</dt>
          <dd>${value}</dd>`,
    )}
  </dl>`;
}

/** UTC in the markup; the script shows the reader's zone. */
export function consoleTime(timeMs: number, precision: "second" | "minute" = "second"): Html {
  const date = new Date(timeMs);
  const text = date
    .toISOString()
    .slice(0, precision === "second" ? 19 : 16)
    .replace("T", " ");
  return html`<time datetime="${date.toISOString()}" data-time="${precision}">${text} UTC</time>`;
}

/** "840 µs", "12 ms", "3.4 s", "2 min". */
export function consoleDuration(ms: number): string {
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

export interface ActionForm {
  /** Path of the page whose screen has the action. */
  readonly action: string;
  /** Name of the action, as its screen has it. */
  readonly name: string;
  readonly csrfToken: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** The hidden part of each form that does something. */
export function actionFields({ name, csrfToken, fields }: Omit<ActionForm, "action">): Html {
  const own = [["action", name], ["csrf_token", csrfToken], ...fields] as const;
  return html`${own.map(([each = "", value = ""]) => hiddenField(each, value))}`;
}

function hiddenField(name: string, value: string): Html {
  return html`<input type="hidden" name="${name}" value="${value}" />`;
}

export interface ConfirmParts extends ActionForm {
  /** What will be done, for the button: "Sign out session". */
  readonly button: string;
  /** What comes of it. */
  readonly text: HtmlValue;
  /** Asks for a reason, which the record has. */
  readonly asksReason?: boolean;
  /** What else to fill in. */
  readonly more?: Html | undefined;
  /** Where to go without doing it. */
  readonly back: string;
}

/** What is done only after a second look. Its page has what it is about in its heading. */
export function confirmForm(parts: ConfirmParts): Html {
  return html`<form class="card confirm" method="post" action="${parts.action}">
    ${actionFields(parts)}
    <p>${parts.text}</p>
    ${parts.more}
    ${
      parts.asksReason === true &&
      html`<p>
        <label for="reason">Reason (recorded)</label>
        <textarea id="reason" name="reason" maxlength="${MAX_REASON_CHARACTERS}" required></textarea>
      </p>`
    }
    <p class="bar">
      <button class="danger" type="submit">${parts.button}</button>
      <a class="button" href="${parts.back}">Cancel</a>
    </p>
  </form>`;
}

export const MAX_REASON_CHARACTERS = 500;

export function card(title: string, body: HtmlValue): Html {
  return html`<section class="card">
    <h2>${title}</h2>
    ${body}
  </section>`;
}

export interface Tab {
  readonly href: string;
  readonly name: string;
  readonly isCurrent: boolean;
}

/** The same page in one of a few ways, such as ranges of time. */
export function segments(label: string, all: readonly Tab[]): Html {
  return html`<nav class="segments" aria-label="${label}">
    ${all.map(({ href, name, isCurrent }) => html`<a href="${href}" ${isCurrent && html`aria-current="true"`}>${name}</a>`)}
  </nav>`;
}

/** Pages next to each other. */
export function tabs(label: string, all: readonly Tab[]): Html {
  return html`<nav class="tabs" aria-label="${label}">
    ${all.map(({ href, name, isCurrent }) => html`<a href="${href}" ${isCurrent && html`aria-current="page"`}>${name}</a>`)}
  </nav>`;
}
