/**
 * `GatewayRoutePolicy`: settings of this gateway for routes of the Gateway API, with the names of the annotations of an Ingress.
 *
 * A policy targets HTTPRoutes, GRPCRoutes, one rule of them (`sectionName`), or Gateways; `parametersRef` of a GatewayClass names
 * one for all its Gateways. The narrower one wins for each setting. Of two for one target the older one counts.
 */
import { append } from "../../../shared/linear/append.ts";
import { ANNOTATION_PREFIX } from "../../../config/surfaces/annotations.ts";
import { isRecord } from "../../../shared/is-record.ts";
import { type AnnotationReading, readAnnotations } from "../annotations/annotations.ts";
import { knownSecretAnnotations } from "../annotations/known-annotations.ts";
import { withFewSuggestions } from "../../../settings/validate.ts";
import { type DraftProblem, ingressError } from "../ingress-problem.ts";
import { byAge, keyOf, namespaceOf } from "../objects.ts";
import type { GatewaysReading } from "./listeners.ts";
import {
  condition,
  type Condition,
  GATEWAY_GROUP,
  type GatewayApiObjects,
  type GatewayClass,
  type GatewayRoute,
  type GatewayRoutePolicy,
  type PolicyTarget,
  POLICY_GROUP,
  POLICY_KIND,
} from "./objects.ts";

export interface RoutePolicies {
  /** Policies for one rule on one Gateway, the widest first. */
  levelsOf(about: PolicyQuestion): readonly GatewayRoutePolicy[];
  /** Policy ("namespace/name") → conditions for each of its targets. */
  readonly conditions: ReadonlyMap<string, readonly TargetCondition[]>;
  /** Name of a class whose `parametersRef` names no policy → reason. */
  readonly brokenClasses: ReadonlyMap<string, string>;
}

export interface TargetCondition {
  readonly target: PolicyTarget;
  readonly accepted: Condition;
}

export interface PolicyQuestion {
  /** "HTTPRoute shop/web". */
  readonly route: string;
  readonly rule: string | undefined;
  /** "namespace/name". */
  readonly gateway: string;
  readonly className: string;
}

export interface PolicySettings extends AnnotationReading {
  /** Annotation → policy that set it. */
  readonly policies: ReadonlyMap<string, string>;
}

export function readPolicies(objects: GatewayApiObjects, { classes, gateways }: GatewaysReading): RoutePolicies {
  const routes = new Map<string, GatewayRoute>([
    ...objects.httpRoutes.map((route) => [`HTTPRoute ${keyOf(route)}`, route] as const),
    ...objects.grpcRoutes.map((route) => [`GRPCRoute ${keyOf(route)}`, route] as const),
  ]);
  const gatewayNames = new Set(objects.gateways.map(keyOf));
  const byTarget = new Map<string, GatewayRoutePolicy>();
  const conditions = new Map<string, TargetCondition[]>();
  for (const policy of objects.routePolicies.toSorted(byAge)) {
    for (const target of policy.spec?.targetRefs ?? []) {
      const id = `${target.kind} ${namespaceOf(policy)}/${target.name} ${target.sectionName ?? ""}`;
      const accepted = stateOf(target, namespaceOf(policy), id);
      if (accepted.status === "True") byTarget.set(id, policy);
      if (accepted.reason !== "Foreign") append(conditions, keyOf(policy), { target, accepted });
    }
  }
  const byKey = new Map(objects.routePolicies.map((policy) => [keyOf(policy), policy]));
  const ofClasses = new Map<string, GatewayRoutePolicy>();
  const brokenClasses = new Map<string, string>();
  for (const each of classes) {
    const { policy, problem } = parametersOf(each, byKey);
    if (policy) ofClasses.set(each.metadata.name, policy);
    if (problem !== undefined) brokenClasses.set(each.metadata.name, problem);
  }

  return {
    conditions,
    brokenClasses,
    levelsOf: ({ route, rule, gateway, className }) =>
      [
        ofClasses.get(className),
        byTarget.get(`Gateway ${gateway} `),
        byTarget.get(`${route} `),
        rule === undefined ? undefined : byTarget.get(`${route} ${rule}`),
      ].filter((policy) => policy !== undefined),
  };

  function stateOf({ group = "", kind = "", sectionName }: PolicyTarget, namespace: string, id: string): Condition {
    const refuse = (reason: string, message: string): Condition => condition("Accepted", false, reason, message);
    if (group !== GATEWAY_GROUP || !["Gateway", "HTTPRoute", "GRPCRoute"].includes(kind))
      return refuse("Invalid", `targets ${kind} of group "${group}", must be a Gateway, HTTPRoute or GRPCRoute`);
    const name = id.split(" ")[1] ?? "";
    if (kind === "Gateway") {
      if (!gatewayNames.has(name)) return refuse("TargetNotFound", `there is no Gateway ${name}`);
      // Another controller may serve it, and has policies of its own.
      if (!gateways.has(name)) return refuse("Foreign", "");
      if (sectionName !== undefined) return refuse("Invalid", "sectionName of a Gateway is not served");
    } else {
      const route = routes.get(`${kind} ${name}`);
      if (!route) return refuse("TargetNotFound", `there is no ${kind} ${name} in namespace ${namespace}`);
      const rules = route.spec?.rules ?? [];
      if (sectionName !== undefined && !rules.some((rule) => rule.name === sectionName))
        return refuse("TargetNotFound", `${kind} ${name} has no rule ${sectionName}`);
    }
    const older = byTarget.get(id);
    if (older) return refuse("Conflicted", `${POLICY_KIND} ${keyOf(older)} is older and has the same target`);
    return condition("Accepted", true, "Accepted");
  }
}

function parametersOf(
  { spec }: GatewayClass,
  policies: ReadonlyMap<string, GatewayRoutePolicy>,
): { readonly policy?: GatewayRoutePolicy; readonly problem?: string } {
  const { parametersRef: ref } = spec ?? {};
  if (!ref) return {};
  const policy =
    ref.group === POLICY_GROUP && ref.kind === POLICY_KIND && ref.namespace !== undefined
      ? policies.get(`${ref.namespace}/${ref.name}`)
      : undefined;
  if (policy) return { policy };
  return {
    problem: `parametersRef must name a ${POLICY_KIND} of group ${POLICY_GROUP} that exists, with its namespace`,
  };
}

/**
 * The reading is new for each call, since Secrets are filled into it.
 *
 * @param levels the widest first @param namespace of the route
 */
export function readSettings(levels: readonly GatewayRoutePolicy[], namespace: string): PolicySettings {
  const annotations: Record<string, unknown> = {};
  const policies = new Map<string, string>();
  const problems: DraftProblem[] = [];
  for (const policy of levels) {
    const { settings = {} } = policy.spec ?? {};
    for (const [name, value] of Object.entries(isRecord(settings) ? settings : {})) {
      // Its value would reach the backends of another namespace.
      if (knownSecretAnnotations.has(name) && namespaceOf(policy) !== namespace) {
        const message = `names a Secret, which only a ${POLICY_KIND} of namespace ${namespace} can`;
        problems.push(ingressError({ annotation: name }, message));
        policies.set(name, keyOf(policy));
        continue;
      }
      annotations[ANNOTATION_PREFIX + name] = typeof value === "string" ? value : JSON.stringify(value);
      policies.set(name, keyOf(policy));
    }
  }
  const reading = withFewSuggestions(() => readAnnotations(annotations));
  return { ...reading, problems: [...problems, ...reading.problems], policies };
}
