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
import type { Workload } from "../../../issuers/workload-token.ts";
import type { FailureLimit } from "../../../shared/rate-limit.ts";
import { pass, refuseBlocked, type StepResult } from "../answer.ts";
import { findIssuer, findServer, type Issuer, workloadIssuers } from "../find-issuer.ts";
import { badAssertion } from "../grants/id-jag-claims.ts";
import { type Presented, verifyPresented } from "../grants/platform-token.ts";
import { RUNS_PATH, TOKEN_PATH } from "../metadata.ts";
import { pointerOf } from "./runs.ts";

export interface AttestDeps {
  readonly issuerKeys: IssuerKeys;
  readonly failedProofs: FailureLimit;
  readonly blocks?: Pick<Blocks, "find"> | undefined;
}

export type RunsRule = WorkloadRule & { readonly agentRuns: AgentRuns };

export interface Attested extends Pick<Workload, "entry" | "userId" | "expiresAt" | "hash"> {
  readonly rule: RunsRule;
  readonly assertedBy: AssertedBy;
  readonly claims: ActorClaims;
  /** Identity of its run. */
  readonly pointer: string;
}

export async function attest(deps: AttestDeps, presented: Presented, token: string): Promise<StepResult<Attested>> {
  const verified = await verifyPresented(deps, presented, [TOKEN_PATH, RUNS_PATH], token);
  if (!verified.ok) return verified;

  // With several rules, their order would decide which claims identify the run.
  const { entry, userId, expiresAt, hash } = verified.value;
  const [rule, ...others] = verified.value.rules.filter(isRunsRule);
  if (rule === undefined || others.length > 0)
    return badAssertion(`matches ${rule ? "several rules" : "no rule"} of ${entry.name} with agent_runs`, "workload");
  const read = readRunClaims(rule.agentRuns, verified.value.claims);
  if (!read.ok) return badAssertion(read.problem, "workload");
  const block = deps.blocks?.find({ user: { id: userId, email: "" }, clientId: userId });
  if (block) return refuseBlocked(block);

  const assertedBy = asserter(entry, presented.issuer.origin, [rule]);
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
