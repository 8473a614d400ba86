/** Cards of the objects that act for the user, one per kind. */
import { drawnIcon, type Icon } from "../icons.ts";
import { html, type Html, type HtmlValue } from "../html.ts";

export interface OwnRow {
  readonly id: string;
  readonly name: HtmlValue;
  /** Below the name. */
  readonly text: HtmlValue;
  /** This browser's session, which ends by signing out. */
  readonly isCurrent: boolean;
  /** "End access of Lab Book" */
  readonly end: { readonly button: string; readonly of: string };
}

export interface OwnView {
  /** Name of the kind in the form. */
  readonly kind: string;
  readonly heading: string;
  readonly icon: Icon;
  readonly rows: readonly OwnRow[];
  /** Text without rows. */
  readonly empty: Html;
  /** Below the rows. */
  readonly foot: Html | undefined;
  readonly isCut: boolean;
}

export interface OwnForm {
  readonly action: string;
  readonly csrfToken: string;
}

export function ownCards(views: readonly OwnView[], form: OwnForm): Html {
  return html`${views.map((view) => ownCard(view, form))}`;
}

function ownCard({ kind, heading, icon, rows, empty, foot, isCut }: OwnView, form: OwnForm): Html {
  return html`<section class="card" aria-labelledby="own-${kind}">
    <header><h2 id="own-${kind}">${heading}</h2></header>
    ${
      rows.length === 0
        ? html`<p class="in dim">${empty}</p>`
        : html`<ul class="rows">
            ${rows.map((row) => ownRow(kind, icon, row, form))}
          </ul>`
    }
    ${isCut && html`<p class="foot">Showing the first ${rows.length}.</p>`}
    ${foot !== undefined && html`<p class="foot">${foot}</p>`}
  </section>`;
}

function ownRow(kind: string, icon: Icon, { id, name, text, isCurrent, end }: OwnRow, form: OwnForm): Html {
  return html`<li>
    <span class="mark ${isCurrent ? "good" : ""}">${drawnIcon(icon)}</span>
    <div>
      <h3>${name}</h3>
      <p class="dim">${text}</p>
    </div>
    ${
      !isCurrent &&
      html`<form method="post" action="${form.action}">
        <input type="hidden" name="csrf" value="${form.csrfToken}" />
        <input type="hidden" name="kind" value="${kind}" />
        <input type="hidden" name="id" value="${id}" />
        <button type="submit">${end.button}<span class="hidden"> ${end.of}</span></button>
      </form>`
    }
  </li>`;
}
