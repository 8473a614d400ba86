/** Two letters on a quiet color, instead of a logo: no image of another site is ever loaded. */
import { html, type Html } from "./html.ts";

const COLORS = 8;

/** @param name text that is safe to show; screen readers skip it, since the name is next to it */
export function monogram(name: string, look: "" | "s" | "l" | "round" | "l round" = ""): Html {
  return html`<span class="tile m${colorOf(name)} ${look}" aria-hidden="true">${lettersOf(name)}</span>`;
}

/** The icon of a route, or else its monogram. @param icon path of an icon that the gateway serves */
export function tile(name: string, icon: string | undefined, look: "s" | "l"): Html {
  if (icon === undefined) return monogram(name, look);
  return html`<img class="tile ${look}" src="${icon}" alt="" decoding="async" />`;
}

/** "Refund desk" is "RD", "wiki" is "Wi", "bob@example.com" is "Bo". */
function lettersOf(name: string): string {
  const [first = "", second] = name.split("@", 1)[0]?.match(/[\p{L}\p{N}]+/gu) ?? [];
  if (second !== undefined) return (firstOf(first) + firstOf(second)).toUpperCase();
  const [initial = "?", next = ""] = first;
  return initial.toUpperCase() + next.toLowerCase();
}

function firstOf(text: string): string {
  const [first = ""] = text;
  return first;
}

function colorOf(name: string): number {
  let sum = 0;
  for (const character of name) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
  return sum % COLORS;
}
