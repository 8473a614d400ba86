/**
 * Approvals of single tool calls: asked for by a call, given by a person, used up by the same call coming again.
 *
 * Untrusted input: calls. Promises: an approval is good for one user, credential, client, server, tool and exactly what the
 * tool is given; it is used once, whichever replica the call comes to, and before the call is made, so that a crash
 * behind it makes no second call; what became of that one stays recorded as unknown.
 */
import type { AdminAction } from "../audit/action-record.ts";
import { createHmac } from "node:crypto";

import type { Notify } from "../audit/events.ts";
import type { Principal } from "../identity/principal.ts";
import type { Revocations } from "../identity/interfaces.ts";
import { mayApprove } from "../policy/mcp/approval.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { randomSecret, type Keys } from "../shared/keys.ts";
import { createLimiter, type Limiter } from "../shared/limiter.ts";
import type { Log } from "../shared/log.ts";
import { createRateLimit } from "../shared/rate-limit.ts";
import { parseUserId } from "../shared/user-id.ts";
import { createWaiting } from "./waiting.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import { nameOf, pageOf, stateOf } from "./approval-state.ts";
import type { ApprovalEvent, ApprovalState, Approvals, AskedCall } from "./interfaces.ts";
import {
  APPROVALS_FEED,
  approvalKey,
  askerOf,
  DECIDED_SECONDS,
  isApprovalId,
  POINTER_SECONDS,
  pointerKey,
  givenOf,
  queryOf,
  withFieldsOf,
  tagsOf,
  USED_SECONDS,
  WAITING_SECONDS,
  type ApprovalPointer,
  type ApprovalRecord,
  decisionAction,
} from "./approval-records.ts";

/** Calls of one user that wait for somebody; by one client half as many. */
export const MOST_WAITING = 16;
export const MOST_WAITING_BY_CLIENT = 8;
/** New ones of one user in one process: who asks and withdraws without end uses up nobody else's. */
const ONE_USER = { burst: 120, perSecond: 0.1 };
/** New ones in one process: all users together may not fill the store either. */
const ALL_USERS = { burst: 1000, perSecond: 1 };
/** Longest of what a tool is given, in UTF-16 units: whoever approves has to read it. */
export const MAX_GIVEN = 16_384;
const MAX_TOOL = 256;
const MAX_QUERY = 1_024;

export interface ApprovalDeps {
  /** For the audit; absent: there is none. */
  readonly recordAction?: ((action: AdminAction) => void) | undefined;
  readonly store: Store;
  readonly keys: Keys;
  readonly revocations: Pick<Revocations, "isRevoked">;
  readonly log: Log;
  readonly clock: Clock;
  readonly onEvent?: (event: ApprovalEvent) => void;
  /** Absent: nobody is told that a call waits but its client. */
  readonly notify?: Notify;
}

type Found = StoredRecord<ApprovalRecord>;

/** Should the hint of a decision be lost. */
const LOOK_AGAIN_MS = 5_000;

export function createApprovals(deps: ApprovalDeps): Approvals {
  const { store, keys, revocations, log, clock } = deps;
  const sealer = keys.sealer("approval");
  const allUsers = createRateLimit({ clock }, ALL_USERS.burst, ALL_USERS.perSecond);
  const oneUser = createRateLimit({ clock }, ONE_USER.burst, ONE_USER.perSecond);
  /** One after the other of each user, so that those at once do not pass the bound together. */
  const asking = new Map<string, { readonly limiter: Limiter; count: number }>();

  const find = async (id: string): Promise<Found | undefined> => {
    const found = isApprovalId(id) ? await store.get<ApprovalRecord>(approvalKey(id)) : undefined;
    // Whoever asked is gone, and what was asked for with them.
    return found && revocations.isRevoked(found.value.revocationKeys) ? undefined : found;
  };

  const { listWaiting, pageWaiting } = createWaiting(deps);

  const pointerOf = ({ principal, route, tool, given, approvers }: AskedCall): string => {
    const { user, clientId = "", grantId, sid } = principal;
    // JSON, so that no two calls share a text however their parts are spelled.
    const { key, server, query, to } = route;
    const text = JSON.stringify([2, user.id, clientId, grantId ?? sid, key, server, query, to, tool, given, approvers]);
    return pointerKey(
      createHmac("sha256", keys.derive("approval")[0] ?? "")
        .update(text)
        .digest("base64url"),
    );
  };

  const put = (id: string, value: ApprovalRecord, expiresAt: number, ifVersion: number) =>
    store.put(approvalKey(id), value, { ifVersion, expiresAt, tags: tagsOf(value) });

  const create = async (call: AskedCall, key: string, version: number, last: Found | undefined) => {
    const { principal, route, tool, approvers } = call;
    const { user, clientId = "", revocationKeys } = principal;
    const waiting = await listWaiting(user.id);
    const byClient = waiting.filter(({ value }) => value.clientId === clientId);
    if (waiting.length >= MOST_WAITING || byClient.length >= MOST_WAITING_BY_CLIENT) return "too-many";
    if (oneUser.take(user.id) > 0 || allUsers.take("all") > 0) return "too-many";
    const id = randomSecret(16);
    const askedAt = epochSeconds(clock);
    const value: ApprovalRecord = {
      schema: 1,
      state: "waiting",
      userId: user.id,
      userName: nameOf(user),
      userEmail: user.email,
      clientId,
      clientName: await clientNameOf(principal),
      routeKey: route.key,
      routeName: route.name,
      server: route.server,
      ...(route.query !== "" && { query: sealer.seal(route.query, queryOf(approvalKey(id))) }),
      tool,
      given: sealer.seal(call.given, givenOf(approvalKey(id), call.given)),
      approvers,
      revocationKeys,
      askedAt,
      ...(last?.value.outcome === "unknown" && { afterUnknown: true }),
    };
    await put(id, value, askedAt + WAITING_SECONDS, 0);
    // The pointer second: what it leads to is there.
    const pointer: ApprovalPointer = { schema: 1, id };
    const pointed = await store.put(key, pointer, { ifVersion: version, expiresAt: askedAt + POINTER_SECONDS });
    if (!pointed.ok) {
      await store.delete(approvalKey(id));
      return "again";
    }
    log.info({ approval: id, user: user.id, client: clientId, route: route.key, tool }, "a call waits for an approval");
    deps.onEvent?.("asked");
    const data = {
      page: pageOf(call, id),
      route: route.key,
      tool: tool,
      requested_by: value.userName,
      approvers: approvers.slice(0, 8),
    };
    deps.notify?.({ type: "approval.waiting", subject: id, data });
    return "again";
  };

  const look = async (call: AskedCall): Promise<ApprovalState> => {
    const key = pointerOf(call);
    // Asked anew at most once, and once more where another process was faster.
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const pointer = await store.get<ApprovalPointer>(key);
      const found = pointer && (await find(pointer.value.id));
      const state = found && stateOf(found, call);
      if (state) return state;
      if ((await create(call, key, pointer?.version ?? 0, found)) === "too-many") return { state: "too-many" };
    }
    return { state: "unavailable" };
  };

  /** As the client called itself when it was let in. */
  const clientNameOf = async ({ grantId, clientId = "" }: Principal): Promise<string> => {
    const grant = grantId === undefined ? undefined : await store.get<{ clientName?: unknown }>(`grant:${grantId}`);
    const name = grant?.value.clientName;
    return typeof name === "string" && name !== "" ? name : clientId;
  };

  const inTurn = async <T>(userId: string, work: () => Promise<T>): Promise<T> => {
    const turn = asking.get(userId) ?? { limiter: createLimiter(1), count: 0 };
    asking.set(userId, turn);
    turn.count += 1;
    try {
      return await turn.limiter.take(work);
    } finally {
      turn.count -= 1;
      if (turn.count === 0) asking.delete(userId);
    }
  };

  const settle = async (id: string, found: Found, { user }: Principal, decision: "approved" | "refused") => {
    const { value, version } = found;
    const now = epochSeconds(clock);
    const decidedBy = { id: user.id, name: nameOf(user) };
    const decided: ApprovalRecord = { ...value, state: decision, decidedBy, decidedAt: now };
    const { ok } = await put(id, decided, now + DECIDED_SECONDS, version);
    if (!ok) return false;
    const { userId, clientId: client, routeKey: route, tool } = value;
    log.info({ approval: id, by: user.id, user: userId, client, route, tool, decision }, "a call was decided about");
    deps.onEvent?.(decision);
    deps.recordAction?.(decisionAction(id, value, user.id, decision));
    await store.append(APPROVALS_FEED, { id }, now + DECIDED_SECONDS);
    return true;
  };

  return {
    find,
    async ask(call) {
      const { principal, approvers, given } = call;
      // Only a person can confirm, and only what a person can read.
      if (approvers.length === 0 && parseUserId(principal.user.id)?.kind !== "person") return { state: "nobody" };
      if (given.length > MAX_GIVEN || call.tool.length > MAX_TOOL || call.route.query.length > MAX_QUERY)
        return { state: "too-long" };
      try {
        return await inTurn(principal.user.id, () => look(call));
      } catch (error) {
        log.error({ route: call.route.key, reason: errorText(error) }, "an approval cannot be looked for");
        return { state: "unavailable" };
      }
    },

    async use({ key, value, version }) {
      const used: ApprovalRecord = { ...value, state: "used", outcome: "unknown" };
      const expiresAt = epochSeconds(clock) + USED_SECONDS;
      const { ok } = await put(key.slice(approvalKey("").length), used, expiresAt, version);
      if (ok) deps.onEvent?.("used");
      return ok;
    },

    async answered(id) {
      try {
        const found = await store.get<ApprovalRecord>(approvalKey(id));
        if (found?.value.outcome !== "unknown") return;
        await put(id, { ...found.value, outcome: "answered" }, found.expiresAt ?? 0, found.version);
      } catch (error) {
        log.warn({ approval: id, reason: errorText(error) }, "it cannot be stored that an approved call was answered");
      }
    },

    async wait(id, ms, signal) {
      const until = performance.now() + ms;
      let wake = (): void => {};
      const unsubscribe = store.onAppend(APPROVALS_FEED, () => wake());
      const stop = (): void => wake();
      signal.addEventListener("abort", stop);
      try {
        for (;;) {
          const left = until - performance.now();
          if (signal.aborted || left <= 0) return;
          // Before the look, so that a decision between the two is not missed.
          const woken = new Promise<void>((resolve) => (wake = resolve));
          const found = await find(id);
          if (found?.value.state !== "waiting") return;
          const timer = setTimeout(wake, Math.min(left, LOOK_AGAIN_MS));
          await woken;
          clearTimeout(timer);
        }
      } catch (error) {
        log.warn({ approval: id, reason: errorText(error) }, "a call cannot wait for its approval");
      } finally {
        unsubscribe();
        signal.removeEventListener("abort", stop);
      }
    },

    given({ key, value }) {
      const given = sealer.open(value.given, key) ?? sealer.open(value.given, withFieldsOf(key));
      return given?.toString("utf8");
    },

    address({ key, value }) {
      const query = value.query === undefined ? "" : sealer.open(value.query, queryOf(key))?.toString("utf8");
      return value.server + (query ?? "?…");
    },

    async decide(id, principal, decision) {
      const found = await find(id);
      if (found?.value.state !== "waiting") return false;
      const { user } = principal;
      const { approvers, userId } = found.value;
      // Withdrawing what one has asked for oneself needs nobody's leave.
      const isOwnRefusal = decision === "refused" && user.id === userId;
      return (
        (isOwnRefusal || mayApprove(approvers, askerOf(found.value), user)) && settle(id, found, principal, decision)
      );
    },

    async withdraw(id, principal) {
      try {
        const found = await find(id);
        if (found?.value.userId !== principal.user.id) return;
        if (found.value.state === "waiting" || found.value.state === "approved")
          await settle(id, found, principal, "refused");
      } catch (error) {
        log.warn({ approval: id, reason: errorText(error) }, "a call cannot be withdrawn");
      }
    },

    listWaiting,
    pageWaiting,
  };
}
