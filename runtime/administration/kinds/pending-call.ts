/** Tool calls pending approval. The users named in the policy decide them on separate pages. */
import { findWaitingCall, pageWaitingCalls, type WaitingCall } from "../../approvals/waiting.ts";
import { ownerOfRoute } from "../../shared/route-key.ts";
import { type Kind, type KindDeps, textField, timeField } from "../kind.ts";

export const PENDING_CALL: Kind<WaitingCall, Pick<KindDeps, "store">> = {
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
  idOf: ({ id }) => id,
  userOf: ({ value }) => value.userId,
  ownerOf: ({ value: { routeKey } }) => ownerOfRoute(routeKey),
  isPlace: (after) => after.startsWith("approval:"),
  page: ({ store }, { filters, ...page }) => pageWaitingCalls(store, filters.get("user"), page),
  find: ({ store }, id) => findWaitingCall(store, id),
  actions: [],
};
