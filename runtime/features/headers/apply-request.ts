/** Header settings on the upstream request. */
import { isHeaderText } from "../../shared/http/header-traits.ts";
import type { PreparedHeaders } from "./prepare.ts";
import { renderTemplate, type TemplateValues } from "./template.ts";

/**
 * Adds what the settings say behind all other headers.
 *
 * @param headers  flat: name, value, …
 * @param hasToken Authorization is there already, and is the user's own: it says more than one that all users share (D6)
 * @param valuesOf what templates stand for, asked for once at most
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
