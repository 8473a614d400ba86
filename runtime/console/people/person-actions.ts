/**
 * Actions on one user: ending what acts for them, approving devices, blocking.
 *
 * They use the functions of the commands. Promise: each leaves a record with administrator, target, state before and reason.
 */
import { findRoute } from "../../config/snapshot.ts";
import { pageSessions } from "../../identity/users/list-sessions.ts";
import { endAccess, pageGrants } from "../../oauth/server/list-access.ts";
import { epochSeconds } from "../../shared/clock.ts";
import { isNamedByEmail } from "../../shared/user-id.ts";
import { blockTarget, unblockTarget, type BlockingDeps, type NamedTarget } from "../../administration/blocking.ts";
import { addressOfId, idOfPath } from "../addresses.ts";
import { GONE, readReason } from "../ask-once-more.ts";
import type { ActionOutcome, ScreenAction, ConsoleRequest } from "../screen.ts";
import { doOne } from "../objects/do-one.ts";
import { DOABLE, emailOf } from "./do-one.ts";
import { anchorOf, MOST_SHOWN } from "./person-view.ts";
import type { PeopleDeps } from "./deps.ts";

export const BLOCK_TIMES = [
  ["", "until unblocked"],
  ["3600", "for an hour"],
  ["28800", "for 8 hours"],
  ["86400", "for a day"],
  ["604800", "for a week"],
] as const;

/** So many of one kind are ended at once; who has more is asked to do it again. */
const MAX_PAGES = 100;

interface Asking {
  readonly visit: ConsoleRequest;
  readonly userId: string;
  /** Target. */
  readonly of: string;
  readonly reason: string;
  readonly form: ReadonlyMap<string, string>;
}

export function personActions(deps: PeopleDeps): Readonly<Record<string, ScreenAction>> {
  const action = (name: string, run: (asked: Asking) => Promise<ActionOutcome>): ScreenAction => ({
    role: "operator",
    isSensitive: true,
    name,
    async run(visit, form) {
      const userId = idOfPath(visit.path);
      const reason = readReason(form);
      if (userId === undefined) return GONE;
      return reason.ok ? run({ visit, userId, of: form.get("of") ?? "", reason: reason.value, form }) : reason;
    },
  });
  const each = [...DOABLE].map(([name, what]) => {
    const goOn = (userId: string) => (id: string | undefined) =>
      `${addressOfId("people", userId)}#${id === undefined ? "main" : anchorOf(what.anchor, id)}`;
    const run = (asked: Asking) => doOne(deps, what, { ...asked, id: asked.of }, goOn(asked.userId));
    return [name, action(what.title, run)] as const;
  });
  return {
    ...Object.fromEntries(each),
    "end-all": action("Revoke all access", (asked) => endAll(deps, asked)),
    block: action("Block user", (asked) => block(deps, asked)),
    unblock: action("Unblock", (asked) => unblock(deps, asked)),
  };
}

async function endAll(deps: PeopleDeps, { visit, userId, reason }: Asking): Promise<ActionOutcome> {
  const { store, connections } = deps;
  const by = visit.principal.user.id;
  const page = { limit: MOST_SHOWN };
  let grants = 0;
  // With the approvals behind them, so that each client has to ask again.
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { found } = await pageGrants(store, { userId }, page);
    if (found.length === 0) break;
    for (const { id } of found) if (await endAccess(deps, id, "revoked by an administrator", userId)) grants += 1;
  }
  let sessions = 0;
  for (let pages = 0, after: string | undefined; pages < MAX_PAGES; pages += 1) {
    const { found, next } = await pageSessions(store, userId, { ...page, after });
    sessions += found.length;
    after = next;
    if (after === undefined) break;
  }
  await deps.revocations.revoke(`user:${userId}`);
  let connected = 0;
  for (const { routeKey, state } of (await connections.page(userId, page)).found) {
    const route = findRoute(visit.snapshot, routeKey);
    if (state !== "stale" && route && (await deps.disconnect(userId, route, by))) connected += 1;
  }
  const before = `${sessions} sessions, ${grants} grants, ${connected} upstream connections`;
  deps.recordAction({ action: "revoke", by, target: `all access of ${userId}`, before, after: null, reason });
  return { told: `Ended: ${before}.`, to: `${addressOfId("people", userId)}#end-all` };
}

async function block(deps: PeopleDeps, { visit, userId, reason, form }: Asking): Promise<ActionOutcome> {
  const { principal } = visit;
  if (userId === principal.user.id) return { refused: "No changes were made: you cannot block yourself." };
  const time = BLOCK_TIMES.find(([seconds]) => seconds === (form.get("time") ?? ""));
  if (!time) return { refused: "No changes were made: the duration is invalid." };
  const [seconds, text] = time;
  const by = principal.user.id;
  const until = seconds === "" ? undefined : epochSeconds(deps.clock) + Number(seconds);
  await blockTarget(blockingDeps(deps, visit, reason), await namedTarget(deps, userId), { reason, by, until });
  const told = `Blocked ${text}, in every process within 2 seconds. Nothing was revoked.`;
  return { told, to: `${addressOfId("people", userId)}#main` };
}

async function unblock(deps: PeopleDeps, { visit, userId, reason }: Asking): Promise<ActionOutcome> {
  const lifted = await unblockTarget(blockingDeps(deps, visit, reason), await namedTarget(deps, userId));
  if (lifted.length === 0) return GONE;
  return { told: "No longer blocked, in every process within 2 seconds.", to: `${addressOfId("people", userId)}#main` };
}

/** As `gateway block user <address>` has it: by id, and by the address, which other accounts of theirs may have, too. */
async function namedTarget({ store }: PeopleDeps, userId: string): Promise<NamedTarget> {
  const email = await emailOf(store, userId);
  return { kind: "user", name: userId, ...(isNamedByEmail(email) ? { email } : {}) };
}

function blockingDeps(
  { store, clock, recordAction }: PeopleDeps,
  { principal }: ConsoleRequest,
  reason: string,
): BlockingDeps {
  const by = principal.user.id;
  return { store, clock, record: (action) => recordAction({ reason, ...action, by }) };
}
