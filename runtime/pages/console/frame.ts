/**
 * The document around every screen of the console: navigation on the left, on narrow windows behind a button.
 *
 * Promise: as `layout.ts` has it; the one stylesheet, the logo and only the named scripts of this very host are loaded, and
 * only the named stream is opened.
 */
import { brandMark, OWN_BRANDING } from "../branding.ts";
import { html, type Html } from "../html.ts";
import { htmlDocument, type Page, type PagePlace, pageHeaders } from "../layout.ts";
import { icon, ICONS, type Icon } from "./icons.ts";
import type { Tab } from "./pieces.ts";

/** Number of items that wait there, read aloud as "3 pending". */
export interface NavigationCount {
  readonly count: number;
  readonly of: string;
  readonly tone: "attn" | "alarm";
}

export interface NavigationEntry extends Tab {
  readonly icon: Icon;
  readonly count?: NavigationCount | undefined;
}

export interface FrameStatus {
  /** By the path of the screen. */
  readonly counts: ReadonlyMap<string, NavigationCount>;
  /** The configuration of this process, and how many of all processes have it active. */
  readonly active?: { readonly name: string; readonly same: number; readonly all: number } | undefined;
}

/** In this order; the first one has no heading. */
export const NAVIGATION_GROUPS = ["", "Monitor", "Access", "Policy"] as const;
export type NavigationGroupName = (typeof NAVIGATION_GROUPS)[number];

export interface NavigationGroup {
  readonly name: NavigationGroupName;
  readonly entries: readonly NavigationEntry[];
}

export interface ConsoleFrame {
  readonly title: string;
  /** A sentence below the title. */
  readonly lead?: string | undefined;
  /** Controls next to the title. */
  readonly aside?: Html | undefined;
  readonly body: Html;
  readonly navigation: readonly NavigationGroup[];
  readonly active?: FrameStatus["active"];
  /** Content of the search box. */
  readonly search?: string | undefined;
  /** The administrator, as users know them. */
  readonly person: string;
  /** "viewer and auditor", "viewer of team-a". */
  readonly roles: string;
  /** Result of the form before. */
  readonly told?: string | undefined;
  /** Why the form before was rejected. */
  readonly refused?: string | undefined;
  /** Name of the environment; undefined: it has none. */
  readonly environment?: string | undefined;
  /** Addresses on this host. */
  readonly style: string;
  readonly scripts: readonly string[];
}

/** A whole document. Send it with `consoleHeaders()`. */
export function consolePage(parts: ConsoleFrame): Page {
  const { title, lead, aside, body, navigation, person, roles, told, refused, environment, style, scripts } = parts;
  return (branding = OWN_BRANDING) =>
    htmlDocument(
      html`${title}${environment !== undefined && ` · ${environment}`} · ${branding.name} console`,
      html`<link rel="stylesheet" href="${style}" />
        ${scripts.map((src) => html`<script src="${src}" defer blocking="render"></script>`)}`,
      html`<a class="skip" href="#main">Skip to main content</a>
        ${ICONS}
        <div class="app">
          <nav class="side" id="side" popover aria-label="Console">
            <p class="brand">
              ${brandMark(branding, icon("gate"))}<span
                >${branding.name}<small>${environment ?? "Console"}</small></span
              >
            </p>
            ${navigation.map(
              ({ name, entries }) =>
                html`${name !== "" && html`<h2>${name}</h2>`}
                  <ul>
                    ${entries.map(entry)}
                  </ul>`,
            )}
            <p class="who">
              <strong>${person}</strong><span class="roles">${roles}</span> <a href="/.gateway/">Your account</a> ·
              <a href="/.gateway/sign_out">Sign out</a>
            </p>
          </nav>
          <div>
            <header class="menu-bar">
              <button type="button" popovertarget="side" aria-label="Menu">${icon("menu")}</button>
              ${environment !== undefined && html`<strong class="environment">${environment}</strong>`}
              ${searchBox(parts.search ?? "")} ${parts.active && activeLine(parts.active)}
            </header>
            <main id="main" tabindex="-1">
              ${
                lead === undefined && aside === undefined
                  ? html`<h1>${title}</h1>`
                  : html`<div class="title-bar">
                      <div>
                        <h1>${title}</h1>
                        ${lead !== undefined && html`<p>${lead}</p>`}
                      </div>
                      ${aside}
                    </div>`
              }
              ${told !== undefined && html`<p class="told" role="status">${told}</p>`}
              ${refused !== undefined && html`<p class="refused" role="alert">${refused}</p>`} ${body}
            </main>
            <footer><p id="zone">Times in UTC.</p></footer>
          </div>
        </div>`,
    );
}

function entry({ href, name, isCurrent, icon: drawing, count }: NavigationEntry): Html {
  return html`<li>
    <a href="${href}" ${isCurrent && html`aria-current="page"`}
      >${icon(drawing)}${name}${
        count && html` <span class="count ${count.tone}">${count.count}<span class="hidden"> ${count.of}</span></span>`
      }</a
    >
  </li>`;
}

function searchBox(search: string): Html {
  return html`<form class="find" role="search" aria-label="Console" action="/.gateway/console/search">
    <label class="hidden" for="search">Search users, servers, tools and request IDs</label>
    ${icon("search")}<input
      id="search"
      name="q"
      type="search"
      value="${search}"
      maxlength="256"
      placeholder="Search users, servers, tools, request IDs"
      autocomplete="off"
      spellcheck="false"
    /><kbd aria-hidden="true" hidden>/</kbd>
  </form>`;
}

function activeLine({ name, same, all }: NonNullable<FrameStatus["active"]>): Html {
  return html`<a class="active ${same === all ? "" : "differs"}" href="/.gateway/console/health">
    ${icon(same === all ? "allowed" : "warning")}<span
      >${name} active on <b>${same} of ${all}</b> ${all === 1 ? "process" : "processes"}</span
    >
  </a>`;
}

/**
 * Headers of every page of the console, flat.
 *
 * @param origin  of this host
 * @param loaded  paths of the stylesheet, of the scripts, and of the stream that they may open
 */
export function consoleHeaders(
  place: PagePlace,
  origin: string,
  loaded: { readonly style: string; readonly scripts: readonly string[]; readonly stream?: string | undefined },
): string[] {
  const { style, stream } = loaded;
  const logo = place.branding?.logo;
  const connect = stream === undefined ? "" : ` connect-src ${origin}${stream};`;
  const images = logo ? ` img-src ${origin}${logo.path};` : "";
  const scripts = loaded.scripts.map((path) => origin + path).join(" ");
  const policy =
    `default-src 'none'; style-src ${origin}${style};${images} script-src ${scripts};${connect}` +
    ` form-action 'self'; frame-ancestors 'none'; base-uri 'none'`;
  const headers = pageHeaders(place);
  headers[headers.indexOf("content-security-policy") + 1] = policy;
  return headers;
}
