/**
 * YAML output for people and gateways.
 *
 * Untrusted input: the texts in it. Promise: nothing in it steers a terminal or hides its surroundings; it parses to
 * the same data.
 */
import { Document, visit } from "yaml";

import { STEERING } from "./foreign-text.ts";
import { escapeCharacters } from "./visible-text.ts";

/** @param change of the document, such as comments */
export function yamlText(value: unknown, change?: (document: Document) => void): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar(_, node) {
      // Only double-quoted YAML has escapes.
      if (typeof node.value === "string" && node.value.search(STEERING) !== -1) node.type = "QUOTE_DOUBLE";
    },
  });
  change?.(document);
  return document.toString({ lineWidth: 0 }).replace(STEERING, escapeCharacters);
}
