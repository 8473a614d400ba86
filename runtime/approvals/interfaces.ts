/** Interface of approvals for the rest of the gateway. */
import type { Principal } from "../identity/principal.ts";
import type { ApprovalNeed } from "../policy/facts.ts";
import type { StoredRecord } from "../store/store.ts";
import type { ApprovalRecord } from "./approval-records.ts";

/** A call that policy allows after approval. */
export interface AskedCall {
  readonly principal: Principal;
  /** server: the called address, with its query separately ("" or "?…"); to: the target of the call. */
  readonly route: {
    readonly key: string;
    readonly name: string;
    readonly server: string;
    readonly query: string;
    readonly to: readonly string[];
  };
  readonly tool: string;
  /** Canonical JSON of the arguments for the tool and its server, numbers as written; see `givenToTool`. */
  readonly given: string;
  readonly approvers: ApprovalNeed["approvers"];
  /** Address of the decision page, without the ID. */
  readonly page: string;
}

export type ApprovalState =
  /** `page`: address of the decision page. */
  | { readonly state: "waiting"; readonly id: string; readonly page: string; readonly expiresAt: number }
  | {
      readonly state: "approved";
      readonly id: string;
      readonly by: string;
      readonly found: StoredRecord<ApprovalRecord>;
    }
  | { readonly state: "refused"; readonly id: string; readonly by: string }
  /**
   * no-approver: a service account cannot confirm its own call. too-many: too many pending calls. too-long: too long to
   * review.
   */
  | { readonly state: "no-approver" | "too-many" | "too-long" | "unavailable" };

/** Events in the life of an approval, for metrics. */
export const APPROVAL_EVENTS = ["asked", "approved", "refused", "used"] as const;
export type ApprovalEvent = (typeof APPROVAL_EVENTS)[number];

export interface Approvals {
  /** State of this call's approval; requests one if there is none. Never throws. */
  ask(call: AskedCall): Promise<ApprovalState>;
  /**
   * Uses the approval up: true for exactly one of all who try. @throws GatewayError `store.unavailable`: the call must
   * not continue
   */
  use(found: StoredRecord<ApprovalRecord>): Promise<boolean>;
  /** The call got its response. Never throws. */
  answered(id: string): Promise<void>;
  /** Returns once the call may no longer be pending, after `ms`, or on the signal. Never throws. */
  wait(id: string, ms: number, signal: AbortSignal): Promise<void>;
  find(id: string): Promise<StoredRecord<ApprovalRecord> | undefined>;
  /** Canonical JSON of the tool's arguments. @returns undefined when a sealing key is missing */
  given(found: StoredRecord<ApprovalRecord>): string | undefined;
  /** Address of the server, with its query. */
  address(found: StoredRecord<ApprovalRecord>): string;
  /** @returns false when the call is not pending, or this user cannot decide it */
  /** @param note for the record, at most 500 characters @returns false if it is not pending, or this user cannot decide it */
  decide(id: string, principal: Principal, decision: "approved" | "refused", note?: string): Promise<boolean>;
  /** Withdrawal by the caller, even after approval. Never throws. */
  withdraw(id: string, principal: Principal): Promise<void>;
  /** This user's calls that are pending approval by any user; oldest first. */
  listWaiting(userId: string): Promise<readonly StoredRecord<ApprovalRecord>[]>;
  /** The same for all users' calls, in no order; at most this number. */
  pageWaiting(limit: number): Promise<readonly StoredRecord<ApprovalRecord>[]>;
}
