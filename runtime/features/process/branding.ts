/** `branding`: name, logo and color of the gateway's own pages. */
import { quote } from "../../settings/problem.ts";
import { block } from "../../settings/types/block.ts";
import { displayNameProblem, filePathProblem } from "../../settings/types/checks.ts";
import { text } from "../../settings/types/scalar.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { type Accent, accentOf, lightContrast, TEXT_CONTRAST } from "./accent.ts";

export const DEFAULT_PAGES_NAME = "Gateway";

export const brandingShape = {
  branding: block(
    {
      name: text({ doc: "Name at the top of each page.", default: DEFAULT_PAGES_NAME, check: displayNameProblem }),
      logo_file: text({
        doc: "Logo next to the name: PNG, WebP or SVG, at most 64 KiB. Read at start.",
        unset: "the gateway's icon",
        check: filePathProblem,
      }),
      color: text({
        doc: 'Color of links and primary buttons, such as "#1a5fb4". Text in this color, and white text on it, must have a contrast of at least 4.5:1.',
        unset: "blue",
        check: colorProblem,
      }),
    },
    {
      doc: "Appearance of the gateway's own pages: sign-in, consent, errors, approvals, devices, the portal and the console.",
      unset: "none",
    },
  ),
};

export type BrandingDoc = ShapeDoc<typeof brandingShape>;

/** `branding`, compiled. */
export interface BrandingSettings {
  readonly name: string;
  readonly logoFile: string | undefined;
  readonly accent: Accent | undefined;
}

export function compileBranding({ name, logo_file, color }: NonNullable<BrandingDoc["branding"]>): BrandingSettings {
  return {
    name: name ?? DEFAULT_PAGES_NAME,
    logoFile: logo_file,
    accent: color === undefined ? undefined : accentOf(color),
  };
}

function colorProblem(value: string): string | undefined {
  if (!/^#[0-9a-fA-F]{6}$/.test(value)) return `is ${quote(value)}, must be a color such as "#1a5fb4"`;
  const measured = lightContrast(value);
  if (measured >= TEXT_CONTRAST) return undefined;
  // Rounded down, so that a message never says "is 4.5, must be at least 4.5".
  const ratio = Math.floor(measured * 100) / 100;
  return `is ${quote(value)}, whose contrast on light pages is ${ratio}:1, must be a darker color with at least ${TEXT_CONTRAST}:1`;
}
