/** Replaces some values in a JSON text, and leaves the rest unchanged. Pure. */
import { spanAt } from "../../policy/mcp/argument-span.ts";

export interface Replacement {
  readonly pointer: readonly string[];
  /** JSON. */
  readonly text: string;
}

/** @param text parsed JSON in which all pointers exist */
export function replaceIn(text: string, replacements: readonly Replacement[]): string {
  const edits = replacements
    .map(({ pointer, text: put }) => ({ span: spanAt(text, pointer), put }))
    .sort((one, other) => one.span[0] - other.span[0]);
  let result = "";
  let position = 0;
  for (const { span, put } of edits) {
    const [start, end] = span;
    // A repeated member was parsed at its last position and found at its first.
    if (start < position) continue;
    result += text.slice(position, start) + put;
    position = end;
  }
  return result + text.slice(position);
}
