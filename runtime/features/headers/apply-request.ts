/** Applies header settings to the upstream request. */
import { isHeaderText } from "../../shared/http/header-traits.ts";
import type { PreparedHeaders } from "./prepare.ts";
import { renderTemplate, type TemplateValues } from "./template.ts";

/**
 * Appends the configured headers after all others.
 *
 * @param headers flat: name, value, …
 * @param hasToken whether Authorization is present with the user's own token, which takes precedence over a shared one
 *   (D6)
 * @param valuesOf returns the values for templates, called at most once
 */
export function addConfiguredHeaders(
  headers: string[],
  { setRequest }: PreparedHeaders,
  hasToken: boolean,
  valuesOf: () => TemplateValues,
): void {
  let values: TemplateValues | undefined;
  for (const header of setRequest) {
    if (hasToken && header.lower === "authorization") continue;
    if (header.template === undefined) headers.push(header.name, header.text);
    else {
      values ??= valuesOf();
      const text = renderTemplate(header.template, values);
      headers.push(header.name, isHeaderText(text) ? text : "");
    }
  }
}
