/**
 * `owners.<name>.publish_workloads`: workloads that publish for an owner with a token of their platform instead of a
 * secret.
 *
 * Only in the main configuration file, with separate issuers: no publication can change who may publish.
 */
import { type ClaimCriterion, claimTable, compileClaims } from "../sign-in/claim-rules.ts";
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
    doc: "Issuer identifier of the platform, exactly as in `iss`, or `kubernetes:///`.",
    required: true,
    check: issuerProblem,
  }),
  jwks_url: text({
    doc: "URL of the platform's public keys.",
    unset: "discovered",
    check: addressProblem,
  }),
  jwks: text({
    doc: "Public keys as JSON (JWK set), instead of `jwks_url` and discovery.",
    unset: "none",
    check: keysProblem,
  }),
  audience: text({
    doc: "The only audience (`aud`) of the token. Use a name only for publishing to this gateway.",
    required: true,
    check: (value) => (value === "" || value.length > 2048 ? "is empty or too long, must be an audience" : undefined),
  }),
  claims: claimTable({
    doc: "Required claims of the token, as in `workload_rules`.",
    required: true,
  }),
};

export const publishWorkloadsShape = labelled(shape, {
  doc: "Jobs that exchange the token of their platform (GitHub Actions, GitLab, Kubernetes …) for a short-lived publish token, by any name.",
  unset: "none",
});

type WorkloadsDoc = Readonly<Record<string, ShapeDoc<typeof shape>>>;
type OwnersDoc = Readonly<Record<string, { readonly publish_workloads?: WorkloadsDoc }>>;

/** A workload, compiled for the admin listener. */
export interface PublishWorkload {
  /** Entry in `owners`. */
  readonly entry: string;
  readonly name: string;
  /** Digest of the entry: tokens issued under another digest are invalid. */
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
