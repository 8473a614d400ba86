/** Checks whether an open response would be allowed by the active configuration and the current facts about its user. */
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import { reaches } from "../../identity/application-reach.ts";
import { isStillTrusted } from "../../identity/users/asserted.ts";
import type { Principal } from "../../identity/principal.ts";
import { evaluate } from "../../policy/evaluate.ts";
import type { ApprovalNeed, Facts } from "../../policy/facts.ts";
import { areAlike } from "../../policy/mcp/approval.ts";
import { reportFault } from "../../shared/faults/faults.ts";

interface Allowed {
  readonly routeKey: string;
  readonly facts: Facts | undefined;
  readonly principal: Principal | undefined;
  readonly approvers?: ApprovalNeed["approvers"] | undefined;
  /** Keys of a federated route and of its member that serves the request. */
  readonly membership?: Membership | undefined;
}

export interface Membership {
  readonly federated: string;
  readonly member: string;
}

export function isStillAllowed(stream: Allowed, next: Snapshot): boolean {
  const route = findRoute(next, stream.routeKey);
  if (!route || !stream.facts) return false;
  if (route.mcp !== undefined && !next.settings.mcpEnabled) return false;
  if (stream.membership && !isMember(stream.membership, next)) return false;
  if (stream.principal && !isStillTrusted(next.settings, stream.principal)) return false;
  const { allowed, approval } = evaluate(route.policy, stream.facts);
  // An approved call continues as long as its approvers stay the same.
  return allowed || (approval !== undefined && areAlike(approval.approvers, stream.approvers));
}

/** Whether a federated route still has a member. */
export function isMember({ federated, member }: Membership, snapshot: Snapshot): boolean {
  const [route, server] = [findRoute(snapshot, federated), findRoute(snapshot, member)];
  if (route?.mcp?.kind !== "server" || server === undefined) return false;
  return [...(route.mcp.members?.values() ?? [])].includes(member) && reaches(route, server);
}

/** Denies a response whose decision fails, so that the other responses are still checked. */
export function isAllowedSafely(isAllowed: () => boolean): boolean {
  try {
    return isAllowed();
  } catch (error) {
    reportFault({ scope: "request", what: "new policy decision for an open stream", error });
    return false;
  }
}

export function factsAbout({ user, devices }: Principal, { devices: _earlier, ...facts }: Facts): Facts {
  return { ...facts, user, ...(devices && facts.mcp === undefined ? { devices } : {}) };
}
