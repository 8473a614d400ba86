/** The list of a kind of stored objects with its filter, and the form that makes one. All texts come visible and bounded. */
import { html, type Html } from "../html.ts";
import { actionFields, filterForm, MAX_REASON_CHARACTERS, pager, type ActionForm, type FilterField } from "./pieces.ts";

/** A link to the page that asks once more. */
export interface ActionLink {
  readonly href: string;
  /** Where a browser comes back to; absent: nowhere. */
  readonly anchor?: string;
  /** "End" */
  readonly text: string;
  /** The object, for users of screen readers. */
  readonly of: string;
}

export function actionLink({ href, anchor, text, of }: ActionLink, isButton = false): Html {
  return html`<a ${anchor !== undefined && html`id="${anchor}"`} href="${href}" ${isButton && html`class="button"`}
    >${text}<span class="hidden"> ${of}</span></a
  >`;
}

export interface ObjectsParts {
  readonly table: Html;
  readonly filter: { readonly path: string; readonly fields: readonly FilterField[] };
  /** Where one is made; undefined: this administrator cannot. */
  readonly creation: { readonly href: string; readonly title: string } | undefined;
  /** Where not all are shown. */
  readonly note: string | undefined;
}

export function objectsBody({ table, filter, creation, note }: ObjectsParts): Html {
  return html`${creation && html`<p><a class="button" href="${creation.href}">${creation.title}</a></p>`}
  ${filterForm(filter.path, filter.fields)} ${table} ${pager({ note })}`;
}

export interface CreationParts extends Omit<ActionForm, "fields"> {
  readonly text: string;
  readonly inputs: readonly {
    readonly name: string;
    readonly label: string;
    readonly value: string;
    readonly values?: readonly string[];
    readonly isRequired?: boolean;
  }[];
  readonly button: string;
  readonly back: string;
}

export function creationForm({ action, text, inputs, button, back, ...form }: CreationParts): Html {
  return html`<form class="card confirm" method="post" action="${action}">
    ${actionFields({ ...form, fields: [] })}
    <p>${text}</p>
    ${inputs.map(entry)}
    <p>
      <label for="reason">Reason (recorded)</label>
      <textarea id="reason" name="reason" maxlength="${MAX_REASON_CHARACTERS}" required></textarea>
    </p>
    <p class="bar">
      <button class="danger" type="submit">${button}</button>
      <a class="button" href="${back}">Cancel</a>
    </p>
  </form>`;
}

function entry({ name, label, value, values, isRequired = false }: CreationParts["inputs"][number]): Html {
  return html`<p>
    <label for="${name}">${label}</label>
    ${
      values
        ? html`<select id="${name}" name="${name}">
            ${values.map((each) => html`<option value="${each}" ${each === value && html`selected`}>${each}</option>`)}
          </select>`
        : html`<input
            id="${name}"
            name="${name}"
            value="${value}"
            maxlength="2048"
            autocomplete="off"
            spellcheck="false"
            ${isRequired && html`required`}
          />`
    }
  </p>`;
}
