import type { ApprovalState } from "../../approvals/interfaces.ts";
import type { ApprovalNeed } from "../../policy/facts.ts";

/** What a call needs, and where that stands. */
export interface CallApproval {
  readonly need: ApprovalNeed;
  readonly state: ApprovalState;
}
