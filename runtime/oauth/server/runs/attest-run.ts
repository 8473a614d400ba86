/**
 * The workload that presents a platform's token for an agent run: its rule, and the identity of its run.
 *
 * Untrusted input: the token, until its issuer's signature is verified. Promise: the run is found by attested claims
 * only. A token without them, or of a workload that no single rule allows to request runs, is rejected.
 */
import type { ActorClaims, AgentRuns } from "../../../features/sign-in/agent-runs.ts";
import { readRunClaims } from "../../../features/sign-in/agent-runs.ts";
import type { WorkloadRule } from "../../../features/sign-in/workload-rules.ts";
import type { Snapshot } from "../../../config/snapshot.ts";
import type { Blocks } from "../../../identity/blocks.ts";
import type { AssertedBy } from "../../../identity/principal.ts";
import { asserter } from "../../../identity/users/asserted.ts";
import type { IssuerKeys } from "../../../issuers/issuer-keys.ts";
import { verifyWorkload, type Workload } from "../../../issuers/workload-token.ts";
import { type FailureLimit, networkOf } from "../../../shared/rate-limit.ts";
import { pass, refuse, refuseBlocked, tooMany, type StepResult } from "../answer.ts";
import { findIssuer, findServer, type Issuer, workloadIssuers } from "../find-issuer.ts";
import { badAssertion } from "../grants/id-jag-claims.ts";
import { RUNS_PATH, TOKEN_PATH } from "../metadata.ts";
import { pointerOf } from "./runs.ts";

export interface AttestDeps {
  readonly issuerKeys: IssuerKeys;
  readonly failedProofs: FailureLimit;
  readonly blocks?: Pick<Blocks, "find"> | undefined;
}

export interface Presented {
  readonly snapshot: Snapshot;
  readonly issuer: Issuer;
  readonly peer: string;
  /** Epoch seconds. */
  readonly now: number;
}

export type RunsRule = WorkloadRule & { readonly agentRuns: AgentRuns };

export interface Attested extends Pick<Workload, "entry" | "userId" | "expiresAt" | "hash"> {
  readonly rule: RunsRule;
  readonly assertedBy: AssertedBy;
  readonly claims: ActorClaims;
  /** Identity of its run. */
  readonly pointer: string;
}

export async function attest(
  { issuerKeys, failedProofs, blocks }: AttestDeps,
  { snapshot, issuer, peer, now }: Presented,
  token: string,
): Promise<StepResult<Attested>> {
  // Invalid tokens count against the peer, since verifying costs more than sending.
  const sender = `${networkOf(peer)} workload`;
  const waitSeconds = failedProofs.take(sender);
  if (waitSeconds > 0) return tooMany(waitSeconds, "too many invalid assertions from one peer");
  const { origin } = issuer;
  const audiences = [origin, `${origin}/`, origin + TOKEN_PATH, origin + RUNS_PATH];
  const place = { entries: workloadIssuers(snapshot, issuer), audiences, now };
  const verified = await verifyWorkload(issuerKeys, place, token);
  if (verified.ok || verified.reason !== "bad") failedProofs.giveBack(sender);
  if (!verified.ok)
    return verified.reason === "bad"
      ? badAssertion(verified.detail, "workload")
      : refuse("temporarily_unavailable", "Please try again later", `workload: ${verified.detail}`);

  // With several rules, their order would decide which claims identify the run.
  const { entry, userId, expiresAt, hash } = verified.workload;
  const [rule, ...others] = verified.workload.rules.filter(isRunsRule);
  if (rule === undefined || others.length > 0)
    return badAssertion(`matches ${rule ? "several rules" : "no rule"} of ${entry.name} with agent_runs`, "workload");
  const read = readRunClaims(rule.agentRuns, verified.workload.claims);
  if (!read.ok) return badAssertion(read.problem, "workload");
  const block = blocks?.find({ user: { id: userId, email: "" }, clientId: userId });
  if (block) return refuseBlocked(block);

  const assertedBy = asserter(entry, origin, [rule]);
  const pointer = pointerOf(assertedBy, userId, read.key);
  return pass({ entry, userId, expiresAt, hash, rule, assertedBy, claims: read.claims, pointer });
}

function isRunsRule(rule: WorkloadRule): rule is RunsRule {
  return rule.agentRuns !== undefined;
}

/**
 * The MCP server of an address, on any host, that the rule opens and whose host trusts the workload's issuer.
 *
 * @returns its issuer and resource; undefined if there is none
 */
export function findOpened(
  snapshot: Snapshot,
  { entry, rule }: Pick<Attested, "entry" | "rule">,
  address: string,
): { readonly issuer: Issuer; readonly audience: string } | undefined {
  const issuer = URL.canParse(address) ? findIssuer(snapshot, new URL(address).host) : undefined;
  const audience = issuer && findServer(issuer, address);
  if (!issuer || audience === undefined || !workloadIssuers(snapshot, issuer).includes(entry)) return undefined;
  return rule.resources.some((resource) => findServer(issuer, resource) === audience)
    ? { issuer, audience }
    : undefined;
}
