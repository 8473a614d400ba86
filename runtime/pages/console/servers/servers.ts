/** The console's list of servers and routes. */
import { fullTable } from "../columns.ts";
import { html, type Html } from "../../html.ts";
import { badge, emptyState, filterForm, pager, sourceFailed, type PagerParts } from "../pieces.ts";

export interface ServerRow {
  /** Of its own page. */
  readonly href: string;
  /** "owner/name". */
  readonly key: string;
  readonly name: string;
  readonly owner: string;
  readonly address: string;
  readonly kind: string;
  readonly isBlocked: boolean;
  /** Who may what, in one line. */
  readonly policy: string;
  /** Of a server whose tools were reviewed. */
  readonly tools?: { readonly locked: number; readonly changed: number } | undefined;
  /** For operators. */
  readonly upstreams?: { readonly all: number; readonly unwell: number } | undefined;
  /** Of servers that people connect their accounts to. */
  readonly connections?: { readonly connected: number; readonly ended: number } | undefined;
}

export interface ServersView {
  readonly path: string;
  readonly rows: readonly ServerRow[];
  readonly search: string;
  readonly kind: string;
  readonly kinds: readonly (readonly [value: string, text: string])[];
  readonly pages: PagerParts;
  /** Routes that may be seen at all, and those that were found. */
  readonly count: { readonly all: number; readonly found: number };
  readonly connectionsFailed: boolean;
}

export function serversBody(view: ServersView): Html {
  const { path, rows, search, kind, kinds, pages, count } = view;
  const columns = [
    { name: "Route", isHead: true, kind: "wide" },
    { name: "Kind", kind: "short" },
    { name: "Owner", kind: "short" },
    { name: "Who may", kind: "wide" },
    { name: "Tools", kind: "short" },
    { name: "Upstreams", kind: "short" },
    { name: "Connections", kind: "short" },
  ] as const;
  return html`${filterForm(path, [
    { name: "q", label: "Name, address or owner", value: search, type: "search" },
    { name: "kind", label: "Kind", value: kind, options: [["", "All"], ...kinds] },
  ])}
  ${view.connectionsFailed && sourceFailed("The store, which has what users have connected,")}
  ${fullTable({
    id: "servers",
    caption: captionOf(count),
    columns,
    rows: rows.map((row) => [
      html`<a href="${row.href}">${row.name}</a>${row.isBlocked && html` ${badge("bad", "blocked")}`}<br /><span
          class="dim address"
          >${row.address}</span
        >`,
      row.kind,
      row.owner,
      row.policy,
      toolsCell(row.tools),
      upstreamsCell(row.upstreams),
      connectionsCell(row.connections),
    ]),
    empty:
      count.all === 0
        ? emptyState("No routes", "Routes appear here once configured.")
        : emptyState("No matching routes", "Change the search."),
  })}
  ${pager(pages)}`;
}

function captionOf({ all, found }: ServersView["count"]): string {
  return found === all
    ? `${all} route${all === 1 ? "" : "s"}, by their names`
    : `${found} of ${all} routes, by their names`;
}

function toolsCell(tools: ServerRow["tools"]): Html | string {
  if (!tools) return "";
  if (tools.changed === 0) return `${tools.locked} reviewed`;
  return html`${tools.locked} reviewed ${badge("bad", `${tools.changed} changed`)}`;
}

function upstreamsCell(upstreams: ServerRow["upstreams"]): Html | string {
  if (!upstreams) return "";
  if (upstreams.unwell === 0) return String(upstreams.all);
  return badge("bad", `${upstreams.unwell} of ${upstreams.all} not well`);
}

function connectionsCell(connections: ServerRow["connections"]): Html | string {
  if (!connections) return "";
  const { connected, ended } = connections;
  return ended === 0 ? String(connected) : html`${connected} ${badge("warn", `${ended} ended`)}`;
}
