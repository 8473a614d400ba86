/**
 * What can be had once is had once.
 *
 * What counts as redeeming: of an authorization code and of an assertion (`jti`) each answer 200. Of a refresh token each new
 * refresh token: the same answer again, within 30 s of the first, is what clients are promised that sent it twice or did not
 * hear the answer (operations/high-availability.md), and no redemption. Of an approval each call of the approved tool that reaches the
 * upstream. An operation without an answer counts as none, for it cannot be told from one that did not happen.
 */
import type { FaultSpan, Operation } from "../history/history.ts";
import { groupBy, isDone, mayBeDone, operationsOf, type Check, type Evidence, type Violation } from "./evidence.ts";

/** The same answer to the same refresh token is given for this long; records know whole seconds. */
const SAME_ANSWER_MS = 30_000 + 2_000;

type Redeem = Operation<"redeem">;

export const REDEEMED_ONCE: Check = {
  name: "redeemed-once",
  promise: "no code, refresh token, assertion or approval is redeemed twice",
  find: (evidence) => [...redeemedTwice(evidence), ...calledWithoutApproval(evidence)],
};

function redeemedTwice(evidence: Evidence): readonly Violation[] {
  const redeems = operationsOf(evidence, "redeem").filter(({ facts }) => facts.what !== "approval");
  const byValue = groupBy(redeems.filter(isDone), ({ facts }) => `${facts.what} ${facts.value}`);
  return [...byValue].flatMap(([name, done]) => {
    const violations: Violation[] = [];
    const operations = done.map(({ id }) => id);
    const isRefresh = name.startsWith("refresh-token ");
    const times = isRefresh ? new Set(done.map(({ facts }) => facts.made)).size : done.length;
    if (times > 1) violations.push({ text: `${name} was redeemed ${times} times`, operations });
    const late = isRefresh ? done.filter((each) => isLate(evidence.faults, done, each)) : [];
    if (late.length > 0) {
      violations.push({ text: `${name} was answered more than 30 s after its first answer`, operations });
    }
    return violations;
  });
}

/** A process that stands still may answer later, and the 30 s begin then (operations/high-availability.md). */
function isLate(faults: readonly FaultSpan[], done: readonly Redeem[], one: Redeem): boolean {
  const first = Math.min(...done.map(({ ended }) => ended));
  if (one.began <= first + SAME_ANSWER_MS) return false;
  return !faults.some(
    ({ disturbs, began, ended }) =>
      (disturbs.includes("stopped") || disturbs.includes("clock")) &&
      began <= one.ended &&
      ended >= first - SAME_ANSWER_MS,
  );
}

function calledWithoutApproval(evidence: Evidence): readonly Violation[] {
  const approvals = groupBy(operationsOf(evidence, "approve").filter(mayBeDone), ({ facts }) => facts.key);
  return [...groupBy(evidence.calls, ({ key }) => key)]
    .filter(([key, calls]) => calls.length > (approvals.get(key)?.length ?? 0))
    .map(([key, calls]) => ({
      text: `the call ${key} was made ${calls.length} times, with ${approvals.get(key)?.length ?? 0} approvals`,
      operations: (approvals.get(key) ?? []).map(({ id }) => id),
    }));
}
