/** The console's page of one person: what acts in their name, and how each of it is ended. */
import { fullTable } from "../columns.ts";
import { html, type Html, type HtmlValue } from "../../html.ts";
import { badge, card, consoleTime, definitions, emptyState, sourceFailed, type Column, type Tone } from "../pieces.ts";

/** A link to the page that asks once more; undefined: this person may not. */
export interface EndLink {
  readonly href: string;
  /** Where a browser comes back to. */
  readonly anchor: string;
  /** "End" */
  readonly text: string;
  /** What it is about, for those who hear it. */
  readonly of: string;
}

export interface Listed<T> {
  readonly rows: readonly T[];
  /** There are more than are shown. */
  readonly isCut: boolean;
}

export interface SessionRow {
  readonly id: string;
  readonly beganMs: number;
  readonly endsMs: number;
  readonly isYours: boolean;
  /** As people call their devices. */
  readonly devices: readonly string[];
  /** Of its last request that is recorded. */
  readonly lastFrom: string | undefined;
  readonly end: EndLink | undefined;
}

export interface GrantRow {
  readonly id: string;
  readonly client: string;
  readonly clientHref: string;
  /** Who vouches for the client's name: a host, an administrator; undefined: nobody. */
  readonly vouchedBy: string | undefined;
  readonly server: string;
  readonly scope: string;
  readonly beganMs: number;
  readonly endsMs: number;
  readonly end: EndLink | undefined;
}

export interface ConnectionRow {
  readonly route: string;
  readonly routeHref: string;
  readonly server: string;
  readonly state: "connected" | "expired" | "ended" | "stale";
  readonly scopes: string;
  readonly since: number;
  readonly end: EndLink | undefined;
}

export interface DeviceRow {
  readonly id: string;
  readonly name: string;
  readonly type: string;
  readonly isApproved: boolean;
  readonly usedMs: number;
  readonly links: readonly EndLink[];
}

export interface ApprovalRow {
  readonly client: string;
  readonly server: string;
  readonly givenMs: number;
  readonly endsMs: number;
  readonly end: EndLink | undefined;
}

export interface DecisionRow {
  readonly href: string;
  readonly timeMs: number;
  readonly outcome: "allowed" | "denied" | "limited" | "waiting" | "error";
  readonly route: string;
  readonly what: string;
  readonly from: string;
}

export interface PersonView {
  readonly facts: readonly (readonly [label: string, value: HtmlValue])[];
  readonly block: string | undefined;
  /** "End everything", "Block", "Lift the block". */
  readonly actions: readonly EndLink[];
  readonly sessions: Listed<SessionRow>;
  readonly grants: Listed<GrantRow>;
  readonly connections: Listed<ConnectionRow>;
  readonly devices: Listed<DeviceRow>;
  readonly approvals: Listed<ApprovalRow>;
  readonly decisions: { readonly rows: readonly DecisionRow[]; readonly all: string } | "failed" | undefined;
}

export function personBody(view: PersonView): Html {
  return html`${view.block !== undefined && html`<p class="refused" role="status">Blocked. ${view.block}</p>`}
    ${card(
      "Who this is",
      html`${definitions(view.facts)}
      ${view.actions.length > 0 && html`<p class="bar">${view.actions.map((each) => actionLink(each, true))}</p>`}`,
    )}
    <h2>Signed-in browsers</h2>
    ${listed("sessions", "Sessions, each of one browser", view.sessions, SESSION_COLUMNS, sessionCells, emptyState("No browser is signed in", "A session appears here from a sign-in on until its end."))}
    <h2>Applications with access</h2>
    ${listed("grants", "Grants, each of one client for one server or host. Names that nobody vouches for are the clients' own words", view.grants, GRANT_COLUMNS, grantCells, emptyState("No application acts for this person", "A grant appears here once a client has been allowed to act."))}
    ${view.approvals.rows.length > 0 && html`<h2>Remembered approvals</h2>`}
    ${listed("approvals", "What clients get again without asking", view.approvals, APPROVAL_COLUMNS, approvalCells, html``)}
    <h2>Accounts at upstreams</h2>
    ${listed("connections", "Connections, each to the upstream of one route", view.connections, CONNECTION_COLUMNS, connectionCells, emptyState("Nothing is connected", "An account appears here once this person has connected it to a server."))}
    <h2>Devices</h2>
    ${listed("devices", "Registered devices", view.devices, DEVICE_COLUMNS, deviceCells, emptyState("No device is registered", "Devices appear here once this person has registered them."))}
    ${decisionsPart(view.decisions)}`;
}

function listed<T>(
  id: string,
  caption: string,
  { rows, isCut }: Listed<T>,
  columns: readonly Column[],
  cells: (row: T) => readonly HtmlValue[],
  empty: Html,
): Html {
  return html`${fullTable({ id, caption, columns, rows: rows.map(cells), empty })}
  ${isCut && html`<p class="dim">There are more than these ${rows.length}. End some to see others.</p>`}`;
}

export function actionLink({ href, anchor, text, of }: EndLink, isButton = false): Html {
  return html`<a id="${anchor}" href="${href}" ${isButton && html`class="button"`}
    >${text}<span class="hidden"> ${of}</span></a
  >`;
}

const LAST: Column = { name: "What can be done", kind: "short", isQuiet: true };

const SESSION_COLUMNS: readonly Column[] = [
  { name: "Session", isHead: true, kind: "short" },
  { name: "Began", kind: "short" },
  { name: "Ends", kind: "short" },
  { name: "Devices proven" },
  { name: "Last seen from" },
  LAST,
];

function sessionCells({ id, beganMs, endsMs, isYours, devices, lastFrom, end }: SessionRow): readonly HtmlValue[] {
  return [
    html`<code>${id}</code>${isYours && html` ${badge("quiet", "this browser")}`}`,
    consoleTime(beganMs, "minute"),
    consoleTime(endsMs, "minute"),
    devices.join(", "),
    lastFrom ?? "",
    end && actionLink(end),
  ];
}

const GRANT_COLUMNS: readonly Column[] = [
  { name: "Client", isHead: true },
  { name: "Server", kind: "wide" },
  { name: "Scopes" },
  { name: "Began", kind: "short" },
  { name: "Ends unless used", kind: "short" },
  LAST,
];

function grantCells({
  client,
  clientHref,
  vouchedBy,
  server,
  scope,
  beganMs,
  endsMs,
  end,
}: GrantRow): readonly HtmlValue[] {
  return [
    clientName(client, clientHref, vouchedBy),
    html`<span class="address">${server}</span>`,
    scope,
    consoleTime(beganMs, "minute"),
    consoleTime(endsMs, "minute"),
    end && actionLink(end),
  ];
}

/** What a client says of itself is never taken for more. */
export function clientName(name: string, href: string | undefined, vouchedBy: string | undefined): Html {
  const shown = href === undefined ? html`${name}` : html`<a href="${href}">${name}</a>`;
  return html`${shown}<br /><span class="dim"
      >${vouchedBy === undefined ? "its own words" : `known by ${vouchedBy}`}</span
    >`;
}

const APPROVAL_COLUMNS: readonly Column[] = [
  { name: "Client", isHead: true },
  { name: "Server", kind: "wide" },
  { name: "Given", kind: "short" },
  { name: "Ends", kind: "short" },
  LAST,
];

function approvalCells({ client, server, givenMs, endsMs, end }: ApprovalRow): readonly HtmlValue[] {
  return [
    client,
    html`<span class="address">${server}</span>`,
    consoleTime(givenMs, "minute"),
    consoleTime(endsMs, "minute"),
    end && actionLink(end),
  ];
}

const CONNECTION_COLUMNS: readonly Column[] = [
  { name: "Route", isHead: true },
  { name: "Authorization server" },
  { name: "State", kind: "short" },
  { name: "Scopes" },
  { name: "Last answer", kind: "short" },
  LAST,
];

const STATES: Readonly<Record<ConnectionRow["state"], readonly [Tone, string]>> = {
  connected: ["good", "connected"],
  expired: ["warn", "expired"],
  ended: ["warn", "has to connect again"],
  stale: ["quiet", "of an earlier configuration"],
};

function connectionCells({ route, routeHref, server, state, scopes, since, end }: ConnectionRow): readonly HtmlValue[] {
  return [
    html`<a href="${routeHref}">${route}</a>`,
    server,
    badge(...STATES[state]),
    scopes,
    consoleTime(since, "minute"),
    end && actionLink(end),
  ];
}

export const DEVICE_COLUMNS: readonly Column[] = [
  { name: "Device", isHead: true },
  { name: "Type", kind: "short" },
  { name: "Approved", kind: "short" },
  { name: "Last used", kind: "short" },
  LAST,
];

export function deviceCells({ id, name, type, isApproved, usedMs, links }: DeviceRow): readonly HtmlValue[] {
  return [
    html`${name}<br /><code>${id}</code>`,
    type,
    isApproved ? badge("good", "by an administrator") : badge("quiet", "no"),
    consoleTime(usedMs, "minute"),
    links.map((each, index) => html`${index > 0 && " "}${actionLink(each)}`),
  ];
}

const OUTCOMES: Readonly<Record<DecisionRow["outcome"], Tone>> = {
  allowed: "good",
  denied: "bad",
  limited: "warn",
  waiting: "warn",
  error: "bad",
};

function decisionsPart(decisions: PersonView["decisions"]): Html | undefined {
  if (decisions === undefined) return undefined;
  if (decisions === "failed")
    return html`<h2>Last decisions</h2>
      ${sourceFailed("The record store")}`;
  return html`<h2>Last decisions</h2>
    ${fullTable({
      id: "decisions",
      caption: "The newest first",
      columns: [
        { name: "Time", kind: "short" },
        { name: "Outcome", kind: "short" },
        { name: "Route", isHead: true },
        { name: "What" },
        { name: "From" },
      ],
      rows: decisions.rows.map(({ href, timeMs, outcome, route, what, from }) => [
        html`<a href="${href}">${consoleTime(timeMs)}</a>`,
        badge(OUTCOMES[outcome], outcome),
        route,
        what,
        from,
      ]),
      empty: emptyState("Nothing was decided yet", "What this person asks of routes appears here."),
    })}
    ${decisions.rows.length > 0 && html`<p><a href="${decisions.all}">All decisions about this person</a></p>`}`;
}
