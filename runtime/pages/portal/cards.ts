/** The portal's cards of MCP servers and web applications, and set-up instructions for clients. */
import type { ClientRecipe } from "../client-recipe.ts";
import { drawnIcon, type Icon } from "../icons.ts";
import { html, type Html } from "../html.ts";
import { tile } from "../monogram.ts";

export interface CardParts {
  readonly name: string;
  /** Path of the icon; undefined: none. */
  readonly icon: string | undefined;
  /** Links of the owner: documentation, contact. */
  readonly links: readonly CardLink[];
  readonly description: string;
  readonly kind: "server" | "app";
  /** URL for clients, or for the browser. */
  readonly url: string;
  /** unavailable: the route has no healthy upstream. */
  readonly state: "ready" | "connected" | "disconnected" | "unavailable";
  /** Number of tools that the user can call; undefined: unknown. */
  readonly tools: number | undefined;
  /** URL where the user connects an account. */
  readonly connectUrl: string | undefined;
  /** URL that opens the set-up instructions. */
  readonly setupHref: string;
  readonly disconnect: { readonly action: string; readonly route: string; readonly csrfToken: string } | undefined;
}

export interface CardLink {
  readonly text: string;
  /** https or mailto. */
  readonly href: string;
}

export interface CardsView {
  readonly cards: readonly CardParts[];
  readonly search: string;
  /** All, MCP servers, web applications. */
  readonly tabs: readonly {
    readonly href: string;
    readonly name: string;
    readonly count: number;
    readonly isCurrent: boolean;
  }[];
  /** Not all results are shown. */
  readonly isCut: boolean;
  readonly setup: SetupParts | undefined;
}

export interface SetupParts {
  readonly name: string;
  readonly icon: string | undefined;
  readonly url: string;
  readonly recipes: readonly ClientRecipe[];
  /** Known tools that the user can call. */
  readonly tools: readonly string[];
  readonly areAllTools: boolean;
  readonly closeHref: string;
}

export function cardsSection({ cards, search, tabs, isCut, setup }: CardsView): Html {
  return html`<section class="wide" aria-labelledby="apps">
      <div class="head">
        <h2 id="apps">Servers and apps</h2>
        <nav class="seg" aria-label="Type">
          ${tabs.map(
            ({ href, name, count, isCurrent }) =>
              html`<a href="${href}" ${isCurrent && html`aria-current="true"`}>${name} ${count}</a>`,
          )}
        </nav>
      </div>
      ${
        cards.length === 0
          ? html`<p class="card in dim">
              ${search === "" ? "Nothing is set up for you yet. Ask your administrator for access." : html`Nothing matches &#8220;<bdi>${search}</bdi>&#8221;. <a href="/.gateway/">Show all</a>`}
            </p>`
          : html`<ul class="apps">
              ${cards.map(cardItem)}
            </ul>`
      }
      ${isCut && html`<p class="dim">Showing the first ${cards.length}. Search to find others.</p>`}
    </section>
    ${setup && setupSection(setup)}`;
}

const STATES: Readonly<Record<CardParts["state"], readonly [tone: string, icon: Icon, text: string]>> = {
  ready: ["good", "allowed", "Ready"],
  connected: ["good", "allowed", "Ready"],
  disconnected: ["warn", "clients", "Not connected"],
  unavailable: ["bad", "warning", "Not available"],
};

const NOTES: Readonly<Partial<Record<CardParts["state"], string>>> = {
  connected: "your account is connected",
  disconnected: "sign in to the service once",
};

function cardItem(card: CardParts): Html {
  const { name, icon: picture, links, description, kind, url, state, tools, connectUrl, setupHref, disconnect } = card;
  const [tone, icon, text] = STATES[state];
  const notes = [
    kind === "server" ? "MCP server" : "Web app",
    ...(tools === undefined ? [] : [`${tools} tool${tools === 1 ? "" : "s"}`]),
    ...(NOTES[state] === undefined ? [] : [NOTES[state]]),
  ];
  return html`<li class="card app">
    <div class="named">
      ${tile(name, picture, "l")}
      <div>
        <h3>${name}</h3>
        <p class="dim">${description === "" ? html`<span class="address">${url}</span>` : description}</p>
      </div>
    </div>
    <p class="dim quiet">
      ${notes.join(" · ")}
      ${links.map(({ text: label, href }) => html` · <a href="${href}" rel="noreferrer noopener">${label}<span class="hidden">: ${name}</span></a>`)}
    </p>
    <div class="state">
      <span class="out"><span class="${tone}">${drawnIcon(icon)}</span>${text}</span>
      ${
        disconnect &&
        html`<form method="post" action="${disconnect.action}">
          <input type="hidden" name="csrf" value="${disconnect.csrfToken}" />
          <input type="hidden" name="route" value="${disconnect.route}" />
          <button class="quiet" type="submit">Disconnect<span class="hidden"> ${name}</span></button>
        </form>`
      }
      ${
        state === "disconnected" &&
        html`<a class="button primary" href="${connectUrl}">Connect<span class="hidden"> ${name}</span></a>`
      }
      ${
        kind === "app"
          ? html`<a class="button" href="${url}">Open<span class="hidden"> ${name}</span>${drawnIcon("open")}</a>`
          : html`<a class="button" href="${setupHref}">Add to my client<span class="hidden">: ${name}</span></a>`
      }
    </div>
  </li>`;
}

function setupSection({ name, icon, url, recipes, tools, areAllTools, closeHref }: SetupParts): Html {
  const links = recipes.filter(({ link }) => link !== undefined);
  return html`<section class="card wide" id="setup" aria-labelledby="setup-name">
    <header>
      ${tile(name, icon, "s")}
      <h2 id="setup-name">Add ${name} to your client</h2>
      <a class="end" href="${closeHref}">Close</a>
    </header>
    <div class="in">
      ${
        links.length > 0 &&
        html`<p class="actions few">
          ${links.map(({ client, link }) => html`<a class="button" href="${link}">${drawnIcon("plus")}Add to ${client}</a>`)}
        </p>`
      }
      ${recipes.map(
        ({ client, where, text }, index) =>
          html`<details ${index === 0 && html`open`}>
            <summary>${client}</summary>
            <p class="dim">${where}:</p>
            <pre tabindex="0">${text}</pre>
          </details>`,
      )}
      <p class="dim">Address of the server: <code>${url}</code></p>
      ${
        tools.length > 0 &&
        html`<details>
          <summary>
            ${areAllTools ? `${tools.length} tool${tools.length === 1 ? "" : "s"} that you can call` : "Some of the tools that you can call"}
          </summary>
          <p class="dim">${tools.map((tool, index) => html`${index > 0 && ", "}<code>${tool}</code>`)}</p>
        </details>`
      }
    </div>
  </section>`;
}
