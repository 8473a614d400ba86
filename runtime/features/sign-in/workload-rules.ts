/**
 * `workload_rules` of a trusted issuer: which of a platform's jobs, pods and hosts get access, to which resources, with
 * which groups.
 */
import { errorAt, quote, type UnplacedProblem, type ValuePath } from "../../settings/problem.ts";
import { labelled } from "../../settings/types/block.ts";
import {
  agentRuns,
  type AgentRuns,
  agentRunsProblems,
  canonicalRuns,
  compileAgentRuns,
  groupProblem,
} from "./agent-runs.ts";
import { quotedProblem, readable } from "../../settings/types/checks.ts";
import { textList } from "../../settings/types/list.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { overTlsOrLoopback, parseHttpUrl } from "../../settings/values.ts";
import { hashSecret } from "../../shared/keys.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import { claimProblems } from "./claim-problems.ts";
import { type ClaimCriterion, claimTable, compileClaims } from "./claim-rules.ts";

const shape = {
  claims: claimTable({
    doc: "Required claims of the token: name, or JSON Pointer to a nested claim, to values. Every claim must have one of its values.",
    required: true,
  }),
  resources: textList({
    doc: "URLs of MCP servers as clients use them; for routes with `bearer_token_format: jwt`, the origin, or origin and prefix.",
    required: true,
    check: resourceProblem,
  }),
  groups: textList({
    doc: "Groups of its workloads, for policies.",
    unset: "none",
    check: groupProblem,
  }),
  agent_runs: agentRuns,
};

export const workloadRules = labelled(shape, {
  doc: "Workloads to accept, by rule name. All matching rules apply.",
  unset: "required with `workload`",
  checkName: (name) =>
    /^[a-z0-9][a-z0-9._-]{0,62}$/i.test(name)
      ? undefined
      : `is ${quote(name)}, must be 1 to 63 letters, digits, dots, dashes and underscores, a letter or digit first`,
});

type RuleDoc = ShapeDoc<typeof shape>;
export type WorkloadRulesDoc = Readonly<Record<string, RuleDoc>>;

/** A rule, compiled for requests. */
export interface WorkloadRule {
  readonly name: string;
  /** Digest of the rule: tokens issued under another digest are invalid. */
  readonly digest: string;
  readonly claims: readonly ClaimCriterion[];
  /** Addresses without a trailing slash. */
  readonly resources: readonly string[];
  readonly groups: readonly string[];
  /** Undefined: its workloads cannot request agent runs. */
  readonly agentRuns: AgentRuns | undefined;
}

export function compileWorkloadRules(rules: WorkloadRulesDoc | undefined): readonly WorkloadRule[] {
  return Object.entries(rules ?? {}).map(([name, rule]) => ({
    name,
    digest: hashSecret(JSON.stringify(canonical(rule))).slice(0, 22),
    claims: compileClaims(rule.claims),
    resources: rule.resources.map((resource) => trimSlash(new URL(resource).href)),
    groups: rule.groups ?? [],
    agentRuns: rule.agent_runs && compileAgentRuns(rule.agent_runs, rule.claims),
  }));
}

/** The order of names does not matter: Terraform sorts them, files do not. */
function canonical(rule: RuleDoc): readonly unknown[] {
  const claims = Object.entries(rule.claims).toSorted(([a], [b]) => (a < b ? -1 : 1));
  // `null`: a removed setting. Without it the digests would change, and an update would invalidate issued tokens.
  return [claims, rule.resources, rule.groups ?? [], null, ...(rule.agent_runs ? canonicalRuns(rule.agent_runs) : [])];
}

/** @param at path of the entry in `identity_issuers` */
export function* workloadRuleProblems(
  at: ValuePath,
  issuer: string,
  rules: WorkloadRulesDoc | undefined,
): Iterable<UnplacedProblem> {
  for (const [name, { claims, resources, agent_runs: runs }] of Object.entries(rules ?? {})) {
    const rule = [...at, "workload_rules", name];
    if (resources.length === 0) yield errorAt([...rule, "resources"], "is an empty list, must name one at least");
    yield* claimProblems([...rule, "claims"], issuer, claims);
    if (runs) yield* agentRunsProblems([...rule, "agent_runs"], runs);
  }
}

function resourceProblem(value: string): string | undefined {
  const problem = readable((text) => overTlsOrLoopback(parseHttpUrl(text)))(value);
  if (problem !== undefined) return problem;
  return value.includes("?") ? quotedProblem(value, "must be without a query") : undefined;
}
