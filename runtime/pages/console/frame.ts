/**
 * The document around every screen of the console.
 *
 * Promise: as `layout.ts` has it; beside the one stylesheet, allowed by its hash, only the named scripts of this very host
 * run, and only the named stream is opened.
 */
import { createHash } from "node:crypto";

import { dangerouslyTrustedHtml, html, type Html } from "../html.ts";
import { pageHeaders } from "../layout.ts";
import { type Tab, tabs } from "./pieces.ts";
import { CONSOLE_STYLE } from "./style.ts";

const STYLE_HASH = `'sha256-${createHash("sha256").update(CONSOLE_STYLE).digest("base64")}'`;
const STYLE_ELEMENT = dangerouslyTrustedHtml(`<style>${CONSOLE_STYLE}</style>`);

export interface ConsoleFrame {
  readonly title: string;
  readonly body: Html;
  readonly navigation: readonly Tab[];
  /** What shares its place in the navigation, itself too. */
  readonly beside?: readonly Tab[];
  /** Who looks, as people know them. */
  readonly person: string;
  /** "viewer and auditor", "viewer of team-a". */
  readonly roles: string;
  /** What became of the form before. */
  readonly told?: string | undefined;
  /** Why the form before was not done. */
  readonly refused?: string | undefined;
  /** Addresses of scripts, on this host. */
  readonly scripts: readonly string[];
}

/** A whole document. Send it with `consoleHeaders()`. */
export function consolePage(parts: ConsoleFrame): string {
  const { title, body, navigation, beside = [], person, roles, told, refused, scripts } = parts;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title} · Gateway console</title>
        ${STYLE_ELEMENT} ${scripts.map((src) => html`<script src="${src}" defer></script>`)}
      </head>
      <body>
        <a class="skip" href="#main">To the content</a>
        <header class="top">
          <p class="name">Gateway console</p>
          <nav aria-label="Console">
            <ul>
              ${navigation.map(
                ({ href, name, isCurrent }) =>
                  html`<li><a href="${href}" ${isCurrent && html`aria-current="page"`}>${name}</a></li>`,
              )}
            </ul>
          </nav>
          <p class="who">${person} · ${roles} · <a href="/.gateway/">Your page</a></p>
        </header>
        <main id="main" tabindex="-1">
          ${beside.length > 0 && tabs(beside[0]?.name ?? "", beside)}
          <h1>${title}</h1>
          ${told !== undefined && html`<p class="told" role="status">${told}</p>`}
          ${refused !== undefined && html`<p class="refused" role="alert">${refused}</p>`} ${body}
        </main>
        <footer><p id="zone">Times are UTC.</p></footer>
      </body>
    </html> `.toString();
}

/**
 * Headers of every page of the console, flat.
 *
 * @param scripts whole addresses
 * @param stream  whole address of what its scripts may open
 */
export function consoleHeaders(scripts: readonly string[], stream?: string): string[] {
  const connect = stream === undefined ? "" : ` connect-src ${stream};`;
  const policy =
    `default-src 'none'; style-src ${STYLE_HASH}; script-src ${scripts.join(" ")};${connect}` +
    ` form-action 'self'; frame-ancestors 'none'; base-uri 'none'`;
  const headers = pageHeaders();
  headers[headers.indexOf("content-security-policy") + 1] = policy;
  return headers;
}
