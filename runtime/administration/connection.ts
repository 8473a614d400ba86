/** Connections: accounts of users at the upstreams of routes. The console ends them, since a token is revoked by its route's client. */
import {
  findConnection,
  pageConnections,
  type Connection,
  type ConnectionState,
} from "../oauth/client/list-connections.ts";
import { badge, consoleTime, emptyState, type Tone } from "../pages/console/pieces.ts";
import { html } from "../pages/html.ts";
import { foreignText } from "../shared/json/foreign-text.ts";
import { lastColumn, type KindDeps, type SeenOfUser, type ShownKind } from "./kind.ts";

const STATES: Readonly<Record<ConnectionState, readonly [Tone, string]>> = {
  connected: ["good", "connected"],
  expired: ["warn", "expired"],
  ended: ["warn", "has to connect again"],
  stale: ["quiet", "of an earlier configuration"],
};

const LAST = lastColumn<Connection>(
  "end-connection",
  "End",
  ({ routeKey }) => `connection of ${foreignText(routeKey)}`,
);

export const CONNECTION: ShownKind<Connection, Pick<KindDeps, "store" | "clock">, SeenOfUser> = {
  name: "connection",
  plural: "connections",
  command: "connections list",
  doc: "Accounts of users at the upstreams of routes",
  none: "no account is connected",
  fields: [
    { name: "id", type: "text", doc: "ID of the connection", value: ({ id }) => id },
    { name: "user", type: "text", doc: "User ID", value: ({ userId }) => userId },
    {
      name: "email",
      type: "text",
      doc: "Email address of the user",
      value: ({ userId }, emails) => emails.get(userId),
    },
    { name: "route", type: "text", doc: "Key of the route", value: ({ routeKey }) => routeKey },
    { name: "server", type: "text", doc: "Host of the authorization server", value: ({ server }) => server },
    {
      name: "state",
      type: "text",
      values: ["connected", "expired", "ended"],
      doc: "Whether there is a token that can be used; after `ended` the user has to connect again",
      value: ({ state }) => state,
    },
    {
      name: "scopes",
      type: "text",
      doc: "Scopes of the token, separated by blanks",
      value: (of) => of.scopes.join(" "),
    },
    { name: "obtained", type: "time", doc: "Time of the server's last answer", value: ({ obtainedAt }) => obtainedAt },
    { name: "ends", type: "time", doc: "End of the token, where the server named one", value: (of) => of.expiresAt },
  ],
  filters: ["user"],
  table: {
    id: "connections",
    caption: () => "Connections, each to the upstream of one route",
    columns: [
      {
        name: "Route",
        isHead: true,
        cell: ({ routeKey }, { routeHref }) => html`<a href="${routeHref(routeKey)}">${foreignText(routeKey)}</a>`,
      },
      { name: "Authorization server", cell: ({ server }) => foreignText(server) },
      { name: "State", kind: "short", cell: ({ state }) => badge(...STATES[state]) },
      { name: "Scopes", cell: ({ scopes }) => foreignText(scopes.join(" ")) },
      { name: "Last answer", kind: "short", cell: ({ obtainedAt }) => consoleTime(obtainedAt * 1000, "minute") },
      // Nobody uses what belongs to an earlier configuration, and nothing finds it again.
      { ...LAST, cell: (connection, seen) => connection.state !== "stale" && LAST.cell(connection, seen) },
    ],
    empty: emptyState("Nothing is connected", "An account appears here once this person has connected it to a server."),
  },
  idOf: ({ id }) => id,
  userOf: ({ userId }) => userId,
  ownerOf: () => undefined,
  isPlace: (after) => after.startsWith("vault:"),
  page: (deps, { filters, ...page }) => pageConnections(deps, filters.get("user"), page),
  find: (deps, id) => findConnection(deps, id),
  actions: [],
};
