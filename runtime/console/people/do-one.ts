/** Actions on single objects of one user: objects of the kinds that belong to users, and connections. */
import { findRoute } from "../../config/snapshot.ts";
import { createRecords } from "../../identity/identity-records.ts";
import { digestOf } from "../../shared/canonical-json.ts";
import { doables, type Doable } from "../objects/do-one.ts";
import { anchorName, MOST_SHOWN, USER_KINDS } from "./person-view.ts";
import type { PeopleDeps } from "./deps.ts";

export interface UserDoable extends Doable<PeopleDeps> {
  /** Its rows are at `<anchor>-<id>`. */
  readonly anchor: string;
}

/** By the name of the form's action. */
export const DOABLE: ReadonlyMap<string, UserDoable> = new Map([
  ...USER_KINDS.flatMap((kind) =>
    doables(kind, MOST_SHOWN).map((each) => [each.name, { ...each, anchor: anchorName(kind) }] as const),
  ),
  [
    "end-connection",
    {
      name: "end-connection",
      anchor: "connection",
      title: "End the connection",
      effect:
        "The tokens of the upstream are forgotten here and revoked there. The person may connect the account again.",
      ids: async ({ connections }, userId = "") =>
        (await connections.page(userId, PAGE)).found.map(({ routeKey }) => routeKey),
      async find({ connections, disconnect }, routeKey, userId = "") {
        const { found } = await connections.page(userId, PAGE);
        const connection = found.find((each) => each.routeKey === routeKey && each.state !== "stale");
        if (!connection) return undefined;
        const { id: _id, ...before } = connection;
        const target = `upstream connection of ${userId} to ${routeKey}`;
        return {
          target,
          async run({ snapshot, principal }, { record }) {
            const route = findRoute(snapshot, routeKey);
            if (!route || !(await disconnect(userId, route, principal.user.id))) return undefined;
            await record({ action: "revoke", target, before: digestOf(before), after: null });
            return "Done: end the connection.";
          },
        };
      },
    },
  ],
]);

const PAGE = { limit: MOST_SHOWN };

/** Email address of a known user; "" when there is none. */
export async function emailOf(store: PeopleDeps["store"], userId: string): Promise<string> {
  return (await createRecords(store).identities.get(userId))?.value.email ?? "";
}
