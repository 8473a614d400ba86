/**
 * Rules that ask for an approval: `approve` beside `allow` and `deny`.
 *
 * Deny wins over approve, and approve over allow: what is asked for is a call that policy lets pass otherwise, and no rule
 * of this kind ever lets anything pass by itself. They are about `tools/call` alone and false for every other request, so
 * they hide nothing from lists. Promises: what cannot be told asks for an approval; a decision that asks for one has
 * `allowed` false, so that whoever does not know of approvals refuses.
 */
import { lowerAscii } from "../../shared/ascii.ts";
import type { ApprovalNeed, Decision, Facts, UserFacts } from "../facts.ts";
import { hasElement } from "../match.ts";
import { FALSE, outcomeOf } from "../packed-outcome.ts";
import { findRule, type PolicyTree } from "../tree.ts";

/** The reason while nobody has approved. */
export const APPROVAL_REQUIRED = "approval-required";
/** The reason, beside those of the policy, once somebody has. */
export const APPROVED = "approved";

/**
 * @param decision what allow and deny rules say
 * @returns the same, or one that asks for an approval
 */
export function askApproval({ approve }: PolicyTree, facts: Facts, decision: Decision): Decision {
  if (approve.length === 0 || !decision.allowed || facts.mcp?.method !== "tools/call") return decision;
  const asking = approve.filter((rule) => outcomeOf(findRule(rule, facts)) !== FALSE);
  if (asking.length === 0) return decision;
  const lists = asking.flatMap(({ approvers }) => (approvers === undefined ? [] : [JSON.stringify(approvers)]));
  const approvers = [...new Set(lists)].sort().map((text) => JSON.parse(text) as readonly string[]);
  const approved = { ...decision, allowWhyTrue: [...decision.allowWhyTrue, APPROVED].sort() };
  const { denyWhyTrue, denyWhyFalse } = decision;
  const approval: ApprovalNeed = { approvers, approved };
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

/** Whether two decisions lead to the same answer. */
export function isAlike(one: Decision, other: Decision): boolean {
  return (
    one.allowed === other.allowed &&
    (one.approval === undefined) === (other.approval === undefined) &&
    areAlike(one.approval?.approvers, other.approval?.approvers)
  );
}

type Approvers = ApprovalNeed["approvers"] | undefined;

/** Whether the same people approve. */
export function areAlike(one: Approvers, other: Approvers): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Whether this user may approve what that one asks for. Somebody whose groups nobody told is in none; who has the address of
 * the one who asks is taken for the same person, whichever provider says so.
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
