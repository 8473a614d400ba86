/** What is wrong with one Ingress, and how people are told. */
import { ANNOTATION_PREFIX } from "../../config/surfaces/annotations.ts";

export interface IngressProblem {
  readonly severity: "error" | "warning";
  readonly namespace: string;
  readonly name: string;
  /** Name of the annotation concerned, without prefix. */
  readonly annotation?: string;
  /** Place in the object when it is no annotation: "spec.rules[0].http.paths[1].path". */
  readonly path?: string;
  /** State, then what is expected, as for configuration files. Never holds a secret. */
  readonly message: string;
  /** The gateway refuses the certificate for this host ("*": all of them), and nothing else. */
  readonly certificateOf?: string;
}

/** A problem before it is known whose it is. */
export type DraftProblem = Omit<IngressProblem, "namespace" | "name">;

export function ingressError(place: Pick<DraftProblem, "annotation" | "path">, message: string): DraftProblem {
  return { severity: "error", ...place, message };
}

export function ingressWarning(place: Pick<DraftProblem, "annotation" | "path">, message: string): DraftProblem {
  return { severity: "warning", ...place, message };
}

/** `Ingress shop/web: error: annotation "ingress.gateway.io/timeout" is "30", must be …`. */
export function formatIngressProblem(problem: IngressProblem): string {
  return `Ingress ${problem.namespace}/${problem.name}: ${problem.severity}: ${problemText(problem)}`;
}

/** Without the object's name and the severity: the message of an Event, which has both. */
export function problemText({ annotation, path, message }: DraftProblem): string {
  if (annotation !== undefined) return `annotation "${ANNOTATION_PREFIX}${annotation}" ${message}`;
  return path === undefined ? message : `"${path}" ${message}`;
}
