/**
 * The document around every screen of the console: navigation on the left, on narrow windows behind a button.
 *
 * Promise: as `layout.ts` has it; the one stylesheet and only the named scripts of this very host are loaded, and only the
 * named stream is opened.
 */
import { html, type Html } from "../html.ts";
import { pageHeaders } from "../layout.ts";
import { icon, ICONS, type Icon } from "./icons.ts";
import type { Tab } from "./pieces.ts";

export interface NavigationEntry extends Tab {
  readonly icon: Icon;
}

/** In this order. */
export const NAVIGATION_GROUPS = ["Monitor", "Access", "Policy"] as const;
export type NavigationGroupName = (typeof NAVIGATION_GROUPS)[number];

export interface NavigationGroup {
  readonly name: NavigationGroupName;
  readonly entries: readonly NavigationEntry[];
}

export interface ConsoleFrame {
  readonly title: string;
  readonly body: Html;
  readonly navigation: readonly NavigationGroup[];
  /** The administrator, as people know them. */
  readonly person: string;
  /** "viewer and auditor", "viewer of team-a". */
  readonly roles: string;
  /** Result of the form before. */
  readonly told?: string | undefined;
  /** Why the form before was rejected. */
  readonly refused?: string | undefined;
  /** Addresses on this host. */
  readonly style: string;
  readonly scripts: readonly string[];
}

/** A whole document. Send it with `consoleHeaders()`. */
export function consolePage(parts: ConsoleFrame): string {
  const { title, body, navigation, person, roles, told, refused, style, scripts } = parts;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title} · Gateway console</title>
        <link rel="stylesheet" href="${style}" />
        ${scripts.map((src) => html`<script src="${src}" defer></script>`)}
      </head>
      <body>
        <a class="skip" href="#main">Skip to main content</a>
        ${ICONS}
        <div class="app">
          <nav class="side" id="side" popover aria-label="Console">
            <p class="brand">
              ${icon("gate")}<span>Gateway<small>Console</small></span>
            </p>
            ${navigation.map(
              ({ name, entries }) =>
                html`<h2>${name}</h2>
                  <ul>
                    ${entries.map(entry)}
                  </ul>`,
            )}
            <p class="who">${person} · ${roles}<br /><a href="/.gateway/">Your account</a></p>
          </nav>
          <div>
            <header class="menu-bar">
              <button type="button" popovertarget="side" aria-label="Menu">${icon("menu")}</button>
              Console
            </header>
            <main id="main" tabindex="-1">
              <h1>${title}</h1>
              ${told !== undefined && html`<p class="told" role="status">${told}</p>`}
              ${refused !== undefined && html`<p class="refused" role="alert">${refused}</p>`} ${body}
            </main>
            <footer><p id="zone">Times in UTC.</p></footer>
          </div>
        </div>
      </body>
    </html> `.toString();
}

function entry({ href, name, isCurrent, icon: drawing }: NavigationEntry): Html {
  return html`<li><a href="${href}" ${isCurrent && html`aria-current="page"`}>${icon(drawing)}${name}</a></li>`;
}

/**
 * Headers of every page of the console, flat.
 *
 * @param style   whole address
 * @param scripts whole addresses
 * @param stream  whole address of what its scripts may open
 */
export function consoleHeaders(style: string, scripts: readonly string[], stream?: string): string[] {
  const connect = stream === undefined ? "" : ` connect-src ${stream};`;
  const policy =
    `default-src 'none'; style-src ${style}; script-src ${scripts.join(" ")};${connect}` +
    ` form-action 'self'; frame-ancestors 'none'; base-uri 'none'`;
  const headers = pageHeaders();
  headers[headers.indexOf("content-security-policy") + 1] = policy;
  return headers;
}
