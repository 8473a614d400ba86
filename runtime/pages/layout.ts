/**
 * The frame of every page of users: one card, for light and dark, keyboard and screen reader, without script. Only the page of
 * devices has one, because a device answers scripts only.
 *
 * Promise: nothing is loaded but the operator's logo, by its whole address, and on the portal the icons of routes,
 * from the gateway. The stylesheet is inside the page and is allowed
 * by its hash, so that injected markup cannot run, load, frame or send anything.
 */
import { type Branding, brandMark, OWN_BRANDING } from "./branding.ts";
import { drawnIcon, type Icon } from "./icons.ts";
import { html, type Html, type HtmlValue } from "./html.ts";

/** A whole document, rendered when it is sent. */
export type Page = (branding?: Branding) => string;

export interface PageParts {
  /** Title of the window and first heading. */
  readonly title: string;
  /** The heading, where it has more than the title's text. */
  readonly heading?: Html;
  /** Above the heading: an icon, or who asks for what. */
  readonly mark?: Html | undefined;
  readonly body: Html;
  /** At the foot of the card: what to quote to a helper. */
  readonly reference?: Html | undefined;
  /** Below the card: details that few users read. */
  readonly after?: Html | undefined;
}

/** A whole document. Send it with `pageHeaders()`. */
export function page({ title, heading, mark, body, reference, after }: PageParts): Page {
  return pageDocument(
    title,
    (branding) =>
      html`<div class="one">
        <header class="brand">${brandMark(branding, drawnIcon("gate"))}${branding.name}</header>
        <main>
          <div class="card">
            <div class="in">
              ${mark}
              <h1>${heading ?? title}</h1>
              ${body}
            </div>
            ${reference}
          </div>
          ${after}
        </main>
      </div>`,
  );
}

/** A document around a page that has its own frame. */
export function pageDocument(title: string, body: (branding: Branding) => Html): Page {
  return (branding = OWN_BRANDING) => htmlDocument(title, branding.styleElement, body(branding));
}

/** @param head elements of the head after the title */
export function htmlDocument(title: HtmlValue, head: HtmlValue, body: HtmlValue): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html> `.toString();
}

/** An icon above a heading. */
export function mark(tone: "bad" | "warn" | "good" | "info", icon: Icon): Html {
  return html`<span class="mark ${tone}">${drawnIcon(icon)}</span>`;
}

/** A note to read before deciding. */
export function warning(text: Html): Html {
  return html`<div class="note" role="note">
    ${drawnIcon("warning")}
    <p>${text}</p>
  </div>`;
}

/** Where a page is shown; an exchange has both. */
export interface PagePlace {
  /** Undefined: the gateway's own. */
  readonly branding?: Branding | undefined;
  readonly host: string;
}

/**
 * The Content-Security-Policy of our pages.
 *
 * @param formTargets origins that a form may reach besides our own host. Browsers hold a form's redirects to it too, so a
 *   form whose answer redirects elsewhere (consent → client, sign-out → provider) must name that origin
 * @param script the whole address of the one script that may run; ours, from the configuration. None by default
 * @param images path below which images may be, with its slash. None by default
 */
export function contentSecurityPolicy(
  { branding = OWN_BRANDING, host }: PagePlace,
  formTargets: readonly string[] = [],
  script?: string,
  images?: string,
): string {
  const targets = ["'self'", ...formTargets.filter(isSourceExpression)].join(" ");
  const paths = [branding.logo?.path, images].filter((path) => path !== undefined);
  const shown = paths.length === 0 ? "" : ` img-src ${paths.map((path) => imageSource(host, path)).join(" ")};`;
  const scripts = script === undefined ? "" : ` script-src ${script};`;
  return `default-src 'none'; style-src ${branding.styleHash};${shown}${scripts} form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`;
}

/** Without a scheme it has that of the page, which a proxy before us may have chosen. Source expressions have no IPv6. */
function imageSource(host: string, path: string): string {
  return /^[a-z0-9.-]+(:[0-9]+)?$/.test(host) ? host + path : "'self'";
}

/**
 * Headers that belong to every page, flat: name, value, …
 *
 * @param formTargets see `contentSecurityPolicy`, and for `script` and `images`
 */
export function pageHeaders(
  place: PagePlace,
  formTargets: readonly string[] = [],
  script?: string,
  images?: string,
): string[] {
  return [
    "content-security-policy",
    contentSecurityPolicy(place, formTargets, script, images),
    "x-content-type-options",
    "nosniff",
    "x-frame-options",
    "DENY",
    // Not no-referrer: that would make browsers send `Origin: null` with our own forms, which we refuse.
    "referrer-policy",
    "same-origin",
    // Not same-origin: an application on this very host that sends that itself would keep a handle on our window.
    "cross-origin-opener-policy",
    "noopener-allow-popups",
    "cache-control",
    "no-store",
  ];
}

/** `scheme://host[:port]` or `scheme:`; anything else could carry a second directive into the header. */
function isSourceExpression(text: string): boolean {
  return /^[a-z][a-z0-9+.-]*:(\/\/[A-Za-z0-9.[\]:-]+)?$/.test(text);
}
