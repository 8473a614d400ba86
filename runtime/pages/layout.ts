/**
 * The frame of every page: one column, readable in light and dark, with keyboard and screen reader, without script but for
 * the page of devices, which can only speak to a device by one.
 *
 * Promise: nothing is loaded from anywhere. The one stylesheet stands in the page and is allowed by its hash, so that
 * markup that slips through somewhere still can neither run, load, frame nor send anything.
 */
import { createHash } from "node:crypto";

import { dangerouslyTrustedHtml, html, type Html } from "./html.ts";

const STYLE = `
:root { color-scheme: light dark; --text: #1c1e21; --dim: #59606a; --page: #f6f7f9; --card: #fff; --line: #d5d9df; --field: #747b85; --accent: #0b57d0; --on-accent: #fff; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --dim: #a3abb5; --page: #14161a; --card: #1d2025; --line: #3a4048; --field: #8b939d; --accent: #8ab4f8; --on-accent: #10131a; --bad: #f2b8b5; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 2rem 1rem; background: var(--page); color: var(--text); font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 36rem; margin: 0 auto; padding: 1.5rem 1.75rem; background: var(--card); border: 1px solid var(--line); border-radius: .6rem; overflow-wrap: break-word; }
h1 { margin: 0 0 .75rem; font-size: 1.4rem; line-height: 1.25; text-wrap: balance; }
h2 { margin: 1.5rem 0 .5rem; font-size: 1.1rem; }
h3 { margin: 1.25rem 0 .35rem; font-size: 1rem; }
p, ul, dl { margin: 0 0 1rem; }
ul { padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) minmax(0, 1fr); gap: .35rem 1.25rem; }
dt { color: var(--dim); }
dd { margin: 0; }
dd ul { padding: 0; list-style: none; }
code, .address { overflow-wrap: anywhere; }
code { font: .92em ui-monospace, monospace; }
a { color: var(--accent); }
form { margin: 0; }
label { display: block; margin: 0 0 .25rem; }
input:not([type=hidden]) { display: block; width: 100%; max-width: 24rem; padding: .5rem .7rem; border: 1px solid var(--field); border-radius: .4rem; background: var(--page); color: inherit; font: inherit; }
button, .button { display: inline-block; margin: .25rem .5rem .25rem 0; padding: .55rem 1.1rem; border: 1px solid var(--line); border-radius: .4rem; background: transparent; color: var(--text); font: inherit; text-decoration: none; cursor: pointer; }
button:hover, .button:hover { border-color: currentColor; }
button:disabled { opacity: .55; cursor: default; }
button.primary, .button.primary { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
article { padding: .75rem 0; border-top: 1px solid var(--line); }
article h3 { margin: 0 0 .25rem; font-size: 1rem; }
article p { margin-bottom: .4rem; }
article form { display: inline; }
main > form { margin-top: 1.25rem; }
main > form + p, .after { margin-top: 1.25rem; }
section p { margin-bottom: .75rem; }
nav p { margin-bottom: .4rem; }
[role=status]:empty { margin: 0; }
details { margin: .25rem 0; }
summary { padding: .15rem 0; cursor: pointer; }
details p { margin: .25rem 0; }
pre { margin: .35rem 0 .75rem; padding: .6rem .8rem; border: 1px solid var(--line); border-radius: .4rem; background: var(--page); font: .85rem/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; user-select: all; }
pre bdi { border-radius: .2rem; background: var(--line); }
.dim { color: var(--dim); font-size: .92rem; }
.warning { margin: 1.25rem 0; padding: .1rem 0 .1rem .9rem; border-left: 4px solid var(--bad); }
.reference { margin-top: 1.5rem; padding-top: .75rem; border-top: 1px solid var(--line); color: var(--dim); font-size: .92rem; }
.reference p { margin-bottom: .35rem; }
.reference dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: .1rem 1.25rem; }
main > :last-child, .reference > :last-child, dd > :last-child, nav > :last-child { margin-bottom: 0; }
@media (max-width: 30rem) { body { padding: .75rem; } main { padding: 1.1rem; } dl { display: block; } dd { margin-bottom: .6rem; } .reference dd { margin: 0; } }
`;

const STYLE_HASH = `'sha256-${createHash("sha256").update(STYLE).digest("base64")}'`;
const STYLE_ELEMENT = dangerouslyTrustedHtml(`<style>${STYLE}</style>`);

export interface PageParts {
  /** Title of the window and first heading. */
  readonly title: string;
  readonly body: Html;
}

/** A whole document. Send it with `pageHeaders()`. */
export function page(parts: PageParts): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${parts.title}</title>
        ${STYLE_ELEMENT}
      </head>
      <body>
        <main>
          <h1>${parts.title}</h1>
          ${parts.body}
        </main>
      </body>
    </html> `.toString();
}

/**
 * The Content-Security-Policy of our pages.
 *
 * @param formTargets origins that a form may reach besides our own host. Browsers hold a form's redirects to it too, so a
 *   form whose answer redirects elsewhere (consent → client, sign-out → provider) must name that origin
 * @param script the whole address of the one script that may run; ours, from the configuration. None by default
 */
export function contentSecurityPolicy(formTargets: readonly string[] = [], script?: string): string {
  const targets = ["'self'", ...formTargets.filter(isSourceExpression)].join(" ");
  const scripts = script === undefined ? "" : ` script-src ${script};`;
  return `default-src 'none'; style-src ${STYLE_HASH};${scripts} form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`;
}

/** The policy of pages whose forms stay on their own host. */
export const PAGE_CONTENT_SECURITY_POLICY = contentSecurityPolicy();

/**
 * Headers that belong to every page, flat: name, value, …
 *
 * @param formTargets see `contentSecurityPolicy`, and for `script`
 */
export function pageHeaders(formTargets: readonly string[] = [], script?: string): string[] {
  const isPlain = formTargets.length === 0 && script === undefined;
  return [
    "content-security-policy",
    isPlain ? PAGE_CONTENT_SECURITY_POLICY : contentSecurityPolicy(formTargets, script),
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
