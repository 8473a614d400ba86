/**
 * HTML by tagged template: every value is escaped.
 *
 * Untrusted input: all values. Promise: a value can never end the text or the quoted attribute that contains it. Values
 * must be in text or in a double-quoted attribute; never in a tag name, a script or a style.
 */

/** Finished markup. Only this file makes it, so that a plain string can never be taken for it. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }

  /** Without the indentation of our source, which is a tenth of a page. Not for what has `pre` or `textarea` in it. */
  withoutIndentation(): Html {
    return new Html(this.#text.replaceAll(/\s*\n\s*/g, "\n"));
  }
}

/** `undefined`, `null` and `false` render nothing, so that parts can be omitted with `&&`. */
export type HtmlValue = string | number | Html | undefined | null | false | readonly HtmlValue[];

/** Markup with every value escaped; values that are Html already, or lists of values, are joined as they are. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  let text = strings[0] ?? "";
  values.forEach((value, index) => {
    text += render(value) + (strings[index + 1] ?? "");
  });
  return new Html(text);
}

/**
 * Trusts text as markup, unchanged. Only for constants of our own source, such as the stylesheet: anything a user,
 * a client or a configuration wrote would become script here.
 */
export function dangerouslyTrustedHtml(text: string): Html {
  return new Html(text);
}

function render(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return "";
  if (value instanceof Html) return value.toString();
  if (Array.isArray(value)) return (value as readonly HtmlValue[]).map(render).join("");
  return escapeHtml(String(value));
}

/** The five characters that mean something in text or in an attribute, as entities. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`);
}
