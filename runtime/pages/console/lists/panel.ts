/** A list with the details of one entry next to it. On narrow windows the details alone, with a way back to the list. */
import { html, type Html } from "../../html.ts";
import { icon } from "../icons.ts";

export interface PanelParts {
  readonly title: string;
  /** Address of the same list without the panel. Its fragment is the row, so that the focus returns there. */
  readonly closeHref: string;
  /** Address of a page with nothing but this entry. */
  readonly pageHref?: string;
  readonly body: Html;
}

/**
 * @param panel undefined: the list has all of the width
 * @param look  "inbox": a narrow list; "auto": narrow windows show the list, and the panel does not take the focus
 */
export function split(list: Html, panel: PanelParts | undefined, look = ""): Html {
  return html`<div class="split ${panel && "open"} ${look}">
    <div class="list">${list}</div>
    ${panel && panelOf(panel)}
  </div>`;
}

function panelOf({ title, closeHref, pageHref, body }: PanelParts): Html {
  return html`<section class="card panel" aria-labelledby="panel-title">
    <header>
      <h2 id="panel-title" tabindex="-1">${title}</h2>
      <span class="push"
        >${
          pageHref !== undefined &&
          html`<a class="button quiet" href="${pageHref}" aria-label="Open on its own page">${icon("open")}</a>`
        }<a class="button quiet" id="panel-close" href="${closeHref}" aria-label="Close">${icon("close")}</a></span
      >
    </header>
    <div>${body}</div>
  </section>`;
}

/**
 * Keys of a list with a panel. Letters work only while the focus is within the list or the panel (WCAG 2.1.4): J and K move between
 * rows, Enter opens one because rows are links, Esc closes the panel.
 */
export const PANEL_SCRIPT = `"use strict";
const area = document.querySelector(".split");
const links = () => [...area.querySelectorAll(".list .row-link")];
const isTyping = ({ target }) => target.matches("input, textarea, select") || target.isContentEditable;
const title = document.getElementById("panel-title");

function currentIndex() {
  const row = document.activeElement.closest("tr, li") ?? area.querySelector(".list [aria-current=true]");
  return links().findIndex((link) => row?.contains(link));
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    const pop = document.querySelector("details.pop[open]");
    if (pop) {
      pop.open = false;
      pop.querySelector("summary").focus();
    } else if (!isTyping(event)) document.getElementById("panel-close")?.click();
    return;
  }
  const step = { j: 1, k: -1 }[event.key.toLowerCase()];
  if (!step || !area || isTyping(event) || !area.contains(document.activeElement)) return;
  const all = links();
  const next = all[Math.min(Math.max(currentIndex() + step, 0), all.length - 1)];
  if (!next) return;
  event.preventDefault();
  if (title) next.click();
  else next.focus();
});

const copy = document.getElementById("copy-link");
if (copy && navigator.clipboard) {
  copy.hidden = false;
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.origin + copy.dataset.href);
    copy.lastChild.textContent = "Copied";
  });
}

if (title && !area.classList.contains("auto")) title.focus({ preventScroll: matchMedia("(min-width: 72rem)").matches });
// Scrolling to the fragment takes the focus away, until the page is loaded.
else addEventListener("load", () => document.getElementById(location.hash.slice(1))?.querySelector(".row-link")?.focus());
`;
