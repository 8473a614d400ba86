/** Problems of one Ingress, and their text for users. */
import { ANNOTATION_PREFIX } from "../../config/surfaces/annotations.ts";

export interface IngressProblem {
  readonly severity: "error" | "warning";
  readonly namespace: string;
  readonly name: string;
  /** Name of the annotation concerned, without prefix. */
  readonly annotation?: string;
  /** Location in the object, if not an annotation: "spec.rules[0].http.paths[1].path". */
  readonly path?: string;
  /** State, then what is expected, as in problems of configuration files. Never contains a secret. */
  readonly message: string;
  /** GatewayRoutePolicy ("namespace/name") that has the annotation as a setting. */
  readonly policy?: string;
  /** Reason of the status of a route, if not "UnsupportedValue". */
  readonly reason?: string;
  /** Only the certificate for this host ("*": all of them) is rejected by the gateway. */
  readonly certificateOf?: string;
}

/** A problem that is not assigned to an Ingress yet. */
export type DraftProblem = Omit<IngressProblem, "namespace" | "name">;

export function ingressError(place: Pick<DraftProblem, "annotation" | "path">, message: string): DraftProblem {
  return { severity: "error", ...place, message };
}

export function ingressWarning(place: Pick<DraftProblem, "annotation" | "path">, message: string): DraftProblem {
  return { severity: "warning", ...place, message };
}

/** True for the key of a route of the Gateway API. */
export function isRouteKey(key: string): boolean {
  return key.endsWith(")");
}

/** "shop/web" → "Ingress shop/web", "shop/web (HTTPRoute)" → "HTTPRoute shop/web". */
export function objectLabel(key: string): string {
  const [, name = key, kind = "Ingress"] = /^(.+) \((\w+)\)$/.exec(key) ?? [];
  return `${kind} ${name}`;
}

/** `Ingress shop/web: error: annotation "ingress.gateway.io/timeout" is "30", must be …`. */
export function formatIngressProblem(problem: IngressProblem): string {
  return `${objectLabel(`${problem.namespace}/${problem.name}`)}: ${problem.severity}: ${problemText(problem)}`;
}

/** Without the object's name and the severity, which an Event has as fields. */
export function problemText({ annotation, path, message, policy }: DraftProblem): string {
  if (annotation !== undefined && policy !== undefined)
    return `setting "${annotation}" of GatewayRoutePolicy ${policy} ${message}`;
  if (annotation !== undefined) return `annotation "${ANNOTATION_PREFIX}${annotation}" ${message}`;
  return path === undefined ? message : `"${path}" ${message}`;
}
