/** Whether an answer that is open would be allowed by the configuration of now, and by what is known of its user by now. */
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import { isStillVouchedFor } from "../../identity/users/asserted.ts";
import type { Principal } from "../../identity/principal.ts";
import { evaluate } from "../../policy/evaluate.ts";
import type { ApprovalNeed, Facts } from "../../policy/facts.ts";
import { areAlike } from "../../policy/mcp/approval.ts";
import { tellFault } from "../../shared/faults/faults.ts";

interface Allowed {
  readonly routeKey: string;
  readonly facts: Facts | undefined;
  readonly principal: Principal | undefined;
  readonly approvers?: ApprovalNeed["approvers"] | undefined;
}

export function isStillAllowed(stream: Allowed, next: Snapshot): boolean {
  const route = findRoute(next, stream.routeKey);
  if (!route || !stream.facts) return false;
  if (route.mcp !== undefined && !next.settings.mcpEnabled) return false;
  if (stream.principal && !isStillVouchedFor(next.settings, stream.principal)) return false;
  const { allowed, approval } = evaluate(route.policy, stream.facts);
  // Approved once it goes on, as long as nobody else would have to approve it now.
  return allowed || (approval !== undefined && areAlike(approval.approvers, stream.approvers));
}

/** Of a stream about which nothing can be said the right has ended; the others are asked about. */
export function maySay(isAllowed: () => boolean): boolean {
  try {
    return isAllowed();
  } catch (error) {
    tellFault({ scope: "request", what: "the second decision about an open stream", error });
    return false;
  }
}

export function factsAbout({ user, devices }: Principal, { devices: _earlier, ...facts }: Facts): Facts {
  return { ...facts, user, ...(devices && facts.mcp === undefined ? { devices } : {}) };
}
