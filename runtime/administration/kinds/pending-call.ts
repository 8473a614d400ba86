/** Tool calls pending approval. The users named in the policy decide them on separate pages. */
import { findWaitingCall, pageWaitingCalls, type WaitingCall } from "../../approvals/waiting.ts";
import { badge, emptyState } from "../../pages/console/pieces.ts";
import { html } from "../../pages/html.ts";
import { foreignText } from "../../shared/json/foreign-text.ts";
import { ownerOfRoute } from "../../shared/route-key.ts";
import { textField, timeField, type KindDeps, type ShownKind, timeColumn } from "../kind.ts";

/** Further data of the console's list. */
interface SeenByApprover {
  readonly callHref: (id: string) => string;
  readonly mayDecide: (call: WaitingCall) => boolean;
}

export const PENDING_CALL: ShownKind<WaitingCall, Pick<KindDeps, "store">, SeenByApprover> = {
  name: "pending-call",
  plural: "pending-calls",
  command: "pending-calls list",
  doc: "Tool calls pending approval, including those of callers without access",
  none: "no call is pending approval",
  fields: [
    textField("id", "ID of the approval", ({ id }) => id),
    textField("tool", "Name of the tool", ({ value }) => value.tool),
    textField("route", "Key of the route", ({ value }) => value.routeKey),
    textField("server", "Address of the MCP server", ({ value }) => value.server),
    textField("user", "User ID of the caller", ({ value }) => value.userId),
    textField("email", "Email address of the caller", ({ value }) => value.userEmail),
    textField("client", "Name of the client", ({ value }) => value.clientName),
    textField("client_id", "ID of the client", ({ value }) => value.clientId),
    textField("approvers", "Groups whose members can approve it: one group of each list in parentheses", ({ value }) =>
      value.approvers.map((groups) => `(${groups.join(" or ")})`).join(" and "),
    ),
    timeField("asked", "Time of the call", ({ value }) => value.askedAt),
    timeField("ends", "End of the wait", ({ expiresAt }) => expiresAt),
  ],
  filters: ["user"],
  table: {
    id: "waiting",
    caption: (rows, isCut) => `Pending approvals, earliest expiry first (${rows}${isCut ? " of more" : ""})`,
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
      { name: "Requested by", cell: ({ value }) => html`<bdi>${foreignText(value.userName)}</bdi>` },
      { name: "Client", cell: ({ value }) => html`<bdi>${foreignText(value.clientName)}</bdi>` },
      timeColumn("Requested", ({ value }) => value.askedAt),
      timeColumn("Expires", ({ expiresAt }) => expiresAt),
      {
        name: "You",
        cell: (call, { mayDecide }) => (mayDecide(call) ? badge("warn", "can approve") : badge("quiet", "read-only")),
      },
    ],
    empty: emptyState("No pending approvals", "Calls appear here when an approve rule of a policy matches them."),
  },
  idOf: ({ id }) => id,
  userOf: ({ value }) => value.userId,
  ownerOf: ({ value: { routeKey } }) => ownerOfRoute(routeKey),
  isPlace: (after) => after.startsWith("approval:"),
  page: ({ store }, { filters, ...page }) => pageWaitingCalls(store, filters.get("user"), page),
  find: ({ store }, id) => findWaitingCall(store, id),
  actions: [],
};
