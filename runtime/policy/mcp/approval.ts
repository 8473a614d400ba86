/**
 * Rules that require an approval: `approve` in addition to `allow` and `deny`.
 *
 * Deny wins over approve, approve over allow. Approve rules concern only calls that policy otherwise allows; they never
 * allow a call. They apply only to `tools/call` and are false for every other request, so they hide nothing from lists.
 * Promises: an unknown outcome requires an approval. A decision that requires one has `allowed` false, so that code
 * without knowledge of approvals denies.
 */
import { lowerAscii } from "../../shared/ascii.ts";
import type { ApprovalNeed, Decision, Facts, UserFacts } from "../facts.ts";
import { hasElement } from "../match.ts";
import { FALSE, outcomeOf } from "../packed-outcome.ts";
import { findRule, type PolicyTree } from "../tree.ts";

/** Reason while an approval is missing. */
export const APPROVAL_REQUIRED = "approval-required";
/** Reason after approval, in addition to those of the policy. */
export const APPROVED = "approved";

/**
 * @param decision result of the allow and deny rules
 * @returns the same decision, or one that requires an approval
 */
export function askApproval({ approve }: PolicyTree, facts: Facts, decision: Decision): Decision {
  if (approve.length === 0 || !decision.allowed || facts.mcp?.method !== "tools/call") return decision;
  const asking = approve.filter((rule) => outcomeOf(findRule(rule, facts)) !== FALSE);
  if (asking.length === 0) return decision;
  const { denyWhyTrue, denyWhyFalse } = decision;
  const approval = needApproval(decision, asking);
  return {
    allowed: false,
    denied: false,
    allowWhyTrue: [],
    allowWhyFalse: [APPROVAL_REQUIRED],
    denyWhyTrue,
    denyWhyFalse,
    approval,
  };
}

/** The approval that these rules require, in addition to one that the decision already requires. */
export function needApproval(
  decision: Decision,
  asking: readonly { readonly approvers?: readonly string[] | undefined }[],
): ApprovalNeed {
  const { approvers: earlier = [], approved } = decision.approval ?? {};
  const lists = [...earlier, ...asking.flatMap(({ approvers }) => (approvers === undefined ? [] : [approvers]))];
  const texts = new Set(lists.map((list) => JSON.stringify(list)));
  return {
    approvers: [...texts].sort().map((text) => JSON.parse(text) as readonly string[]),
    approved: approved ?? { ...decision, allowWhyTrue: [...decision.allowWhyTrue, APPROVED].sort() },
  };
}

/** Whether two decisions lead to the same response. */
export function isAlike(one: Decision, other: Decision): boolean {
  return (
    one.allowed === other.allowed &&
    (one.approval === undefined) === (other.approval === undefined) &&
    areAlike(one.approval?.approvers, other.approval?.approvers)
  );
}

type Approvers = ApprovalNeed["approvers"] | undefined;

/** Whether the same users approve. */
export function areAlike(one: Approvers, other: Approvers): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Whether this user may approve the asker's call. A user with unknown groups is in none. Users with the asker's email
 * address count as the same user, whichever provider they use.
 *
 * @param approvers see `ApprovalNeed`
 */
export function mayApprove(
  approvers: ApprovalNeed["approvers"],
  asker: Pick<UserFacts, "id" | "email">,
  { id, email, groups, leftOut }: Pick<UserFacts, "id" | "email" | "groups" | "leftOut">,
): boolean {
  if (approvers.length === 0) return id === asker.id;
  const isSame = id === asker.id || (email !== "" && lowerAscii(email) === lowerAscii(asker.email));
  if (isSame || leftOut?.groups === true) return false;
  return approvers.every((list) => list.some((group) => hasElement(groups, group)));
}
