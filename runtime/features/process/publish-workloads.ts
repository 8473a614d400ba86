/**
 * `owners.<name>.publish_workloads`: jobs that publish for an owner with the token of their platform in place of a secret.
 *
 * Of the boot file alone, with issuers of its own: who may publish is not said by anything that can be published.
 */
import { type ClaimCriterion, CLAIMS_DOC, claimTable, compileClaims } from "../sign-in/claim-rules.ts";
import {
  addressProblem,
  type IssuerKeySource,
  issuerProblem,
  keySource,
  keysTogetherProblem,
  keysProblem,
} from "../sign-in/issuer-checks.ts";
import { claimProblems } from "../sign-in/claim-problems.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { labelled } from "../../settings/types/block.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { text } from "../../settings/types/scalar.ts";
import { hashSecret } from "../../shared/keys.ts";
import { SIGNING_ALGORITHMS } from "../../shared/key-set.ts";

const shape = {
  issuer: text({
    doc: "Issuer identifier of the platform, exactly as `iss` has it, or `kubernetes:///`, as in `identity_issuers`.",
    required: true,
    check: issuerProblem,
  }),
  jwks_url: text({
    doc: "Address of its keys, instead of discovery.",
    unset: "discovery",
    check: addressProblem,
  }),
  jwks: text({
    doc: "Its public keys as JSON (a JWK set), instead of reading them anywhere.",
    unset: "keys are read",
    check: keysProblem,
  }),
  audience: text({
    doc: "What its token must name in `aud`, and nothing beside: a name that is used for publishing to this gateway alone.",
    required: true,
    check: (value) => (value === "" || value.length > 2048 ? "is empty or too long, must be an audience" : undefined),
  }),
  claims: claimTable({
    doc: `Claims that the token must have. ${CLAIMS_DOC}`,
    required: true,
  }),
};

export const publishWorkloadsShape = labelled(shape, {
  doc: "Jobs that get publish tokens for minutes for this owner, by names of your choice: at `POST /publish-tokens` they present the token of their platform (GitHub Actions, GitLab, Kubernetes …), so that no pipeline holds a secret. That token opens nothing else there.",
  unset: "none",
});

type WorkloadsDoc = Readonly<Record<string, ShapeDoc<typeof shape>>>;
type OwnersDoc = Readonly<Record<string, { readonly publish_workloads?: WorkloadsDoc }>>;

/** A job as the admin listener reads it. */
export interface PublishWorkload {
  /** Of `owners`. */
  readonly entry: string;
  readonly name: string;
  /** Of all that it says: what was minted under something else is over. */
  readonly digest: string;
  readonly issuer: string;
  readonly keys: IssuerKeySource;
  readonly algorithms: readonly string[];
  readonly audience: string;
  readonly claims: readonly ClaimCriterion[];
}

export function* publishWorkloadProblems(owners: OwnersDoc | undefined): Iterable<UnplacedProblem> {
  for (const [entry, { publish_workloads: workloads = {} }] of Object.entries(owners ?? {})) {
    for (const [name, workload] of Object.entries(workloads)) {
      const at = ["owners", entry, "publish_workloads", name];
      const together = keysTogetherProblem(workload);
      if (together) yield errorAt([...at, together[0]], together[1]);
      yield* claimProblems([...at, "claims"], workload.issuer, workload.claims);
    }
  }
}

export function compilePublishWorkloads(owners: OwnersDoc | undefined): readonly PublishWorkload[] {
  return Object.entries(owners ?? {}).flatMap(([entry, { publish_workloads: workloads = {} }]) =>
    Object.entries(workloads).map(([name, written]) => ({
      entry,
      name,
      digest: hashSecret(JSON.stringify([entry, name, written])),
      issuer: written.issuer,
      keys: keySource(written),
      algorithms: SIGNING_ALGORITHMS,
      audience: written.audience,
      claims: compileClaims(written.claims),
    })),
  );
}
