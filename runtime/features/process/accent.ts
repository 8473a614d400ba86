/**
 * Colors that pages derive from one accent color. Contrasts are measured as WCAG 2.2 defines them (1.4.3: text needs 4.5:1).
 */

/** Accent in one theme, as "#rrggbb". */
export interface AccentShades {
  /** Links, the current entry, primary buttons. */
  readonly accent: string;
  /** Background of accented parts. */
  readonly soft: string;
  readonly line: string;
  /** Text on `accent`. */
  readonly onAccent: string;
}

export interface Accent {
  readonly light: AccentShades;
  readonly dark: AccentShades;
}

/** Least contrast of text. */
export const TEXT_CONTRAST = 4.5;

/** Backgrounds of text in the accent color that are closest to it; `pages/tokens.ts` has them as `--sunk`. */
export const LIGHT_SUNK = "#eff1f4";
export const DARK_SUNK = "#1b2028";

const WHITE = "#ffffff";
const DARK_TEXT = "#0a1026";
const DARK_SURFACE = "#14181e";
/** As much as the gateway's own accent has on dark pages, less some. */
const DARK_CONTRAST = 6;

/** @param color "#rrggbb" */
export function accentOf(color: string): Accent {
  const accent = color.toLowerCase();
  return {
    light: { accent, soft: mix(WHITE, accent, 0.08), line: mix(WHITE, accent, 0.35), onAccent: WHITE },
    dark: darkShades(accent),
  };
}

/** Least contrast of the color as text on light pages, and of white text on it. */
export function lightContrast(color: string): number {
  const { accent, soft, onAccent } = accentOf(color).light;
  return Math.min(...[LIGHT_SUNK, soft, onAccent].map((other) => contrast(accent, other)));
}

/** On dark pages, a color that reads on white is too dark: it is mixed with white until it reads. */
function darkShades(color: string): AccentShades {
  let accent = color;
  for (let share = 0.02; contrast(accent, DARK_SUNK) < DARK_CONTRAST; share += 0.02) accent = mix(color, WHITE, share);
  const soft = mix(DARK_SURFACE, accent, 0.12);
  return { accent, soft, line: mix(DARK_SURFACE, accent, 0.4), onAccent: DARK_TEXT };
}

/** @returns 1 to 21 */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map((value) =>
    value <= 10.31475 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** @param share of `other`, 0 to 1 */
function mix(one: string, other: string, share: number): string {
  const others = channels(other);
  const mixed = channels(one).map((value, index) => Math.round(value + ((others[index] ?? 0) - value) * share));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function channels(color: string): readonly number[] {
  return [1, 3, 5].map((start) => Number.parseInt(color.slice(start, start + 2), 16));
}
