/** Tables of claims that match more than their author intends. */
import { errorAt, type UnplacedProblem, type ValuePath, warningAt } from "../../settings/problem.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import { type ClaimTable, isPinnedBy, pinsNothing } from "./claim-rules.ts";

/** @param at path of the table @param issuer issuer of the tokens that it selects */
export function* claimProblems(at: ValuePath, issuer: string, claims: ClaimTable): Iterable<UnplacedProblem> {
  for (const [claim, values] of Object.entries(claims)) {
    if (values.length === 0) yield errorAt([...at, claim], "is an empty list, must name one at least");
  }
  if (pinsNothing(claims))
    yield errorAt([...at], "fits every token of the issuer, must name a claim that tells workloads apart");
  else yield* publicIssuerProblems(at, issuer, claims);
}

/**
 * Platforms with one issuer for all customers, and the claims that identify the customer. For each, the segment of its
 * value up to which it must be literal (`repo:acme/…`: the second).
 */
const PUBLIC_ISSUERS: ReadonlyMap<string, Readonly<Record<string, number>>> = new Map([
  [
    "https://token.actions.githubusercontent.com",
    {
      repository_id: 0,
      repository_owner_id: 0,
      repository: 0,
      repository_owner: 0,
      enterprise: 0,
      enterprise_id: 0,
      job_workflow_ref: 0,
      sub: 1,
    },
  ],
  [
    "https://gitlab.com",
    { project_id: 0, namespace_id: 0, project_path: 0, namespace_path: 0, ci_config_ref_uri: 1, sub: 1 },
  ],
  ["https://accounts.google.com", { sub: 0, email: 0, hd: 0, "/google/compute_engine/project_id": 0 }],
  [
    "https://app.terraform.io",
    { terraform_organization_id: 0, terraform_organization_name: 0, terraform_workspace_id: 0, sub: 1 },
  ],
  ["https://agent.buildkite.com", { organization_id: 0, organization_slug: 0, pipeline_id: 0, sub: 1 }],
]);

function* publicIssuerProblems(at: ValuePath, issuer: string, claims: ClaimTable): Iterable<UnplacedProblem> {
  const pins = PUBLIC_ISSUERS.get(trimSlash(issuer));
  if (!pins || Object.entries(pins).some(([name, segment]) => isPinnedBy(claims[name], segment))) return;
  const names = Object.keys(pins).join(", ");
  yield warningAt(
    [...at],
    `does not identify a workload of yours: this issuer signs for all customers of its platform, must contain one of ${names}`,
  );
}
