/** What the rest of the gateway asks of approvals. */
import type { Principal } from "../identity/principal.ts";
import type { ApprovalNeed } from "../policy/facts.ts";
import type { StoredRecord } from "../store/store.ts";
import type { ApprovalRecord } from "./approval-records.ts";

/** A call that policy lets pass once it is approved. */
export interface AskedCall {
  readonly principal: Principal;
  /** server: the address that was called, and its query apart ("" or "?…"); to: where the call goes. */
  readonly route: {
    readonly key: string;
    readonly name: string;
    readonly server: string;
    readonly query: string;
    readonly to: readonly string[];
  };
  readonly tool: string;
  /** Canonical JSON of what the tool and its server are given, numbers as they were written; see `givenToTool`. */
  readonly given: string;
  readonly approvers: ApprovalNeed["approvers"];
  /** Address of the page on which it is decided, without the id. */
  readonly page: string;
}

export type ApprovalState =
  /** `page`: where somebody decides. */
  | { readonly state: "waiting"; readonly id: string; readonly page: string; readonly expiresAt: number }
  | {
      readonly state: "approved";
      readonly id: string;
      readonly by: string;
      readonly found: StoredRecord<ApprovalRecord>;
    }
  | { readonly state: "refused"; readonly id: string; readonly by: string }
  /** nobody: a machine cannot confirm its own call. too-many: as many wait as may. too-long: nobody could read it. */
  | { readonly state: "nobody" | "too-many" | "too-long" | "unavailable" };

/** What happens to an approval, for metrics. */
export const APPROVAL_EVENTS = ["asked", "approved", "refused", "used"] as const;
export type ApprovalEvent = (typeof APPROVAL_EVENTS)[number];

export interface Approvals {
  /** Where the approval of this call stands; asks for one where there is none. Never throws. */
  ask(call: AskedCall): Promise<ApprovalState>;
  /** Uses it up: true for exactly one of all who try. @throws GatewayError `store.unavailable`: then nobody may go on */
  use(found: StoredRecord<ApprovalRecord>): Promise<boolean>;
  /** The call was answered. Never throws. */
  answered(id: string): Promise<void>;
  /** Returns once it may no longer be waiting, or after `ms`, or when the signal says so. Never throws. */
  wait(id: string, ms: number, signal: AbortSignal): Promise<void>;
  find(id: string): Promise<StoredRecord<ApprovalRecord> | undefined>;
  /** Canonical JSON of what the tool is given. @returns undefined when a key is missing that sealed it */
  given(found: StoredRecord<ApprovalRecord>): string | undefined;
  /** Address of the server, with its query. */
  address(found: StoredRecord<ApprovalRecord>): string;
  /** @returns false when it waits for no decision, or not for this person's */
  decide(id: string, principal: Principal, decision: "approved" | "refused"): Promise<boolean>;
  /** Refused by the user who asks, even once it is approved. Never throws. */
  withdraw(id: string, principal: Principal): Promise<void>;
  /** Those that wait for anybody, of this user's calls; oldest first. */
  listWaiting(userId: string): Promise<readonly StoredRecord<ApprovalRecord>[]>;
  /** The same of all users' calls, in no order; as many as this at most. */
  pageWaiting(limit: number): Promise<readonly StoredRecord<ApprovalRecord>[]>;
}
