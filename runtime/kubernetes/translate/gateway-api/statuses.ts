/**
 * Statuses of the objects of the Gateway API: what each should be, given the one that is stored. Entries of other controllers
 * stay as they are.
 */
import { isRecord } from "../../../shared/is-record.ts";
import type { DraftProblem } from "../ingress-problem.ts";
import { keyOf } from "../objects.ts";
import { type AttachedRoute, draftKey } from "./draft-routes.ts";
import { SUPPORTED_FEATURES } from "./features.ts";
import type { GatewayState } from "./listeners.ts";
import { condition, type Condition, GATEWAY_GROUP, type GatewayClass, type GatewayObject } from "./objects.ts";
import { backendTlsStatuses, policyStatuses } from "./policy-statuses.ts";
import { entriesStatus, merged, messageOf, type ObjectStatus, type StatusContext, statusOf } from "./status-parts.ts";

export function statusesOf(context: StatusContext): readonly ObjectStatus[] {
  const attached = attachedRoutes(context.routes);
  return [
    ...context.gateways.classes.map((each) => statusOfClass(each, context)),
    ...[...context.gateways.gateways.values()].map((each) => statusOfGateway(each, attached, context)),
    ...context.routes.map((each) => statusOfRoute(each, context)),
    ...backendTlsStatuses(context),
    ...policyStatuses(context),
  ];
}

function statusOfClass(each: GatewayClass, { policies }: StatusContext): ObjectStatus {
  const problem = policies.brokenClasses.get(each.metadata.name);
  const accepted =
    problem === undefined
      ? condition("Accepted", true, "Accepted")
      : condition("Accepted", false, "InvalidParameters", problem);
  return statusOf("gatewayClasses", each, (stored, at) => ({
    ...stored,
    conditions: merged(stored["conditions"], [accepted], each.metadata.generation, at),
    supportedFeatures: SUPPORTED_FEATURES.map((name) => ({ name })),
  }));
}

/** "gateway listener" → number of routes that are attached. */
function attachedRoutes(routes: readonly AttachedRoute[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const { attachments } of routes) {
    const listeners = attachments.flatMap(({ gateway, listeners: taking }) =>
      taking.map(({ state }) => `${gateway} ${state.listener.name}`),
    );
    for (const name of new Set(listeners)) found.set(name, (found.get(name) ?? 0) + 1);
  }
  return found;
}

function statusOfGateway(
  { gateway, listeners, addresses }: GatewayState,
  attached: ReadonlyMap<string, number>,
  context: StatusContext,
): ObjectStatus {
  const { generation } = gateway.metadata;
  const own = addresses.flatMap(({ ip, hostname }) =>
    ip !== undefined
      ? [{ type: "IPAddress", value: ip }]
      : hostname === undefined
        ? []
        : [{ type: "Hostname", value: hostname }],
  );
  const broken = context.policies.brokenClasses.get(gateway.spec?.gatewayClassName ?? "");
  const states = gatewayConditions(gateway, listeners, own, broken);
  return statusOf("gateways", gateway, (stored, at) => {
    const before = (Array.isArray(stored["listeners"]) ? stored["listeners"] : []).filter(isRecord);
    return {
      ...stored,
      addresses: own,
      conditions: merged(stored["conditions"], states, generation, at),
      listeners: listeners.map(({ listener, kinds, conditions }) => ({
        name: listener.name,
        supportedKinds: kinds.map((kind) => ({ group: GATEWAY_GROUP, kind })),
        attachedRoutes: attached.get(`${keyOf(gateway)} ${listener.name}`) ?? 0,
        conditions: merged(
          before.find(({ name }) => name === listener.name)?.["conditions"],
          conditions,
          generation,
          at,
        ),
      })),
    };
  });
}

function gatewayConditions(
  { spec }: GatewayObject,
  listeners: GatewayState["listeners"],
  own: readonly { readonly type: string; readonly value: string }[],
  broken: string | undefined,
): readonly Condition[] {
  const refuse = (reason: string, message: string): readonly Condition[] => [
    condition("Accepted", false, reason, message),
    condition("Programmed", false, "Invalid", message),
  ];
  if (broken !== undefined) return refuse("InvalidParameters", `of its GatewayClass: ${broken}`);
  if (spec?.infrastructure?.parametersRef)
    return refuse("InvalidParameters", "infrastructure.parametersRef is not served");
  const requested = spec?.addresses ?? [];
  const unknown = requested.find(({ type = "IPAddress" }) => !["IPAddress", "Hostname"].includes(type));
  if (unknown) return refuse("UnsupportedAddress", `addresses of type ${unknown.type} are not served`);
  const usable = listeners.filter(({ isUsable }) => isUsable);
  if (usable.length === 0) return refuse("ListenersNotValid", "no listener is valid");
  const isWhole = listeners.every(({ conditions }) =>
    conditions.every(({ type, status }) => type === "Conflicted" || status === "True"),
  );
  const accepted = condition("Accepted", true, isWhole ? "Accepted" : "ListenersNotValid");
  const foreign = requested.find(
    ({ value }) => value !== undefined && value !== "" && own.every((each) => each.value !== value),
  );
  if (foreign) {
    const message = `${foreign.value} is not an address of this gateway`;
    return [accepted, condition("Programmed", false, "AddressNotUsable", message)];
  }
  if (own.length === 0) {
    const message = "no address of the gateway is known: the controller needs --address or --address-service";
    return [accepted, condition("Programmed", false, "AddressNotAssigned", message)];
  }
  return [accepted, condition("Programmed", true, "Programmed")];
}

function statusOfRoute(
  { kind, route, attachments, drafted }: AttachedRoute,
  { problems }: StatusContext,
): ObjectStatus {
  const errors = (problems.get(draftKey(kind, route)) ?? []).filter(({ severity }) => severity === "error");
  const resolved = drafted?.unresolved ?? condition("ResolvedRefs", true, "ResolvedRefs");
  const rejected = errors.length === 0 ? undefined : condition("Accepted", false, reasonOf(errors), messageOf(errors));
  const parents = attachments.map(({ ref, accepted }) => ({
    ref,
    conditions: [accepted.status === "True" ? (rejected ?? accepted) : accepted, resolved],
  }));
  return entriesStatus(kind === "HTTPRoute" ? "httpRoutes" : "grpcRoutes", route, "parents", parents);
}

function reasonOf(errors: readonly DraftProblem[]): string {
  return errors.find(({ reason }) => reason !== undefined)?.reason ?? "UnsupportedValue";
}
