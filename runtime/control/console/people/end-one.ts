/** What of one person can be ended one by one: what it is called, whether it is there, and how the commands end it, too. */
import { findRoute } from "../../../config/snapshot.ts";
import { createRecords } from "../../../identity/identity-records.ts";
import { listDevices, removeDevice } from "../../../identity/devices/devices.ts";
import { endSession, findSession, pageSessions } from "../../../identity/users/list-sessions.ts";
import { findGrant } from "../../../oauth/server/grant-records.ts";
import { endAccess, pageConsents, pageGrants, withdrawConsent } from "../../../oauth/server/list-access.ts";
import type { Visit } from "../screen.ts";
import type { PeopleDeps } from "./people.ts";
import { MOST_SHOWN, type EndKind } from "./person-view.ts";

export interface Endable {
  /** "End a session": title and button of the page that asks once more. */
  readonly title: string;
  /** What comes of it. */
  readonly effect: string;
  /** In the order of the page, for the row to go on at. */
  ids(deps: PeopleDeps, userId: string): Promise<readonly string[]>;
  /** Of this person: what is there now, whose digest the record has; undefined: nothing. */
  find(deps: PeopleDeps, userId: string, id: string): Promise<object | undefined>;
  /** @returns false: it was not there any more */
  end(deps: PeopleDeps, visit: Visit, userId: string, id: string): Promise<boolean>;
  /** For the record: "session abc". */
  target(userId: string, id: string): string;
}

export const ENDABLE: Readonly<Record<EndKind, Endable>> = {
  session: {
    title: "End the session",
    effect:
      "The browser is signed out on every host, in every process within 2 seconds, and what it has open ends. The person may sign in again.",
    ids: async ({ store }, userId) => (await pageSessions(store, userId, PAGE)).found.map(({ id }) => id),
    async find({ store }, userId, id) {
      const session = await findSession(store, id);
      return session?.userId === userId ? session : undefined;
    },
    async end(deps, _visit, _userId, id) {
      await endSession(deps, id);
      return true;
    },
    target: (userId, id) => `session ${id} of ${userId}`,
  },
  grant: {
    title: "End the client's access",
    effect:
      "The client's tokens stop working in every process within 2 seconds, and the approval behind them is forgotten: it has to ask the person again.",
    ids: async ({ store }, userId) => (await pageGrants(store, { userId }, PAGE)).found.map(({ id }) => id),
    async find({ store }, userId, id) {
      const grant = await findGrant(store, id);
      return grant?.value.userId === userId ? grant.value : undefined;
    },
    end: (deps, _visit, userId, id) => endAccess(deps, id, "revoked by an administrator", userId),
    target: (userId, id) => `grant ${id} of ${userId}`,
  },
  approval: {
    title: "Withdraw the remembered approval",
    effect: "The client has to ask the person the next time. What it was granted already goes on.",
    ids: async ({ store }, userId) => (await pageConsents(store, userId, PAGE)).found.map(({ key }) => key),
    async find({ store }, userId, key) {
      const { found } = await pageConsents(store, userId, PAGE);
      return found.find((each) => each.key === key);
    },
    end: ({ store }, _visit, userId, key) => withdrawConsent(store, userId, key),
    target: (userId, key) => `approval ${key} of ${userId}`,
  },
  connection: {
    title: "End the connection",
    effect:
      "The tokens of the upstream are forgotten here and revoked there. The person may connect the account again.",
    ids: async ({ connections }, userId) =>
      (await connections.page(userId, PAGE)).found.map(({ routeKey }) => routeKey),
    async find({ connections }, userId, routeKey) {
      const { found } = await connections.page(userId, PAGE);
      return found.find((each) => each.routeKey === routeKey && each.state !== "stale");
    },
    async end({ disconnect }, { snapshot, principal }, userId, routeKey) {
      const route = findRoute(snapshot, routeKey);
      return route !== undefined && (await disconnect(userId, route, principal.user.id));
    },
    target: (userId, routeKey) => `upstream connection of ${userId} to ${routeKey}`,
  },
  device: {
    title: "End the device",
    effect:
      "What it has proven counts no more, in every process within 2 seconds. The person may register it again, without an administrator's approval.",
    ids: async ({ store }, userId) => (await listDevices({ store }, userId)).map(({ proof }) => proof.id),
    async find({ store }, userId, id) {
      return (await findDevice(store, userId, id))?.device;
    },
    async end(deps, _visit, userId, id) {
      const found = await findDevice(deps.store, userId, id);
      return found !== undefined && removeDevice(deps, found);
    },
    target: (userId, id) => `device ${id} of ${userId}`,
  },
};

const PAGE = { limit: MOST_SHOWN };

export async function findDevice(store: PeopleDeps["store"], userId: string, id: string) {
  return (await listDevices({ store }, userId)).find(({ proof }) => proof.id === id);
}

/** E-mail address of somebody who is known; "" when there is none. */
export async function emailOf(store: PeopleDeps["store"], userId: string): Promise<string> {
  return (await createRecords(store).identities.get(userId))?.value.email ?? "";
}
