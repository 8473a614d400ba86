/** Texts of strangers (clients, upstreams, users) before the eyes of administrators. */
import { visibleText } from "../../audit/visible-text.ts";

const MAX_CHARACTERS = 200;

/** Nothing invisible, and no longer than said. What is cut off is told. */
export function strange(text: string, maxCharacters = MAX_CHARACTERS): string {
  const characters = text.length > maxCharacters ? [...text.slice(0, maxCharacters + 1)] : undefined;
  if (characters === undefined) return visibleText(text);
  // Not within a character of two units.
  const shown = characters.slice(0, -1).join("");
  return `${visibleText(shown)}… (${text.length - shown.length} more characters)`;
}
