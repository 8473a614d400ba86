/** `gateway sessions …` and `gateway grants …`: who is signed in, what clients may do, and ending both. */
import { digestOf } from "../../shared/canonical-json.ts";
import { findGrant } from "../../oauth/server/grant-records.ts";
import { endAccess, listGrants } from "../../oauth/server/list-access.ts";
import { endSession, findSession, listSessions } from "../../identity/users/list-sessions.ts";
import { emailsOf } from "../../identity/users/emails-of.ts";
import { onlyOf, withAdministration, type Administration } from "./administration.ts";
import { forEachNamed, printError, printLine, printRows, timeText } from "./output.ts";

export interface ListOptions {
  readonly config: string;
  /** Id or email. */
  readonly user?: string;
  readonly client?: string;
  readonly json?: boolean;
}

export interface RevokeOptions extends ListOptions {
  readonly all?: boolean;
}

/** @returns exit code */
export function printSessions(options: ListOptions): Promise<number> {
  return withAdministration(options.config, async ({ store }) => {
    const sessions = await sessionsOf({ store }, options.user);
    const emails = await emailsOf(
      store,
      sessions.map(({ userId }) => userId),
    );
    const rows = sessions.map(({ id, userId, createdAt, expiresAt }) => ({
      id,
      user: userId,
      email: emails.get(userId),
      began: timeText(createdAt),
      ends: timeText(expiresAt),
    }));
    printRows(rows, options.json === true, "nobody is signed in");
    return 0;
  });
}

/** @returns exit code; 1 when nothing was there to end */
export function revokeSessions(ids: readonly string[], options: RevokeOptions): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const ended = await chooseIds(ids, options, async (user) => {
      const sessions = await sessionsOf(administration, user);
      return sessions.map(({ id }) => id);
    });
    return endEach(ended, "session", async (id) => {
      const session = await findSession(administration.store, id);
      if (!session) return false;
      await endSession(administration, id);
      const target = `session ${id} of ${session.userId}`;
      await administration.record({ action: "revoke", target, before: digestOf(session), after: null });
      return true;
    });
  });
}

/** @returns exit code */
export function printGrants(options: ListOptions): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const grants = await grantsOf(administration, options);
    const emails = await emailsOf(
      administration.store,
      grants.map(({ userId }) => userId),
    );
    const rows = grants.map((grant) => ({
      id: grant.id,
      client: grant.clientName,
      client_id: grant.clientId,
      user: grant.userId,
      email: emails.get(grant.userId),
      server: grant.audience,
      issuer: grant.assertedBy?.name,
      began: timeText(grant.createdAt),
      ends: timeText(grant.expiresAt),
      ends_for_good: grant.endsAt === undefined ? undefined : timeText(grant.endsAt),
    }));
    printRows(rows, options.json === true, "no client has access");
    return 0;
  });
}

/** Ends grants and forgets the approvals behind them. @returns exit code; 1 when nothing was there to end */
export function revokeGrants(ids: readonly string[], options: RevokeOptions): Promise<number> {
  return withAdministration(options.config, async (administration) => {
    const ended = await chooseIds(ids, options, async () => {
      const grants = await grantsOf(administration, options);
      return grants.map(({ id }) => id);
    });
    return endEach(ended, "grant", async (id) => {
      const grant = await findGrant(administration.store, id);
      if (!grant || !(await endAccess(administration, id, "revoked by an administrator"))) return false;
      const target = `grant ${id} of ${grant.value.userId}`;
      await administration.record({ action: "revoke", target, before: digestOf(grant.value), after: null });
      return true;
    });
  });
}

async function sessionsOf({ store }: Pick<Administration, "store">, user: string | undefined) {
  return onlyOf(store, user, await listSessions(store), ({ userId }) => userId);
}

async function grantsOf({ store }: Administration, { user, client }: ListOptions) {
  const all = await listGrants(store, client === undefined ? {} : { clientId: client });
  return onlyOf(store, user, all, ({ userId }) => userId);
}

/** Named ones, or all that the options choose; never everything by omission. */
async function chooseIds(
  ids: readonly string[],
  { user, client, all }: RevokeOptions,
  choose: (user: string | undefined) => Promise<readonly string[]>,
): Promise<readonly string[] | undefined> {
  const isChosen = user !== undefined || client !== undefined || all === true;
  if (ids.length > 0 === isChosen) return undefined;
  return ids.length > 0 ? ids : choose(user);
}

async function endEach(
  ids: readonly string[] | undefined,
  what: string,
  end: (id: string) => Promise<boolean>,
): Promise<number> {
  if (!ids) {
    printError(`Cannot choose what to end: name ids, or say --user${what === "grant" ? ", --client" : ""} or --all`);
    return 2;
  }
  const count = await forEachNamed(ids, what, end);
  printLine(`${count} ${what}${count === 1 ? "" : "s"} ended`);
  return count === ids.length && count > 0 ? 0 : 1;
}
