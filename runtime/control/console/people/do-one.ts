/** What of one person can be ended or approved one by one: objects of the kinds that belong to users, and connections. */
import { CONSENT } from "../../../administration/consent.ts";
import { DEVICE } from "../../../administration/device.ts";
import { GRANT } from "../../../administration/grant.ts";
import type { Asked, Kind } from "../../../administration/kind.ts";
import { SESSION } from "../../../administration/session.ts";
import { findRoute } from "../../../config/snapshot.ts";
import { createRecords } from "../../../identity/identity-records.ts";
import { digestOf } from "../../../shared/canonical-json.ts";
import type { Visit } from "../screen.ts";
import type { PeopleDeps } from "./people.ts";
import { anchorName, MOST_SHOWN } from "./person-view.ts";

export interface Doable {
  /** Its rows are at `<anchor>-<id>`. */
  readonly anchor: string;
  /** Title and button of the page that asks once more: "End the session". */
  readonly title: string;
  /** The result. */
  readonly effect: string;
  /** In the order of the page, for the row to go on at. */
  ids(deps: PeopleDeps, userId: string): Promise<readonly string[]>;
  /** @returns undefined: this person has none of this id */
  find(deps: PeopleDeps, userId: string, id: string): Promise<Found | undefined>;
}

interface Found {
  /** For the record: "session abc". */
  readonly target: string;
  /** Records itself. @returns what was done; undefined: it was not there any more */
  run(visit: Visit, asked: Asked): Promise<string | undefined>;
}

/** By the name of the form's action. */
export const DOABLE: ReadonlyMap<string, Doable> = new Map([
  ...ofKind(SESSION),
  ...ofKind(GRANT),
  ...ofKind(DEVICE),
  ...ofKind(CONSENT),
  [
    "end-connection",
    {
      anchor: "connection",
      title: "End the connection",
      effect:
        "The tokens of the upstream are forgotten here and revoked there. The person may connect the account again.",
      ids: async ({ connections }, userId) =>
        (await connections.page(userId, PAGE)).found.map(({ routeKey }) => routeKey),
      async find({ connections, disconnect }, userId, routeKey) {
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

/** Of a kind whose objects belong to users: the console does what its description says. */
function ofKind<T extends object, S>(kind: Kind<T, PeopleDeps, S>): readonly (readonly [string, Doable])[] {
  return kind.actions.map((action) => [
    action.name,
    {
      anchor: anchorName(kind),
      title: action.title,
      effect: action.effect,
      async ids(deps, userId) {
        const { found } = await kind.page(deps, { ...PAGE, filters: new Map([["user", userId]]) });
        return found.map((thing) => kind.idOf(thing));
      },
      async find(deps, userId, id) {
        const thing = await kind.find(deps, id, userId);
        if (!thing || kind.userOf(thing) !== userId) return undefined;
        return { target: action.target(thing), run: (_, asked) => action.run(deps, thing, asked) };
      },
    },
  ]);
}

/** E-mail address of somebody who is known; "" when there is none. */
export async function emailOf(store: PeopleDeps["store"], userId: string): Promise<string> {
  return (await createRecords(store).identities.get(userId))?.value.email ?? "";
}
