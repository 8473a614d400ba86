/** Calls that wait for somebody's decision. */
import type { Revocations } from "../identity/interfaces.ts";
import type { Store, StoredRecord } from "../store/store.ts";
import { approvalKey, WAITING_TAG, waitingTag, type ApprovalRecord } from "./approval-records.ts";
import type { Approvals } from "./interfaces.ts";

/** Read at once. */
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
      // What ended with who asked is passed over, and not without end.
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
