/** Name, logo and accent color of all pages, as the operator chose them. */
import { createHash } from "node:crypto";

import { dangerouslyTrustedHtml, html, type Html } from "./html.ts";
import { PAGE_STYLE } from "./page-style.ts";

export interface BrandingParts {
  readonly name: string;
  readonly logo?: BrandLogo | undefined;
  readonly accent?: { readonly light: BrandColors; readonly dark: BrandColors } | undefined;
}

export interface BrandLogo {
  /** On each host. */
  readonly path: string;
  readonly width: number;
  readonly height: number;
}

/** As "#rrggbb". */
export interface BrandColors {
  readonly accent: string;
  readonly soft: string;
  readonly line: string;
  readonly onAccent: string;
}

export interface Branding extends Pick<BrandingParts, "name" | "logo"> {
  /** Comes after a stylesheet; "" if logo and colors are the gateway's own. */
  readonly style: string;
  /** The stylesheet of users' pages, and how their policy allows it. */
  readonly styleElement: Html;
  readonly styleHash: string;
}

export function createBranding({ name, logo, accent }: BrandingParts): Branding {
  const colors =
    accent === undefined
      ? ""
      : `:root{${variables(accent.light)}}@media (prefers-color-scheme: dark){:root{${variables(accent.dark)}}}`;
  // The console's navigation is narrower than some logos.
  const style = colors + (logo === undefined ? "" : ".brand img{max-width:100%;height:auto}");
  const whole = PAGE_STYLE + style;
  return {
    name,
    logo,
    style,
    styleElement: dangerouslyTrustedHtml(`<style>${whole}</style>`),
    styleHash: `'sha256-${createHash("sha256").update(whole).digest("base64")}'`,
  };
}

export const OWN_BRANDING: Branding = createBranding({ name: "Gateway" });

/** In rem units of 16 pixels: as high as the icon, and as wide as leaves room for a name. */
const MAX_LOGO = { width: 144, height: 24 } as const;

/** The logo, or the icon where there is none. The name is next to it, so that it has no text of its own. */
export function brandMark({ logo }: Branding, icon: Html): Html {
  if (!logo) return icon;
  const scale = Math.min(MAX_LOGO.height / logo.height, MAX_LOGO.width / logo.width);
  // With its size, so that the name does not move when it is loaded.
  const [width, height] = [logo.width, logo.height].map((each) => Math.max(1, Math.round(each * scale)));
  return html`<img src="${logo.path}" alt="" width="${width}" height="${height}" />`;
}

function variables({ accent, soft, line, onAccent }: BrandColors): string {
  return `--accent:${accent};--accent-soft:${soft};--accent-line:${line};--on-accent:${onAccent}`;
}
