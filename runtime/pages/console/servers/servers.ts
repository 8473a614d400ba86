/** The console's list of servers and applications. */
import { fullTable } from "../columns.ts";
import { html, type Html, type HtmlValue } from "../../html.ts";
import {
  badge,
  consoleTime,
  emptyState,
  filterForm,
  pager,
  sourceFailed,
  tabs,
  type PagerParts,
  type Tab,
  type Tone,
} from "../pieces.ts";
import { monogram } from "../../monogram.ts";

export interface ServerRow {
  /** Address of its page. */
  readonly href: string;
  /** "owner/name". */
  readonly key: string;
  readonly name: string;
  readonly owner: string;
  readonly address: string;
  readonly kind: string;
  readonly state: { readonly tone: Tone; readonly text: string };
  /** Known for the busiest routes only. */
  readonly traffic: RouteTraffic | undefined;
  /** Who may what, in one line. */
  readonly policy: string;
  /** Absent without a tool lock. */
  readonly tools?: { readonly locked: number; readonly changed: number } | undefined;
  /** For operators. */
  readonly upstreams?: { readonly all: number; readonly unwell: number } | undefined;
  /** Absent for servers without connected accounts. */
  readonly connections?: { readonly connected: number; readonly ended: number } | undefined;
}

/** Requests of the last 6 hours. */
export interface RouteTraffic {
  readonly requests: number;
  readonly denied: number;
  readonly failed: number;
  /** Time of the last request, within 5 minutes; 0: none. */
  readonly lastMs: number;
}

export interface ServersView {
  readonly path: string;
  readonly rows: readonly ServerRow[];
  readonly search: string;
  readonly kind: string;
  readonly kinds: readonly (readonly [value: string, text: string])[];
  readonly needsAttention: boolean;
  readonly views: readonly (Tab & { readonly count: number })[];
  readonly pages: PagerParts;
  /** Routes that may be seen at all, and those that were found. */
  readonly count: { readonly all: number; readonly found: number };
  readonly connectionsFailed: boolean;
}

export function serversBody(view: ServersView): Html {
  const { path, rows, search, kind, kinds, pages, count } = view;
  const columns = [
    { name: "Name", isHead: true, kind: "wide" },
    { name: "Type", kind: "short", isExtra: true },
    { name: "Owner", kind: "short" },
    { name: "State", kind: "short" },
    { name: "Who can use it", kind: "wide" },
    { name: "Requests, 6 h", kind: "number" },
    { name: "Denied", kind: "number" },
    { name: "Failed", kind: "number" },
    { name: "Last used", kind: "short" },
    { name: "Tools", kind: "short", isExtra: true },
    { name: "Upstreams", kind: "short", isExtra: true },
    { name: "Connections", kind: "short", isExtra: true },
  ] as const;
  return html`${tabs(
    "Views",
    view.views.map(({ name, count: number, ...each }) => ({ ...each, name: `${name} (${number})` })),
  )}
  ${filterForm(
    path,
    [
      { name: "q", label: "Name, address or owner", value: search, type: "search" },
      { name: "kind", label: "Type", value: kind, options: [["", "All"], ...kinds] },
    ],
    view.needsAttention ? [["attention", "yes"]] : [],
  )}
  ${view.connectionsFailed && sourceFailed("The store with connected accounts")}
  ${fullTable({
    id: "servers",
    caption: captionOf(count),
    columns,
    rows: rows.map((row) => [
      html`<span class="named"
        >${monogram(row.name)}<span
          ><a href="${row.href}">${row.name}</a><small class="dim address">${breakable(row.address)}</small></span
        ></span
      >`,
      row.kind,
      row.owner,
      badge(row.state.tone, row.state.text),
      row.policy,
      row.traffic && row.traffic.requests.toLocaleString("en-US"),
      row.traffic && share(row.traffic.denied, row.traffic.requests),
      row.traffic && share(row.traffic.failed, row.traffic.requests),
      row.traffic && row.traffic.lastMs > 0 && consoleTime(row.traffic.lastMs, "minute"),
      toolsCell(row.tools),
      upstreamsCell(row.upstreams),
      connectionsCell(row.connections),
    ]),
    empty:
      count.all === 0
        ? emptyState("No servers or apps", "Routes appear here once configured.")
        : emptyState("No matching servers or apps", "Change the search."),
  })}
  ${pager(pages)}`;
}

/** Narrow columns break a URL before its path. */
function breakable(address: string): HtmlValue {
  return address.split(/(?<!\/)(?=\/[^/])/).map((part, index) => html`${index > 0 && html`<wbr />`}${part}`);
}

function share(some: number, all: number): string {
  return all === 0 ? "" : `${((100 * some) / all).toFixed(some > 0 ? 1 : 0)} %`;
}

function captionOf({ all, found }: ServersView["count"]): string {
  const noun = all === 1 ? "server or app" : "servers and apps";
  return `${found === all ? all : `${found} of ${all}`} ${noun}, sorted by name`;
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
