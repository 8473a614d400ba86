/** Calls that are pending a decision. */
import type { Revocations } from "../identity/interfaces.ts";
import { pageOf, type PageOf, type PageRequest } from "../store/page-of.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import { approvalKey, isApprovalId, WAITING_TAG, waitingTag, type ApprovalRecord } from "./approval-records.ts";
import type { Approvals } from "./interfaces.ts";

/** Records per read. */
const PAGE = 200;

export function createWaiting(deps: {
  readonly store: Store;
  readonly revocations: Pick<Revocations, "isRevoked">;
}): Pick<Approvals, "listWaiting" | "pageWaiting"> {
  const { store, revocations } = deps;
  const isAlive = ({ value }: StoredRecord<ApprovalRecord>): boolean => !revocations.isRevoked(value.revocationKeys);
  return {
    async listWaiting(userId) {
      const found = await store.list<ApprovalRecord>(waitingTag(userId));
      return found.filter(isAlive).toSorted((a, b) => a.value.askedAt - b.value.askedAt);
    },
    async pageWaiting(limit) {
      const found: StoredRecord<ApprovalRecord>[] = [];
      let after: string | undefined;
      // Skips calls whose caller's access ended, with a limit on reads.
      for (let read = 0; found.length < limit && read < 4 * limit; read += PAGE) {
        const query = { prefix: approvalKey(""), tag: WAITING_TAG, limit: PAGE, ...(after !== undefined && { after }) };
        const page = await store.page<ApprovalRecord>(query);
        found.push(...page.filter(isAlive));
        after = page.at(-1)?.key;
        if (page.length < PAGE) break;
      }
      return found.slice(0, limit);
    },
  };
}

/** A call without the arguments of its tool. */
export interface WaitingCall {
  readonly id: string;
  readonly value: Omit<ApprovalRecord, "given" | "query">;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

/** Includes calls of users whose access has ended. @param userId only this user's calls; default: all users' */
export function pageWaitingCalls(
  store: Pick<Store, "page">,
  userId: string | undefined,
  page: PageRequest,
): Promise<PageOf<WaitingCall>> {
  const tag = userId === undefined ? WAITING_TAG : waitingTag(userId);
  return pageOf(store, { prefix: approvalKey(""), tag }, page, toCall);
}

/** @returns undefined when it does not exist, or is no longer pending */
export async function findWaitingCall(store: Pick<Store, "get">, id: string): Promise<WaitingCall | undefined> {
  const record = isApprovalId(id) ? await store.get<ApprovalRecord>(approvalKey(id)) : undefined;
  return record?.value.state === "waiting" ? toCall(record) : undefined;
}

export function toCall({ key, value, expiresAt = value.askedAt }: StoredRecord<ApprovalRecord>): WaitingCall {
  const { given: _given, query: _query, ...rest } = value;
  return { id: key.slice(approvalKey("").length), value: rest, expiresAt };
}
