/**
 * Approvals of single tool calls: requested by a call, approved by a user, used when the same call is repeated.
 *
 * Untrusted input: calls. Promises: an approval is valid for one user, credential, client, server, tool and exactly
 * these arguments. It is used once, on whichever replica the call arrives, and before the call is made, so that a crash
 * afterwards causes no second call; the outcome of the first stays recorded as unknown.
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
import { createRateLimit, type RateLimiter } from "../shared/rate-limit.ts";
import { parseUserId } from "../shared/user-id.ts";
import { createWaiting } from "./waiting.ts";
import type { PutResult, Store, StoredRecord } from "../store/store.ts";
import { decidedRecord, newRecord, pageOf, stateOf } from "./approval-state.ts";
import type { ApprovalEvent, ApprovalState, Approvals, AskedCall } from "./interfaces.ts";
import {
  APPROVALS_FEED,
  approvalKey,
  askerOf,
  DECIDED_SECONDS,
  type Decided,
  isApprovalId,
  LOOK_AGAIN_MS,
  POINTER_SECONDS,
  pointerKey,
  queryOf,
  withFieldsOf,
  tagsOf,
  USED_SECONDS,
  WAITING_SECONDS,
  type ApprovalPointer,
  type ApprovalRecord,
  decisionAction,
} from "./approval-records.ts";

/** Pending calls of one user; by one client half of that. */
export const MOST_WAITING = 16;
export const MOST_WAITING_BY_CLIENT = 8;
/** New requests of one user in one process: endless requests and withdrawals must not exhaust the limit of others. */
const ONE_USER = { burst: 120, perSecond: 0.1 };
/** New requests in one process: all users together must not fill the store either. */
const ALL_USERS = { burst: 1000, perSecond: 1 };
/** Longest arguments, in UTF-16 units: the approver must read them. */
export const MAX_GIVEN = 16_384;
const MAX_TOOL = 256;
const MAX_QUERY = 1_024;

export interface ApprovalDeps {
  /** For the audit; absent: not recorded. */
  readonly recordAction?: ((action: AdminAction) => void) | undefined;
  readonly store: Store;
  readonly keys: Keys;
  readonly revocations: Pick<Revocations, "isRevoked">;
  readonly log: Log;
  readonly clock: Clock;
  readonly onEvent?: (event: ApprovalEvent) => void;
  /** Absent: only the client learns of a pending call. */
  readonly notify?: Notify;
}

type Found = StoredRecord<ApprovalRecord>;

export function createApprovals(deps: ApprovalDeps): Approvals {
  return new StoredApprovals(deps);
}

class StoredApprovals implements Approvals {
  readonly listWaiting: Approvals["listWaiting"];
  readonly pageWaiting: Approvals["pageWaiting"];
  readonly #deps: ApprovalDeps;
  readonly #sealer: ReturnType<Keys["sealer"]>;
  readonly #allUsers: RateLimiter;
  readonly #oneUser: RateLimiter;
  /** One at a time per user, so that concurrent requests cannot exceed the bound together. */
  readonly #asking = new Map<string, { readonly limiter: Limiter; count: number }>();

  constructor(deps: ApprovalDeps) {
    this.#deps = deps;
    this.#sealer = deps.keys.sealer("approval");
    this.#allUsers = createRateLimit(deps, ALL_USERS.burst, ALL_USERS.perSecond);
    this.#oneUser = createRateLimit(deps, ONE_USER.burst, ONE_USER.perSecond);
    ({ listWaiting: this.listWaiting, pageWaiting: this.pageWaiting } = createWaiting(deps));
  }

  async find(id: string): Promise<Found | undefined> {
    const found = isApprovalId(id) ? await this.#deps.store.get<ApprovalRecord>(approvalKey(id)) : undefined;
    // The caller's access was revoked, and its requests with it.
    return found && this.#deps.revocations.isRevoked(found.value.revocationKeys) ? undefined : found;
  }

  async ask(call: AskedCall): Promise<ApprovalState> {
    const { principal, approvers, given } = call;
    // Only a person can confirm, and only what a person can read.
    if (approvers.length === 0 && parseUserId(principal.user.id)?.kind !== "person") return { state: "no-approver" };
    if (given.length > MAX_GIVEN || call.tool.length > MAX_TOOL || call.route.query.length > MAX_QUERY)
      return { state: "too-long" };
    try {
      return await this.#inTurn(principal.user.id, () => this.#look(call));
    } catch (error) {
      this.#deps.log.error({ route: call.route.key, reason: errorText(error) }, "cannot look up approval");
      return { state: "unavailable" };
    }
  }

  async use({ key, value, version }: Found): Promise<boolean> {
    const used: ApprovalRecord = { ...value, state: "used", outcome: "unknown" };
    const expiresAt = epochSeconds(this.#deps.clock) + USED_SECONDS;
    const { ok } = await this.#put(key.slice(approvalKey("").length), used, expiresAt, version);
    if (ok) this.#deps.onEvent?.("used");
    return ok;
  }

  async answered(id: string): Promise<void> {
    try {
      const found = await this.#deps.store.get<ApprovalRecord>(approvalKey(id));
      if (found?.value.outcome !== "unknown") return;
      await this.#put(id, { ...found.value, outcome: "answered" }, found.expiresAt ?? 0, found.version);
    } catch (error) {
      this.#deps.log.warn({ approval: id, reason: errorText(error) }, "cannot store outcome of approved call");
    }
  }

  async wait(id: string, ms: number, signal: AbortSignal): Promise<void> {
    const until = performance.now() + ms;
    let wake = (): void => {};
    const unsubscribe = this.#deps.store.onAppend(APPROVALS_FEED, () => wake());
    const stop = (): void => wake();
    signal.addEventListener("abort", stop);
    try {
      for (;;) {
        const left = until - performance.now();
        if (signal.aborted || left <= 0) return;
        // Before the check, so that a decision between the two is not missed.
        const woken = new Promise<void>((resolve) => (wake = resolve));
        const found = await this.find(id);
        if (found?.value.state !== "waiting") return;
        const timer = setTimeout(wake, Math.min(left, LOOK_AGAIN_MS));
        await woken;
        clearTimeout(timer);
      }
    } catch (error) {
      this.#deps.log.warn({ approval: id, reason: errorText(error) }, "cannot store pending call");
    } finally {
      unsubscribe();
      signal.removeEventListener("abort", stop);
    }
  }

  given({ key, value }: Found): string | undefined {
    const given = this.#sealer.open(value.given, key) ?? this.#sealer.open(value.given, withFieldsOf(key));
    return given?.toString("utf8");
  }

  address({ key, value }: Found): string {
    const query = value.query === undefined ? "" : this.#sealer.open(value.query, queryOf(key))?.toString("utf8");
    return value.server + (query ?? "?…");
  }

  async decide(id: string, principal: Principal, decision: Decided, note = ""): Promise<boolean> {
    const found = await this.find(id);
    if (found?.value.state !== "waiting") return false;
    const { user } = principal;
    const { approvers, userId } = found.value;
    // Withdrawing one's own request needs no permission.
    const isOwnRefusal = decision === "refused" && user.id === userId;
    return (
      (isOwnRefusal || mayApprove(approvers, askerOf(found.value), user)) &&
      this.#settle(id, found, principal, decision, note)
    );
  }

  async withdraw(id: string, principal: Principal): Promise<void> {
    try {
      const found = await this.find(id);
      if (found?.value.userId !== principal.user.id) return;
      if (found.value.state === "waiting" || found.value.state === "approved")
        await this.#settle(id, found, principal, "refused");
    } catch (error) {
      this.#deps.log.warn({ approval: id, reason: errorText(error) }, "cannot withdraw pending call");
    }
  }

  #pointerOf({ principal, route, tool, given, approvers }: AskedCall): string {
    const { user, clientId = "", grantId, sid } = principal;
    // JSON, so that two different calls never share a text.
    const { key, server, query, to } = route;
    const text = JSON.stringify([2, user.id, clientId, grantId ?? sid, key, server, query, to, tool, given, approvers]);
    return pointerKey(
      createHmac("sha256", this.#deps.keys.derive("approval")[0] ?? "")
        .update(text)
        .digest("base64url"),
    );
  }

  #put(id: string, value: ApprovalRecord, expiresAt: number, ifVersion: number): Promise<PutResult> {
    return this.#deps.store.put(approvalKey(id), value, { ifVersion, expiresAt, tags: tagsOf(value) });
  }

  async #create(call: AskedCall, key: string, version: number, last: Found | undefined): Promise<"again" | "too-many"> {
    const { store, log, clock } = this.#deps;
    const { principal, route, tool, approvers } = call;
    const { user, clientId = "" } = principal;
    const waiting = await this.listWaiting(user.id);
    const byClient = waiting.filter(({ value }) => value.clientId === clientId);
    if (waiting.length >= MOST_WAITING || byClient.length >= MOST_WAITING_BY_CLIENT) return "too-many";
    if (this.#oneUser.take(user.id) > 0 || this.#allUsers.take("all") > 0) return "too-many";
    const id = randomSecret(16);
    const askedAt = epochSeconds(clock);
    const value = newRecord(call, {
      key: approvalKey(id),
      sealer: this.#sealer,
      clientName: await this.#clientNameOf(principal),
      askedAt,
      afterUnknown: last?.value.outcome === "unknown",
    });
    await this.#put(id, value, askedAt + WAITING_SECONDS, 0);
    // The pointer comes second: its target must exist.
    const pointer: ApprovalPointer = { schema: 1, id };
    const pointed = await store.put(key, pointer, { ifVersion: version, expiresAt: askedAt + POINTER_SECONDS });
    if (!pointed.ok) {
      await store.delete(approvalKey(id));
      return "again";
    }
    log.info({ approval: id, user: user.id, client: clientId, route: route.key, tool }, "call pending approval");
    this.#deps.onEvent?.("asked");
    const data = {
      page: pageOf(call, id),
      route: route.key,
      tool: tool,
      requested_by: value.userName,
      approvers: approvers.slice(0, 8),
    };
    this.#deps.notify?.({ type: "approval.waiting", subject: id, data });
    return "again";
  }

  async #look(call: AskedCall): Promise<ApprovalState> {
    const key = this.#pointerOf(call);
    // Requested again at most once, and once more if another process was faster.
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const pointer = await this.#deps.store.get<ApprovalPointer>(key);
      const found = pointer && (await this.find(pointer.value.id));
      const state = found && stateOf(found, call);
      if (state) return state;
      if ((await this.#create(call, key, pointer?.version ?? 0, found)) === "too-many") return { state: "too-many" };
    }
    return { state: "unavailable" };
  }

  /** The client's name at the time of its consent. */
  async #clientNameOf({ grantId, clientId = "" }: Principal): Promise<string> {
    const grant =
      grantId === undefined ? undefined : await this.#deps.store.get<{ clientName?: unknown }>(`grant:${grantId}`);
    const name = grant?.value.clientName;
    return typeof name === "string" && name !== "" ? name : clientId;
  }

  async #inTurn<T>(userId: string, work: () => Promise<T>): Promise<T> {
    const turn = this.#asking.get(userId) ?? { limiter: createLimiter(1), count: 0 };
    this.#asking.set(userId, turn);
    turn.count += 1;
    try {
      return await turn.limiter.take(work);
    } finally {
      turn.count -= 1;
      if (turn.count === 0) this.#asking.delete(userId);
    }
  }

  async #settle(id: string, found: Found, { user }: Principal, decision: Decided, note = ""): Promise<boolean> {
    const { value, version } = found;
    const now = epochSeconds(this.#deps.clock);
    const decided = decidedRecord(value, { user, decision, note, now });
    const { ok } = await this.#put(id, decided, now + DECIDED_SECONDS, version);
    if (!ok) return false;
    const { userId, clientId: client, routeKey: route, tool } = value;
    this.#deps.log.info(
      { approval: id, by: user.id, user: userId, client, route, tool, decision },
      "pending call decided",
    );
    this.#deps.onEvent?.(decision);
    this.#deps.recordAction?.(decisionAction(id, decided, value.state, user.id, decision));
    await this.#deps.store.append(APPROVALS_FEED, { id }, now + DECIDED_SECONDS);
    return true;
  }
}
