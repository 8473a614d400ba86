/** Statuses of policies: of BackendTLSPolicies and of our own. */
import { append } from "../../../shared/linear/append.ts";
import type { DraftProblem } from "../ingress-problem.ts";
import { keyOf, namespaceOf } from "../objects.ts";
import type { RouteAttachment } from "./attach.ts";
import { condition, GATEWAY_GROUP } from "./objects.ts";
import { entriesStatus, messageOf, type ObjectStatus, type StatusContext } from "./status-parts.ts";

/** Ancestors of a BackendTLSPolicy are the Gateways whose routes use its Services. */
export function backendTlsStatuses({ objects, backendTls, routes }: StatusContext): readonly ObjectStatus[] {
  if (objects.backendTlsPolicies.length === 0) return [];
  const gatewaysByService = new Map<string, string[]>();
  for (const { attachments, drafted } of routes)
    for (const service of drafted?.services ?? [])
      for (const gateway of acceptedGateways(attachments)) append(gatewaysByService, service, gateway);
  return objects.backendTlsPolicies.map((policy) => {
    const services = backendTls.targets.get(keyOf(policy)) ?? [];
    const gateways = new Set(services.flatMap((service) => gatewaysByService.get(service) ?? []));
    const conditions = backendTls.conditions.get(keyOf(policy)) ?? [];
    const ancestors = [...gateways].toSorted().map((gateway) => ({ ref: gatewayRef(gateway), conditions }));
    return entriesStatus("backendTlsPolicies", policy, "ancestors", ancestors);
  });
}

function acceptedGateways(attachments: readonly RouteAttachment[]): readonly string[] {
  return attachments.filter(({ listeners }) => listeners.length > 0).map(({ gateway }) => gateway);
}

function gatewayRef(key: string): object {
  const [namespace = "", name = ""] = key.split("/");
  return { group: GATEWAY_GROUP, kind: "Gateway", namespace, name };
}

/** Ancestors of our own policy are its targets. Errors that routes have because of a setting make it invalid. */
export function policyStatuses({ objects, policies, problems }: StatusContext): readonly ObjectStatus[] {
  const errors = new Map<string, DraftProblem[]>();
  for (const some of problems.values())
    for (const problem of some)
      if (problem.severity === "error" && problem.policy !== undefined) append(errors, problem.policy, problem);
  return objects.routePolicies.map((policy) => {
    const found = errors.get(keyOf(policy));
    const ancestors = (policies.conditions.get(keyOf(policy)) ?? []).map(({ target, accepted }) => ({
      ref: { ...target, namespace: namespaceOf(policy) },
      conditions: [
        found && accepted.status === "True" ? condition("Accepted", false, "Invalid", messageOf(found)) : accepted,
      ],
    }));
    return entriesStatus("routePolicies", policy, "ancestors", ancestors);
  });
}
