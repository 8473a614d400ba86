/** Texts of a record: JSON on one line, without characters that a terminal or log viewer would obey. */
import { escapeUnits } from "../shared/json/visible-text.ts";

export function plainJsonText(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : escapeMarks(JSON.stringify(text));
}

/** Printable ASCII without quote and backslash. */
const PLAIN = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/;

/**
 * Characters that JSON does not escape but viewers obey: DEL, C1 controls, line separators, and all formatting:
 * bidirectional marks, tags.
 */
export function escapeMarks(json: string): string {
  return json.replace(MARKS, escapeUnits);
}

// oxlint-disable-next-line no-control-regex -- exactly these are meant
const MARKS = /[\x7f-\x9f\u2028\u2029\u2065\p{Cf}]/gu;
