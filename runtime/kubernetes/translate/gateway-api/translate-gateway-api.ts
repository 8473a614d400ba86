/**
 * Objects of the Gateway API → drafts for the one translation that Ingresses have, and the statuses of the objects.
 *
 * Untrusted input: every object. A route that cannot be served is omitted as a whole and its status has the reason.
 */
import type { DraftContext, IngressDraft } from "../draft.ts";
import { byAge, type LoadBalancerAddress, namespaceOf } from "../objects.ts";
import type { DraftProblem, IngressProblem } from "../ingress-problem.ts";
import { attach } from "./attach.ts";
import { readBackendTls } from "./backend-tls.ts";
import { type AttachedRoute, draftRoute } from "./draft-routes.ts";
import { type GatewaysReading, needsNamespaces, readGateways } from "./listeners.ts";
import type { GatewayApiObjects, GatewayRoute, GatewayRouteKind } from "./objects.ts";
import { readPolicies } from "./policies.ts";
import type { ObjectStatus } from "./status-parts.ts";
import { readShapes } from "./shapes.ts";
import { statusesOf } from "./statuses.ts";
import { giveWay } from "../give-way.ts";

export interface GatewayApiOptions {
  /** Addresses of the gateway: of Gateways, and hosts of routes without one. */
  readonly addresses: readonly LoadBalancerAddress[];
  readonly ignoreTls: boolean;
}

export interface GatewayApiReading {
  /** Problems of objects that are not read, because their shape is not the standard's; warnings of parents and listeners. */
  readonly problems: readonly IngressProblem[];
  /** In the order of their age. */
  readonly drafts: readonly { readonly route: GatewayRoute; readonly draft: IngressDraft }[];
  /** Secrets that each Gateway names, in the form of drafts. */
  readonly secrets: readonly Pick<IngressDraft, "namespace" | "secrets" | "tls">[];
  /** "namespace/name" of ConfigMaps that policies name. */
  readonly configMaps: readonly string[];
  readonly needsNamespaces: boolean;
  /** @param problems of routes, by key of their draft */
  statuses(problems: ReadonlyMap<string, readonly DraftProblem[]>): readonly ObjectStatus[];
}

export async function readGatewayApi(
  written: GatewayApiObjects,
  context: DraftContext,
  options: GatewayApiOptions,
): Promise<GatewayApiReading> {
  const { objects, problems: shapeProblems } = readShapes(written);
  const gateways = readGateways(objects, { ...options, secrets: context.secrets });
  const policies = readPolicies(objects, gateways);
  // Without the settings of its class, a Gateway takes no routes.
  const taking = new Map([...gateways.gateways].filter(([, { className }]) => !policies.brokenClasses.has(className)));
  const backendTls = readBackendTls(objects.backendTlsPolicies, objects.configMaps, context.services);
  const routes: AttachedRoute[] = [];
  for (const { kind, route } of routesByAge(objects)) {
    routes.push(await readRoute(kind, route));
    await giveWay();
  }
  return {
    problems: [...shapeProblems, ...routes.flatMap(parentProblems), ...listenerProblems(gateways.gateways)],
    drafts: routes.flatMap(({ route, drafted }) => (drafted ? [{ route, draft: drafted.draft }] : [])),
    secrets: [...gateways.gateways.values()]
      .toSorted((a, b) => byAge(a.gateway, b.gateway))
      .map(({ gateway, secrets }) => ({ namespace: namespaceOf(gateway), secrets, tls: [] })),
    configMaps: backendTls.configMaps,
    needsNamespaces: needsNamespaces(gateways.gateways.values()),
    statuses: (problems) => statusesOf({ objects, gateways, policies, backendTls, routes, problems }),
  };

  async function readRoute(kind: GatewayRouteKind, route: GatewayRoute): Promise<AttachedRoute> {
    const attachments = attach(kind, route, taking);
    const isAccepted = attachments.some(({ listeners }) => listeners.length > 0);
    const about = { ...context, ...gateways, policies, backendTls };
    const drafted = isAccepted ? await draftRoute(kind, route, attachments, about) : undefined;
    return { kind, route, attachments, drafted };
  }
}

/** The other parents may accept the route, so these are warnings. */
function parentProblems({ kind, route, attachments, drafted }: AttachedRoute): readonly IngressProblem[] {
  const about = {
    severity: "warning",
    namespace: namespaceOf(route),
    name: `${route.metadata.name} (${kind})`,
  } as const;
  const refused = attachments.filter(({ accepted }) => accepted.status === "False");
  const unresolved = drafted?.unresolved;
  return [
    ...refused.map(({ gateway, accepted: { reason, message } }) => ({
      ...about,
      message: `is not accepted by Gateway ${gateway} (${reason}): ${message}`,
    })),
    ...(unresolved
      ? [{ ...about, message: `has an unresolved backend (${unresolved.reason}): ${unresolved.message}` }]
      : []),
  ];
}

function listenerProblems(gateways: GatewaysReading["gateways"]): readonly IngressProblem[] {
  return [...gateways.values()].flatMap(({ gateway, listeners }) =>
    listeners.flatMap(({ listener, conditions }) => {
      const failed = conditions.find(
        ({ type, status }) => ["Accepted", "ResolvedRefs"].includes(type) && status === "False",
      );
      if (!failed) return [];
      const detail = failed.message === "" ? failed.reason : `${failed.reason}: ${failed.message}`;
      const about = { namespace: namespaceOf(gateway), name: `${gateway.metadata.name} (Gateway)` };
      return [{ severity: "warning" as const, ...about, message: `listener "${listener.name}": ${detail}` }];
    }),
  );
}

function routesByAge(
  objects: GatewayApiObjects,
): readonly { readonly kind: GatewayRouteKind; readonly route: GatewayRoute }[] {
  return [
    ...objects.httpRoutes.map((route) => ({ kind: "HTTPRoute" as const, route })),
    ...objects.grpcRoutes.map((route) => ({ kind: "GRPCRoute" as const, route })),
  ].toSorted((a, b) => byAge(a.route, b.route));
}
