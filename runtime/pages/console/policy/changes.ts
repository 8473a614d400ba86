/** Publications, administrative actions, and rollback. */
import { html, type Html } from "../../html.ts";
import { type DifferenceView, differenceBody } from "./difference.ts";
import {
  badge,
  card,
  consoleTime,
  definitions,
  emptyState,
  filterForm,
  pager,
  sourceFailed,
  table,
} from "../pieces.ts";

export interface ChangeRow {
  readonly generation: number;
  readonly href: string;
  readonly atMs: number;
  readonly owner: string;
  /** "published", "removed", "went back" */
  readonly what: string;
  readonly by: string;
  readonly program: string;
  /** Shortened; "" of a removal. */
  readonly digest: string;
  readonly isInForce: boolean;
}

export interface ActionRow {
  readonly timeMs: number;
  readonly by: string;
  readonly action: string;
  readonly target: string;
  readonly change: string;
  readonly reason: string;
}

export interface ChangesView {
  readonly path: string;
  readonly owner: string;
  /** What this process runs. */
  readonly active?: { readonly digest: string; readonly sinceMs: number } | undefined;
  readonly rows: readonly ChangeRow[];
  readonly first?: string | undefined;
  readonly next?: string | undefined;
  readonly publicationFailed: boolean;
  /** Undefined: records are not kept. */
  readonly actions: readonly ActionRow[] | undefined;
  readonly actionsFailed: boolean;
  readonly moreActions?: string | undefined;
}

export function changesBody(view: ChangesView): Html {
  const { path, owner, active, rows, first, next, actions } = view;
  return html`${
      active &&
      html`<p class="dim">
        Configuration <code>${active.digest}</code> is active in this process since ${consoleTime(active.sinceMs)}.
      </p>`
    }
    ${filterForm(path, [{ name: "owner", label: "Owner", value: owner, type: "search" }])}
    ${view.publicationFailed && sourceFailed("The store, which has what was published,")}
    ${
      !view.publicationFailed &&
      table({
        id: "generations",
        caption: "Publications, newest first; last 10 per owner",
        columns: [
          { name: "Generation", kind: "short" },
          { name: "Time", kind: "short" },
          { name: "Owner", isHead: true, kind: "short" },
          { name: "Change" },
          { name: "By", kind: "short" },
          { name: "Tool", kind: "short" },
          { name: "Slice", kind: "short" },
        ],
        rows: rows.map((row) => [
          html`<a href="${row.href}">${row.generation}<span class="hidden"> of ${row.owner}</span></a>`,
          consoleTime(row.atMs),
          row.owner,
          html`${row.what}${row.isInForce && html` ${badge("good", "active")}`}`,
          row.by,
          row.program,
          row.digest === "" ? "" : html`<code>${row.digest}</code>`,
        ]),
        empty: emptyState(
          "No publications",
          "Slices published over the admin address appear here. Files have their own history.",
        ),
      })
    }
    ${pager({ first, next })}
    <h2>Administrative actions</h2>
    ${view.actionsFailed && sourceFailed("The record store, which has what administrators did,")}
    ${!view.actionsFailed && actionsTable(actions)} ${pager({ next: view.moreActions, nextText: "Older actions" })}`;
}

function actionsTable(actions: readonly ActionRow[] | undefined): Html {
  if (actions === undefined) return emptyState("No record store configured", "Set record_store to keep actions here.");
  return table({
    id: "actions",
    caption: "Administrative actions, newest first",
    columns: [
      { name: "Time", kind: "short" },
      { name: "By", kind: "wide" },
      { name: "Action", isHead: true, kind: "short" },
      { name: "Object", kind: "wide" },
      { name: "Change" },
      { name: "Reason", kind: "wide" },
    ],
    rows: actions.map(({ timeMs, by, action, target, change, reason }) => [
      consoleTime(timeMs),
      by,
      action,
      target,
      change,
      reason,
    ]),
    empty: emptyState("No actions recorded", "Publishing, revoking, blocking, approving and the like appear here."),
  });
}

export interface ChangeView {
  readonly generation: number;
  readonly owners: readonly { readonly row: ChangeRow; readonly goBack?: GoBackView | undefined }[];
  readonly difference?: DifferenceView | undefined;
  /** Why there is no difference. */
  readonly failed?: string | undefined;
  readonly back: string;
}

/** Rollback of this owner's slice. */
export type GoBackView =
  | { readonly kind: "button"; readonly href: string; readonly to: number }
  /** Its program would publish its own again, or find a drift. */
  | { readonly kind: "command"; readonly command: string; readonly why: string };

export function changeBody({ owners, difference, failed, back }: ChangeView): Html {
  return html`<p><a href="${back}">All changes</a></p>
    ${owners.map(({ row, goBack }) =>
      card(
        row.owner,
        html`${definitions([
          ["Change", html`${row.what}${row.isInForce && html` ${badge("good", "active")}`}`],
          ["Time", consoleTime(row.atMs)],
          ["By", row.by],
          ["Tool", row.program],
          ["Slice", row.digest === "" ? undefined : html`<code>${row.digest}</code>`],
        ])}
        ${goBack && goBackBody(goBack)}`,
      ),
    )}
    ${failed !== undefined && html`<p class="failed" role="status">${failed}</p>`}
    ${difference && differenceBody(difference)}`;
}

function goBackBody(view: GoBackView): Html {
  if (view.kind === "button")
    return html`<p><a class="button" href="${view.href}">Roll back to generation ${view.to}</a></p>`;
  return html`<p>${view.why} To go back all the same:</p>
    <pre><code>${view.command}</code></pre>`;
}
