/**
 * Text for people who decide by what they see: invisible characters, and characters that change how their neighbors
 * look, are escaped.
 *
 * These are control and format characters (bidirectional marks, tags), optional glyphs (variation selectors, fillers),
 * characters unknown to our Unicode version, every space but the plain one, and runs of spaces longer than any
 * indentation. Also marks without a letter, and more marks than any script puts on one letter: stacked, they cover the
 * lines around them.
 */
const HIDDEN =
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?! )\p{Zs}|\p{M}{7,}|(?<![\p{L}\p{N}\p{M}])\p{M}| {33,}/gu;

/** Within JSON text the escapes are JSON's own: its meaning is unchanged. */
export function visibleText(text: string): string {
  return text.replace(HIDDEN, escapeUnits);
}

/** A literal of JSON or TypeScript: reviewers must see its content. */
export function visibleLiteral(text: string): string {
  return visibleText(JSON.stringify(text));
}

/** Escapes by UTF-16 unit: a character above U+FFFF has two, and JSON writes both. */
export function escapeUnits(characters: string): string {
  return characters
    .split("")
    .reduce((text, unit) => `${text}\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`, "");
}

/** A literal of HCL, with the escapes of HCL. */
export function visibleHcl(literal: string): string {
  return literal.replace(HIDDEN, escapeCharacters);
}

/** Escapes by character, as HCL and YAML do. */
export function escapeCharacters(characters: string): string {
  return Array.from(characters, (character) => {
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    return hex.length > 4 ? `\\U${hex.padStart(8, "0")}` : `\\u${hex.padStart(4, "0")}`;
  }).join("");
}
