/** Tool calls that wait for an approval. They are decided on their own pages, by users whom the policy names. */
import { findWaitingCall, pageWaitingCalls, type WaitingCall } from "../approvals/waiting.ts";
import { badge, consoleTime, emptyState } from "../pages/console/pieces.ts";
import { html } from "../pages/html.ts";
import { foreignText } from "../shared/json/foreign-text.ts";
import type { KindDeps, ShownKind } from "./kind.ts";

/** What the list of the console also knows. */
interface SeenByApprover {
  readonly callHref: (id: string) => string;
  readonly mayDecide: (call: WaitingCall) => boolean;
}

export const PENDING_CALL: ShownKind<WaitingCall, Pick<KindDeps, "store">, SeenByApprover> = {
  name: "pending-call",
  plural: "pending-calls",
  command: "pending-calls list",
  doc: "Tool calls that wait for an approval, also of callers whose access has ended since",
  none: "no call waits for an approval",
  fields: [
    { name: "id", type: "text", doc: "ID of the approval", value: ({ id }) => id },
    { name: "tool", type: "text", doc: "Name of the tool", value: ({ value }) => value.tool },
    { name: "route", type: "text", doc: "Key of the route", value: ({ value }) => value.routeKey },
    { name: "server", type: "text", doc: "Address of the MCP server", value: ({ value }) => value.server },
    { name: "user", type: "text", doc: "User ID of the caller", value: ({ value }) => value.userId },
    { name: "email", type: "text", doc: "Email address of the caller", value: ({ value }) => value.userEmail },
    { name: "client", type: "text", doc: "Name of the client", value: ({ value }) => value.clientName },
    { name: "client_id", type: "text", doc: "ID of the client", value: ({ value }) => value.clientId },
    {
      name: "approvers",
      type: "text",
      doc: "Groups of those who can approve it: one of each list in parentheses",
      value: ({ value }) => value.approvers.map((groups) => `(${groups.join(" or ")})`).join(" and "),
    },
    { name: "asked", type: "time", doc: "Time of the call", value: ({ value }) => value.askedAt },
    { name: "ends", type: "time", doc: "End of the wait", value: ({ expiresAt }) => expiresAt },
  ],
  filters: ["user"],
  table: {
    id: "waiting",
    caption: (rows, isCut) => `Calls that wait, the one that ends first at the top (${rows}${isCut ? " of more" : ""})`,
    columns: [
      {
        name: "Tool",
        isHead: true,
        cell: ({ id, value }, { callHref }) =>
          html`<a href="${callHref(id)}"
            ><code><bdi>${foreignText(value.tool)}</bdi></code></a
          >`,
      },
      { name: "Route", cell: ({ value }) => html`<bdi>${foreignText(value.routeKey)}</bdi>` },
      { name: "Asked by", cell: ({ value }) => html`<bdi>${foreignText(value.userName)}</bdi>` },
      { name: "Client", cell: ({ value }) => html`<bdi>${foreignText(value.clientName)}</bdi>` },
      { name: "Asked", kind: "short", cell: ({ value }) => consoleTime(value.askedAt * 1000, "minute") },
      { name: "Ends", kind: "short", cell: ({ expiresAt }) => consoleTime(expiresAt * 1000, "minute") },
      {
        name: "You",
        cell: (call, { mayDecide }) => (mayDecide(call) ? badge("warn", "may decide") : badge("quiet", "may look")),
      },
    ],
    empty: emptyState(
      "No call waits for an approval",
      "Calls wait here when an approve rule of a route's policy asks for them.",
    ),
  },
  idOf: ({ id }) => id,
  userOf: ({ value }) => value.userId,
  ownerOf: ({ value: { routeKey } }) => routeKey.slice(0, Math.max(0, routeKey.indexOf("/"))),
  isPlace: (after) => after.startsWith("approval:"),
  page: ({ store }, { filters, ...page }) => pageWaitingCalls(store, filters.get("user"), page),
  find: ({ store }, id) => findWaitingCall(store, id),
  actions: [],
};
