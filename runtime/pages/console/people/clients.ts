/** The console's lists of what acts by itself or for people: OAuth clients, service accounts, publish tokens, devices. */
import { fullTable } from "../columns.ts";
import { html, type Html, type HtmlValue } from "../../html.ts";
import {
  clientName,
  deviceCells,
  DEVICE_COLUMNS,
  actionLink,
  type DeviceRow,
  type EndLink,
  type Listed,
} from "./person.ts";
import {
  badge,
  card,
  consoleTime,
  definitions,
  emptyState,
  filterForm,
  pager,
  type Column,
  type PagerParts,
  type Tab,
  tabs,
} from "../pieces.ts";

export interface ClientRow {
  readonly href: string;
  readonly id: string;
  readonly name: string;
  readonly vouchedBy: string | undefined;
  readonly isBlocked: boolean;
  readonly issuer: string;
  readonly grantTypes: string;
  /** Hosts, or schemes, that answers go to: never links. */
  readonly redirects: string;
  readonly madeMs: number;
  readonly usedMs: number | undefined;
  /** "3", "20 or more". */
  readonly grants: string;
}

export interface ClientsView {
  readonly tabs: readonly Tab[];
  readonly path: string;
  readonly search: string;
  readonly rows: readonly ClientRow[];
  readonly pages: PagerParts;
}

export function clientsBody(view: ClientsView): Html {
  const { path, search, rows, pages } = view;
  return html`${tabs("Clients and machines", view.tabs)}
  ${filterForm(path, [{ name: "q", label: "Id or name", value: search, type: "search" }])}
  ${fullTable({
    id: "clients",
    caption: "Registered OAuth clients, by their ids. Names that nobody vouches for are the clients' own words",
    columns: [
      { name: "Client", isHead: true },
      { name: "Of", kind: "wide" },
      { name: "Answers go to" },
      { name: "How it gets tokens" },
      { name: "Grants", kind: "number" },
      { name: "Registered", kind: "short" },
      { name: "Last used", kind: "short" },
    ],
    rows: rows.map((row) => [
      html`${clientName(row.name, row.href, row.vouchedBy)}${row.isBlocked && html` ${badge("bad", "blocked")}`}<br /><code
          >${row.id}</code
        >`,
      html`<span class="address">${row.issuer}</span>`,
      html`<span class="address">${row.redirects}</span>`,
      row.grantTypes,
      row.grants,
      consoleTime(row.madeMs, "minute"),
      row.usedMs === undefined ? "" : consoleTime(row.usedMs, "minute"),
    ]),
    empty:
      search === ""
        ? emptyState(
            "No client is registered",
            "Clients appear here once they have registered themselves, or an administrator has made them. Those that are identified by an address of their own are found by that.",
          )
        : emptyState("No client was found", "A client that is identified by an address is found by the whole of it."),
  })}
  ${pager(pages)}`;
}

export interface ClientGrantRow {
  readonly id: string;
  readonly who: string;
  readonly href: string;
  readonly server: string;
  readonly scope: string;
  readonly beganMs: number;
  readonly endsMs: number;
}

export interface ClientView {
  readonly facts: readonly (readonly [label: string, value: HtmlValue])[];
  readonly end: EndLink | undefined;
  readonly grants: Listed<ClientGrantRow>;
  readonly pages: PagerParts;
}

export function clientBody({ facts, end, grants, pages }: ClientView): Html {
  return html`${card("What it says of itself", html`${definitions(facts)}${end && html`<p class="bar">${actionLink(end, true)}</p>`}`)}
    <h2>People who let it act</h2>
    ${fullTable({
      id: "client-grants",
      caption: "Grants",
      columns: [
        { name: "Person", isHead: true },
        { name: "Server", kind: "wide" },
        { name: "Scopes" },
        { name: "Began", kind: "short" },
        { name: "Ends unless used", kind: "short" },
      ],
      rows: grants.rows.map(({ who, href, server, scope, beganMs, endsMs }) => [
        html`<a href="${href}">${who}</a>`,
        html`<span class="address">${server}</span>`,
        scope,
        consoleTime(beganMs, "minute"),
        consoleTime(endsMs, "minute"),
      ]),
      empty: emptyState("Nobody lets it act", "A grant appears here once a person has allowed this client to act."),
    })}
    ${pager(pages)}`;
}

export interface AccountRow {
  readonly id: string;
  readonly name: string;
  readonly href: string;
  readonly email: string;
  readonly groups: string;
  readonly goodFor: string;
  readonly madeMs: number;
  readonly endsMs: number | undefined;
  readonly end: EndLink | undefined;
}

export interface TokenRow {
  readonly id: string;
  readonly owner: string;
  readonly endsMs: number;
  readonly end: EndLink | undefined;
}

export interface OwnedDeviceRow extends DeviceRow {
  readonly who: string;
  readonly href: string;
}

export interface PagedView<T> {
  readonly tabs: readonly Tab[];
  readonly rows: readonly T[];
  readonly pages: PagerParts;
}

const LAST: Column = { name: "What can be done", kind: "short", isQuiet: true };

export function accountsBody({ tabs: all, rows, pages }: PagedView<AccountRow>): Html {
  return html`${tabs("Clients and machines", all)}
  ${fullTable({
    id: "accounts",
    caption: "Service accounts, each a machine that an administrator made",
    columns: [
      { name: "Name", isHead: true },
      { name: "E-mail address" },
      { name: "Groups" },
      { name: "Its token is good for", kind: "wide" },
      { name: "Made", kind: "short" },
      { name: "Ends", kind: "short" },
      LAST,
    ],
    rows: rows.map(({ name, href, email, groups, goodFor, madeMs, endsMs, end }) => [
      html`<a href="${href}">${name}</a>`,
      email,
      groups,
      html`<span class="address">${goodFor}</span>`,
      consoleTime(madeMs, "minute"),
      endsMs === undefined ? "with its client" : consoleTime(endsMs, "minute"),
      end && actionLink(end),
    ]),
    empty: emptyState("There is no service account", "`gateway service-account create` makes one."),
  })}
  ${pager(pages)}`;
}

export function tokensBody({ tabs: all, rows, pages }: PagedView<TokenRow>): Html {
  return html`${tabs("Clients and machines", all)}
  ${fullTable({
    id: "tokens",
    caption: "Publish tokens for minutes, each minted for a run that publishes",
    columns: [
      { name: "Id", isHead: true },
      { name: "Good for owner" },
      { name: "Ends unless renewed", kind: "short" },
      LAST,
    ],
    rows: rows.map(({ id, owner, endsMs, end }) => [
      html`<code>${id}</code>`,
      owner,
      consoleTime(endsMs),
      end && actionLink(end),
    ]),
    empty: emptyState("No run has a token", "A token appears here while the run that it was minted for goes on."),
  })}
  ${pager(pages)}`;
}

export function devicesBody({ tabs: all, rows, pages }: PagedView<OwnedDeviceRow>): Html {
  return html`${tabs("Clients and machines", all)}
  ${fullTable({
    id: "devices",
    caption: "Registered devices of all people",
    columns: [{ name: "Person", isHead: true }, ...DEVICE_COLUMNS.map((each) => ({ ...each, isHead: false }))],
    rows: rows.map((row) => [html`<a href="${row.href}">${row.who}</a>`, ...deviceCells(row)]),
    empty: emptyState("No device is registered", "Devices appear here once people have registered them."),
  })}
  ${pager(pages)}`;
}
