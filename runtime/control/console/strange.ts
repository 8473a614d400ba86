/** Texts of strangers (clients, upstreams, users) before the eyes of administrators. */
import { visibleText } from "../../shared/json/visible-text.ts";

const MAX_CHARACTERS = 200;

/** Nothing invisible, and no longer than said. What is cut off is told. */
export function strange(text: string, maxCharacters = MAX_CHARACTERS): string {
  if (text.length <= maxCharacters) return visibleText(text);
  // Not within a character of two units.
  const shown = text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, "");
  return `${visibleText(shown)}… (${text.length - shown.length} more characters)`;
}

/** The same of a text of several lines. */
export function strangeLines(text: string, maxCharacters: number): string {
  const shown = text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, "");
  const lines = shown.split(/\r?\n/).map(visibleText).join("\n");
  return shown.length === text.length ? lines : `${lines}… (${text.length - shown.length} more characters)`;
}
