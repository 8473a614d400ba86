/**
 * Temporary Ingresses of cert-manager, which prove control of a host to an authority (ACME HTTP-01).
 *
 * They have none of our annotations, so all their requests would be denied. Untrusted input: anyone who may write Ingresses
 * may write the label. Promise: the label only makes one exact path below `/.well-known/acme-challenge/` public; nothing else
 * of the Ingress has any effect. translate.ts decides which namespace has the host.
 *
 * @see RFC 8555 §8.3
 */
import { ANNOTATION_PREFIX } from "../../config/surfaces/annotations.ts";
import { quote } from "../../settings/problem.ts";
import type { Ingress } from "./objects.ts";
import { type DraftProblem, ingressError } from "./ingress-problem.ts";
import type { IngressPlace } from "./ingress-rules.ts";

const SOLVER_LABEL = "acme.cert-manager.io/http01-solver";
/** The token is base64url. */
const CHALLENGE_PATH = /^\/\.well-known\/acme-challenge\/[A-Za-z0-9_-]+$/;

/** Public, since the authority sends no credentials; the solver gets no identity of callers. */
export const SOLVER_SETTINGS: Readonly<Record<string, unknown>> = {
  allow_public_unauthenticated_access: true,
  pass_identity_headers: false,
};

export type SolverReading =
  | { readonly ok: true; readonly place: IngressPlace }
  | { readonly ok: false; readonly problem: DraftProblem };

/** @returns undefined for an ordinary Ingress: one with our annotations is ordinary, whatever its label */
export function readSolver({ metadata, spec }: Ingress): SolverReading | undefined {
  if (metadata.labels?.[SOLVER_LABEL] !== "true") return undefined;
  if (Object.keys(metadata.annotations ?? {}).some((key) => key.startsWith(ANNOTATION_PREFIX))) return undefined;
  const [rule, ...otherRules] = spec?.rules ?? [];
  const [path, ...otherPaths] = rule?.http?.paths ?? [];
  const host = rule?.host ?? "";
  const at = "spec.rules[0].http.paths[0]";
  const isOne = otherRules.length === 0 && otherPaths.length === 0 && spec?.defaultBackend === undefined;
  if (!path || !isOne) return refuse("spec", `is labelled ${SOLVER_LABEL}, must have one rule with one path`);
  if (host === "" || host.includes("*")) return refuse("spec.rules[0].host", `is ${quote(host)}, must be one host`);
  if (!CHALLENGE_PATH.test(path.path ?? "")) {
    const expected = "must be /.well-known/acme-challenge/ and a token, which alone is public";
    return refuse(`${at}.path`, `is ${quote(path.path ?? "")}, ${expected}`);
  }
  return {
    ok: true,
    place: {
      host,
      hostPath: "spec.rules[0].host",
      // Whatever `pathType` says: solvers use several.
      match: { kind: "exact", path: path.path ?? "" },
      matchPath: `${at}.path`,
      backend: path.backend,
      backendPath: `${at}.backend`,
    },
  };
}

function refuse(path: string, message: string): SolverReading {
  return { ok: false, problem: ingressError({ path }, message) };
}
