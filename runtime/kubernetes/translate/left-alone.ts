/**
 * Ingresses that are not ours, reported once: in the log, and if an Ingress has annotations of ours, also in an Event, for
 * authors who wonder why nothing happens.
 */
import { ANNOTATION_PREFIX } from "../../config/surfaces/annotations.ts";
import { quote } from "../../settings/problem.ts";
import type { Log } from "../../shared/log.ts";
import type { Ingress } from "./objects.ts";
import { type DraftProblem, ingressWarning } from "./ingress-problem.ts";

export interface ForeignIngress {
  readonly ingress: Ingress;
  /** "namespace/name". */
  readonly key: string;
  /** Undefined if it has none. */
  readonly className: string | undefined;
}

/** Number of Ingresses listed by name; the rest is only counted. */
const MOST_NAMED = 20;

/** Warning for an Ingress with our annotations but another class; undefined for an Ingress without them. */
export function whyLeftAlone({ ingress, className }: ForeignIngress): DraftProblem | undefined {
  const hasAnnotation = Object.keys(ingress.metadata.annotations ?? {}).some((key) =>
    key.startsWith(ANNOTATION_PREFIX),
  );
  if (!hasAnnotation) return undefined;
  const state = className === undefined ? "is missing" : `is ${quote(className)}`;
  const expected = "not served, though it has annotations of this gateway; name an IngressClass of this gateway";
  return ingressWarning({ path: "spec.ingressClassName" }, `${state}: ${expected}`);
}

/** "shop/web (nginx)" */
export function leftAloneText({ key, className }: ForeignIngress): string {
  return `${key} (${className ?? "no class"})`;
}

export interface LeftAloneLog {
  /** Logs Ingresses that are new or have a new generation, and forgets deleted ones. */
  tell(foreign: readonly ForeignIngress[]): void;
}

export function createLeftAloneLog(log: Log): LeftAloneLog {
  let known = new Set<string>();
  return {
    tell(foreign) {
      const idOf = ({ key, className, ingress: { metadata } }: ForeignIngress): string =>
        JSON.stringify([key, metadata.uid, metadata.generation, className]);
      const fresh = foreign.filter((each) => !known.has(idOf(each)));
      known = new Set(foreign.map(idOf));
      if (fresh.length === 0) return;
      const more = fresh.length - MOST_NAMED;
      const ingresses = fresh.slice(0, MOST_NAMED).map(leftAloneText);
      log.info({ ingresses, ...(more > 0 && { more }) }, "ingresses of other classes ignored");
    },
  };
}
