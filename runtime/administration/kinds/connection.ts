/**
 * Connections: accounts of users at the upstreams of routes. Only the console can end them, since a token is revoked by
 * its route's client.
 */
import {
  findConnection,
  pageConnections,
  type UpstreamConnection,
  type ConnectionState,
} from "../../oauth/client/list-connections.ts";
import { badge, emptyState, type Tone } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import {
  textField,
  timeField,
  lastColumn,
  type KindDeps,
  type SeenOfUser,
  type ShownKind,
  timeColumn,
  emailField,
} from "../kind.ts";

const STATES: Readonly<Record<ConnectionState, readonly [Tone, string]>> = {
  connected: ["good", "connected"],
  expired: ["warn", "expired"],
  ended: ["warn", "reconnect required"],
  stale: ["quiet", "outdated"],
};

const LAST = lastColumn<UpstreamConnection>(
  "end-connection",
  "End",
  ({ routeKey }) => `connection of ${foreignText(routeKey)}`,
);

export const CONNECTION: ShownKind<UpstreamConnection, Pick<KindDeps, "store" | "clock">, SeenOfUser> = {
  name: "connection",
  plural: "connections",
  command: "connections list",
  doc: "Accounts of users at the upstreams of routes",
  none: "no account is connected",
  fields: [
    textField("id", "ID of the connection", ({ id }) => id),
    textField("user", "User ID", ({ userId }) => userId),
    emailField(({ userId }) => userId),
    textField("route", "Key of the route", ({ routeKey }) => routeKey),
    textField("server", "Host of the authorization server", ({ server }) => server),
    textField("state", "State of the token; after `ended` the user must reconnect", ({ state }) => state, [
      "connected",
      "expired",
      "ended",
    ]),
    textField("scopes", "Scopes of the token, separated by blanks", (of) => of.scopes.join(" ")),
    timeField("obtained", "Time of the server's last response", ({ obtainedAt }) => obtainedAt),
    timeField("ends", "Expiry of the token, if the server states one", (of) => of.expiresAt),
  ],
  filters: ["user"],
  table: {
    id: "connections",
    caption: () => "One row per route",
    columns: [
      {
        name: "Route",
        isHead: true,
        cell: ({ routeKey }, { routeHref }) => html`<a href="${routeHref(routeKey)}">${foreignText(routeKey)}</a>`,
      },
      { name: "Authorization server", cell: ({ server }) => foreignText(server) },
      { name: "State", kind: "short", cell: ({ state }) => badge(...STATES[state]) },
      { name: "Scopes", cell: ({ scopes }) => foreignText(scopes.join(" ")) },
      timeColumn("Last updated", ({ obtainedAt }) => obtainedAt),
      // Connections of an earlier configuration are unused and cannot be found.
      { ...LAST, cell: (connection, seen) => connection.state !== "stale" && LAST.cell(connection, seen) },
    ],
    empty: emptyState("No connected accounts", "Accounts appear here once the user connects them."),
  },
  ofUser: { heading: "Connected accounts", order: 4 },
  idOf: ({ id }) => id,
  userOf: ({ userId }) => userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("vault:"),
  page: (deps, { filters, ...page }) => pageConnections(deps, filters.get("user"), page),
  find: (deps, id) => findConnection(deps, id),
  actions: [],
};
