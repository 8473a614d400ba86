/** Filters of a list as chips, each with a link that removes it, and forms that add one. */
import { html, type Html, type HtmlValue } from "../../html.ts";
import { icon } from "../icons.ts";

export interface Chip {
  /** "User" */
  readonly label: string;
  readonly value: HtmlValue;
  /** Address of the same list without this filter. */
  readonly removeHref: string;
}

/** Fields that a form sends along unseen. */
export type Kept = readonly (readonly [name: string, value: string])[];

export interface FilterBarParts {
  readonly chips: readonly Chip[];
  /** Forms and other parts of the row. */
  readonly more: HtmlValue;
}

export function filterBar({ chips, more }: FilterBarParts): Html {
  return html`<div class="filters" role="group" aria-label="Filters">
    ${chips.map(
      ({ label, value, removeHref }) =>
        html`<span class="chip"
          ><span>${label} <b>${value}</b></span
          ><a href="${removeHref}" aria-label="Remove filter: ${label}">${icon("close")}</a></span
        >`,
    )}
    ${more}
  </div>`;
}

export interface AddFilterParts {
  /** Path of the list, which understands `add` and `value`. */
  readonly action: string;
  readonly kept: Kept;
  /** Fields of filters: value and text. */
  readonly fields: readonly (readonly [value: string, text: string])[];
  /** Values to choose from. */
  readonly suggestions: readonly string[];
}

export function addFilter({ action, kept, fields, suggestions }: AddFilterParts): Html {
  return html`<details class="pop">
    <summary class="button quiet">${icon("plus")}Add filter</summary>
    <div>
      <form method="get" action="${action}">
        ${hiddenFields(kept)}
        <p>
          <label for="add-field">Field</label>
          <select id="add-field" name="add">
            ${fields.map(([value, text]) => html`<option value="${value}">${text}</option>`)}
          </select>
        </p>
        <p>
          <label for="add-value">Value</label>
          <input id="add-value" name="value" maxlength="256" autocomplete="off" spellcheck="false" list="add-values" />
        </p>
        <datalist id="add-values">${suggestions.map((each) => html`<option value="${each}"></option>`)}</datalist>
        <button class="primary" type="submit">Add filter</button>
      </form>
    </div>
  </details>`;
}

export interface TimeFilterParts {
  readonly action: string;
  readonly kept: Kept;
  readonly presets: readonly { readonly text: string; readonly href: string; readonly isCurrent: boolean }[];
  /** "2026-11-23T09:30", UTC; "" for none. */
  readonly since: string;
  readonly until: string;
}

/** Times are in the time zone of the browser, which the script of times sets and names; without scripts they are UTC. */
export function timeFilter({ action, kept, presets, since, until }: TimeFilterParts): Html {
  const field = (name: string, label: string, value: string): Html =>
    html`<p>
      <label for="time-${name}">${label} (<span data-zone>UTC</span>)</label>
      <input id="time-${name}" name="${name}" type="datetime-local" value="${value}" data-utc autocomplete="off" />
    </p>`;
  return html`<details class="pop">
    <summary class="button quiet">${icon("clock")}Time</summary>
    <div>
      <ul>
        ${presets.map(
          ({ text, href, isCurrent }) =>
            html`<li><a class="button" href="${href}" ${isCurrent && html`aria-current="true"`}>${text}</a></li>`,
        )}
      </ul>
      <form method="get" action="${action}">
        ${hiddenFields(kept)} ${field("since", "From", since)} ${field("until", "To", until)}
        <button class="primary" type="submit">Apply</button>
      </form>
    </div>
  </details>`;
}

function hiddenFields(kept: Kept): readonly Html[] {
  return kept.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`);
}
