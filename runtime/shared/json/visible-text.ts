/**
 * Text for people who decide by what they see: what has no look of its own, or changes how its neighbours look, is written
 * as an escape.
 *
 * That are control and format characters (bidirectional marks, tags), what fonts need not draw (variation selectors, fillers),
 * what no Unicode version of ours knows, every space but the plain one, and more of those than indent anything; marks that
 * stand on no letter, and more of them than any writing puts on one: piled up they cover the lines around them.
 */
const HIDDEN =
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|\p{M}{7,}|(?<![\p{L}\p{N}\p{M}])\p{M}| {33,}/gu;

/** Within JSON text the escapes are JSON's own: it means what it meant. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, escapeUnits);
}

/** A literal of JSON or TypeScript: reviewers must see what it holds. */
export function visibleLiteral(text: string): string {
  return visibleText(JSON.stringify(text));
}

/** By UTF-16 units: a character above U+FFFF has two, and JSON writes both. */
export function escapeUnits(characters: string): string {
  return characters
    .split("")
    .reduce((text, unit) => `${text}\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`, "");
}

/** A literal of HCL, with its other escapes written. */
export function visibleHcl(literal: string): string {
  return literal.replace(HIDDEN, escapeCharacters);
}

/** By characters, as HCL and YAML write them. */
export function escapeCharacters(characters: string): string {
  return Array.from(characters, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
  }).join("");
}
