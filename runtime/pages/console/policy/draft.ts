/** Drafts: writing one, and what would come of it. */
import { html, type Html } from "../../html.ts";
import { type DifferenceView, differenceBody } from "./difference.ts";
import { actionFields, badge, consoleTime, definitions, emptyState, table } from "../pieces.ts";

export interface DraftFormView {
  readonly action: string;
  readonly csrfToken: string;
  /** Route of the policy; absent: a whole slice. */
  readonly route?: string | undefined;
  /** Who it may be of; of a policy the one whose route it is. */
  readonly owners: readonly string[];
  readonly owner: string;
  readonly text: string;
  readonly maxBytes: number;
}

export function draftFormBody({ action, csrfToken, route, owners, owner, text, maxBytes }: DraftFormView): Html {
  const fields =
    route === undefined
      ? []
      : ([
          ["route", route],
          ["owner", owner],
        ] as const);
  return html`<p>
      Drafts are validated and compared with the active configuration. They expire after 24 hours and never affect
      traffic.
    </p>
    <form class="code card" method="post" action="${action}">
      ${actionFields({ name: "draft", csrfToken, fields: [...fields, ["kind", route === undefined ? "slice" : "policy"]] })}
      ${
        route === undefined &&
        html`<p>
          <label for="draft-owner">Owner of the slice</label>
          <input
            id="draft-owner"
            name="owner"
            value="${owner}"
            maxlength="100"
            list="draft-owners"
            required
            autocomplete="off"
          />
          <datalist id="draft-owners">${owners.map((each) => html`<option value="${each}"></option>`)}</datalist>
        </p>`
      }
      <p>
        <label for="draft-text"
          >${route === undefined ? "Slice, YAML or JSON" : `Policy of ${route}, YAML or JSON`}, at most
          ${Math.floor(maxBytes / 1024)} KiB</label
        >
        <textarea id="draft-text" name="text" rows="18" spellcheck="false" required>${text}</textarea>
      </p>
      <p id="draft-upload" hidden>
        <label for="draft-file">Or a file, which is read into the field above</label>
        <input id="draft-file" type="file" accept=".yaml,.yml,.json" />
      </p>
      <p class="bar"><button class="primary" type="submit">Preview draft</button></p>
    </form>`;
}

export interface DraftView {
  readonly kind: string;
  readonly owner: string;
  readonly route?: string | undefined;
  readonly author: string;
  readonly atMs: number;
  readonly untilMs: number;
  readonly text: string;
  /** Why nothing can be said of it now. */
  readonly failed?: string | undefined;
  readonly isGood?: boolean | undefined;
  readonly problems: readonly { readonly severity: string; readonly place: string; readonly message: string }[];
  /** Where the settings of the problems are documented. */
  readonly documentation?: string | undefined;
  readonly difference?: DifferenceView | undefined;
  readonly tryHref?: string | undefined;
  readonly changeHref: string;
  readonly exports: readonly (readonly [href: string, text: string])[];
  /** Present: it is one's own. */
  readonly remove?: { readonly action: string; readonly csrfToken: string; readonly id: string } | undefined;
}

export function draftBody(view: DraftView): Html {
  const { isGood, failed, problems, documentation, difference, tryHref, changeHref, exports, remove } = view;
  return html`${definitions([
      ["Draft of", view.route === undefined ? `the slice of ${view.owner}` : `the policy of ${view.route}`],
      ["By", html`${view.author}, ${consoleTime(view.atMs)}`],
      ["Expires", consoleTime(view.untilMs)],
      ["Validation", isGood === undefined ? undefined : isGood ? badge("good", "Valid") : badge("bad", "Invalid")],
    ])}
    <p class="bar">
      ${tryHref !== undefined && html`<a class="button primary" href="${tryHref}">Simulate a request</a>`}
      <a class="button" href="${changeHref}">Change it</a>
      ${exports.map(([href, text]) => html`<a class="button" href="${href}">${text}</a>`)}
    </p>
    ${failed !== undefined && html`<p class="failed" role="status">${failed}</p>`}
    ${
      problems.length > 0 &&
      table({
        id: "problems",
        caption: "Validation with the active configuration",
        columns: [
          { name: "Severity", kind: "short" },
          { name: "Location", isHead: true, kind: "short" },
          { name: "Problem", kind: "wide" },
        ],
        rows: problems.map(({ severity, place, message }) => [
          badge(severity === "error" ? "bad" : "warn", severity),
          place === "" ? "whole draft" : html`<code>${place}</code>`,
          message,
        ]),
        empty: emptyState("No problem", ""),
      })
    }
    ${documentation !== undefined && html`<p>${documentation}</p>`} ${difference && differenceBody(difference)}
    <details>
      <summary>The draft's text</summary>
      <pre>${view.text}</pre>
    </details>
    ${
      remove &&
      html`<form method="post" action="${remove.action}">
        ${actionFields({ name: "remove-draft", csrfToken: remove.csrfToken, fields: [["id", remove.id]] })}
        <p><button type="submit">Delete draft</button></p>
      </form>`
    }`;
}

export interface DraftListView {
  readonly rows: readonly {
    readonly href: string;
    readonly title: string;
    readonly atMs: number;
    readonly untilMs: number;
  }[];
}

export function draftListBody({ rows }: DraftListView): Html {
  return table({
    id: "drafts",
    caption: "Your drafts, newest first. Others who can view the owner see one by its URL",
    columns: [
      { name: "Draft", isHead: true },
      { name: "Made", kind: "short" },
      { name: "Expires", kind: "short" },
    ],
    rows: rows.map(({ href, title, atMs, untilMs }) => [
      html`<a href="${href}">${title}</a>`,
      consoleTime(atMs),
      consoleTime(untilMs),
    ]),
    empty: emptyState("No drafts", "Edit the policy of a route or paste a slice to create one."),
  });
}
