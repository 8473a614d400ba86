/** HTTPRoutes and GRPCRoutes of our Gateways → drafts, in the form of those of Ingresses. */
import { bytesOf, MAX_SLICE_BYTES } from "../slice-size.ts";
import { type DraftContext, type DraftRoute, emptyDraft, type IngressDraft, hasMembers } from "../draft.ts";
import { type DraftProblem, ingressError } from "../ingress-problem.ts";
import { keyOf, namespaceOf } from "../objects.ts";
import { isRecord } from "../../../shared/is-record.ts";
import { giveWay } from "../give-way.ts";
import { withPolicy } from "../place.ts";
import { routeName } from "../route-name.ts";
import { fillSecrets } from "../secret-values.ts";
import { type RouteAttachment, tlsOf } from "./attach.ts";
import type { BackendTlsReading } from "./backend-tls.ts";
import { type BackendsReading, grantedServices, readBackends } from "./backends.ts";
import { type HostPlace, hostsOf, placesOf, PRIVATE_PROBLEM } from "./host-places.ts";
import { filterSettings, timeoutSettings } from "./filters.ts";
import type { GatewaysReading } from "./listeners.ts";
import { readMatches, type RouteMatch } from "./matches.ts";
import type { Condition, GatewayRoute, RouteFilter, GatewayRouteKind, RouteRule } from "./objects.ts";
import { type PolicySettings, readSettings, type RoutePolicies } from "./policies.ts";
import { answerSettings, upstreamSettings } from "./route-settings.ts";

export interface RouteDraftContext extends DraftContext, Pick<GatewaysReading, "gateways" | "isGranted"> {
  readonly policies: RoutePolicies;
  readonly backendTls: BackendTlsReading;
}

export interface RouteDraft {
  readonly draft: IngressDraft;
  /** First reason why a backend is not resolved. */
  readonly unresolved: Condition | undefined;
  /** Services that it refers to, "namespace/name". */
  readonly services: readonly string[];
}

export interface AttachedRoute {
  readonly kind: GatewayRouteKind;
  readonly route: GatewayRoute;
  readonly attachments: readonly RouteAttachment[];
  /** Undefined if no parent accepted it. */
  readonly drafted: RouteDraft | undefined;
}

/** "shop/web (HTTPRoute)": an Ingress may have the same name. */
export function draftKey(kind: GatewayRouteKind, route: GatewayRoute): string {
  return `${keyOf(route)} (${kind})`;
}

export async function draftRoute(
  kind: GatewayRouteKind,
  route: GatewayRoute,
  attachments: readonly RouteAttachment[],
  context: RouteDraftContext,
): Promise<RouteDraft> {
  const namespace = namespaceOf(route);
  const hosts = hostsOf(attachments, context);
  const state: DraftState = {
    kind,
    route,
    namespace,
    context,
    problems: [],
    annotations: new Map(),
    policies: new Map(),
    readings: new Map(),
    secrets: new Set(),
    routes: new Map(),
    services: new Set(),
    bytes: 0,
    isPartial: false,
    usesEndpoints: false,
    unresolved: undefined,
  };
  for (const [index, rule] of (route.spec?.rules ?? []).entries()) {
    if (state.bytes > MAX_SLICE_BYTES) break;
    await draftRule(rule, `spec.rules[${index}]`, hosts, state);
  }
  const draft: IngressDraft = {
    ...emptyDraft(draftKey(kind, route), namespace),
    hosts: new Map(hosts.map(({ host, path }) => [host, path])),
    routes: [...state.routes.values()],
    bytes: state.bytes,
    annotations: state.annotations,
    policies: state.policies,
    problems: unique(state.problems),
    partial: state.isPartial,
    secrets: [...state.secrets],
    tls: tlsOf(attachments),
    usesEndpoints: state.usesEndpoints,
  };
  return { draft, unresolved: state.unresolved, services: [...state.services] };
}

interface DraftState {
  readonly kind: GatewayRouteKind;
  readonly route: GatewayRoute;
  readonly namespace: string;
  readonly context: RouteDraftContext;
  readonly problems: DraftProblem[];
  readonly annotations: Map<string, string>;
  readonly policies: Map<string, string>;
  /** By the names of the policies. */
  readonly readings: Map<string, PolicySettings>;
  readonly secrets: Set<string>;
  readonly routes: Map<string, DraftRoute>;
  readonly services: Set<string>;
  bytes: number;
  isPartial: boolean;
  usesEndpoints: boolean;
  unresolved: Condition | undefined;
}

async function draftRule(rule: RouteRule, path: string, hosts: readonly HostPlace[], state: DraftState): Promise<void> {
  const report = (problem: DraftProblem): void => void state.problems.push(problem);
  for (const name of ["retry", "sessionPersistence"] as const)
    if (rule[name]) report(ingressError({ path: `${path}.${name}` }, "is not served by this gateway"));
  const matches = readMatches(state.kind, rule, path, report);
  const filters = filtersOf(rule, path, report);
  const readings = new Map<string, BackendsReading>();
  for (const gateway of new Set(hosts.map((each) => each.gateway))) {
    const policy = await policyFor(rule, gateway, state);
    const reached = `${policy.secureUpstream} ${policy.viaService}`;
    const backends = readings.get(reached) ?? backendsOf(rule, path, policy, state);
    readings.set(reached, backends);
    const places = hosts.filter((each) => each.gateway === gateway);
    for (const match of matches) {
      const doc = { ...match.conditions, ...answerOf(rule, path, match, filters, policy, backends, state) };
      const served = placesOf(doc, places, state.context);
      if (served.length === 0 && hosts.every(({ scheme }) => scheme === "http"))
        report(ingressError({ path }, PRIVATE_PROBLEM));
      for (const place of served) {
        // It is rejected as a whole, as an Ingress above the limit.
        if (state.bytes > MAX_SLICE_BYTES) return;
        addRoute(place, match, doc, path, state);
      }
    }
  }
}

/** Filters of a single backend apply to all requests of its rule. */
function filtersOf(
  { filters = [], backendRefs = [] }: RouteRule,
  path: string,
  report: (problem: DraftProblem) => void,
): readonly RouteFilter[] {
  const [only, ...others] = backendRefs;
  if (only && others.length === 0) return [...filters, ...(only.filters ?? [])];
  for (const [index, ref] of backendRefs.entries())
    if ((ref.filters ?? []).length > 0)
      report(ingressError({ path: `${path}.backendRefs[${index}].filters` }, "is served only for a single backend"));
  return filters;
}

async function policyFor({ name }: RouteRule, gateway: string, state: DraftState): Promise<PolicySettings> {
  const { context, namespace, kind, route, readings } = state;
  const className = context.gateways.get(gateway)?.className ?? "";
  const levels = context.policies.levelsOf({ route: `${kind} ${keyOf(route)}`, rule: name, gateway, className });
  // A route can have hundreds of pairs of a rule and a Gateway, most of which have the same policies.
  const key = levels.map(keyOf).join();
  const known = readings.get(key);
  if (known) return known;
  const reading = readSettings(levels, namespace);
  readings.set(key, reading);
  const report = (problem: DraftProblem): number => state.problems.push(withPolicy(problem, reading.policies));
  for (const problem of reading.problems) report(problem);
  const missing = await fillSecrets(reading, { namespace, secrets: context.secrets, seal: context.seal });
  for (const problem of missing) report(problem);
  state.isPartial ||= missing.length > 0;
  for (const secret of reading.secrets.values()) state.secrets.add(`${namespace}/${secret}`);
  for (const [setting, annotation] of reading.places) state.annotations.set(setting, annotation);
  for (const [annotation, policy] of reading.policies) state.policies.set(annotation, policy);
  state.usesEndpoints ||= !reading.viaService;
  await giveWay();
  return reading;
}

function backendsOf(rule: RouteRule, path: string, policy: PolicySettings, state: DraftState): BackendsReading {
  const { context, kind, namespace } = state;
  const refs = rule.backendRefs ?? [];
  for (const service of grantedServices(refs, context.isGranted, { kind, namespace })) state.services.add(service);
  const reading = readBackends(
    refs,
    { ...context, tls: context.backendTls },
    {
      kind,
      namespace,
      secure: policy.secureUpstream,
      viaService: policy.viaService,
      path: `${path}.backendRefs`,
    },
  );
  state.unresolved ??= reading.unresolved;
  state.usesEndpoints ||= reading.usesEndpoints;
  if (reading.isMixed) {
    const message = "have different TLS settings, must be the same for all backends of a rule";
    state.problems.push(ingressError({ path: `${path}.backendRefs` }, message));
  }
  return reading;
}

/** Where requests of one match go, with all settings. */
function answerOf(
  rule: RouteRule,
  path: string,
  { match }: RouteMatch,
  filters: readonly RouteFilter[],
  policy: PolicySettings,
  backends: BackendsReading,
  { kind, problems }: DraftState,
): Readonly<Record<string, unknown>> {
  const report = (problem: DraftProblem): void => void problems.push(problem);
  const about = { path: `${path}.filters`, isPrefix: match.kind === "prefix", report };
  const settings = filterSettings(filters, about);
  if (hasMembers(policy.settings)) return { ...policy.settings };
  if (settings["redirect"] !== undefined) return answerSettings(policy.settings, settings);
  // As the standard demands, where no backend is there to answer.
  if (backends.to.length === 0) return { ...answerSettings(policy.settings, settings), response: { status: 500 } };
  const timeouts = timeoutSettings(rule, path, report);
  const own = { ...settings, ...timeouts, ...protocolSettings(kind, backends), ...backends.tls };
  const to = backends.to.length === 1 ? backends.to[0] : backends.to;
  const { unresolvedPercentage: percentage } = backends;
  // MCP servers have no static responses: the others take all requests.
  const response = percentage > 0 && policy.settings["mcp"] === undefined && { response: { status: 500, percentage } };
  return { to, ...upstreamSettings(policy.settings, own), ...response };
}

/** @see https://gateway-api.sigs.k8s.io/geps/gep-1911/ */
function protocolSettings(kind: GatewayRouteKind, { protocols }: BackendsReading): Readonly<Record<string, unknown>> {
  return {
    ...((kind === "GRPCRoute" || protocols.has("kubernetes.io/h2c")) && { http2: true }),
    ...((protocols.has("kubernetes.io/ws") || protocols.has("kubernetes.io/wss")) && { allow_websockets: true }),
  };
}

function addRoute(
  { host, scheme, port, path: hostPath }: HostPlace,
  { match, path: matchPath, conditions }: RouteMatch,
  doc: Readonly<Record<string, unknown>>,
  rulePath: string,
  state: DraftState,
): void {
  const { kind, route, namespace, context, routes } = state;
  const { kind: matchKind, path } = match;
  const address = port === undefined ? host : `${host}:${port}`;
  // With `--port` all hosts have it, as those of Ingresses.
  const shown = port === context.port ? host : address;
  const about = { namespace, ingress: route.metadata.name, host: shown, path, kind: matchKind };
  const name = routeName({ ...about, variant: kind, conditions: conditionsOf(conditions) });
  // The first rule takes the requests.
  if (routes.has(name)) return;
  const whole = {
    from: `${scheme}://${address}`,
    ...(path === "" ? {} : { [matchKind === "exact" ? "path" : matchKind]: path }),
    ...doc,
    // Another host has the same port, unless the filter says otherwise.
    ...(port !== context.port && port !== undefined && redirectTo(doc["redirect"], port)),
  };
  const place = { host, hostPath, match, matchPath, backend: undefined, backendPath: `${rulePath}.backendRefs` };
  routes.set(name, { name, doc: whole, place });
  state.bytes += bytesOf([name, whole]);
}

function redirectTo(redirect: unknown, port: number): Readonly<Record<string, unknown>> {
  return isRecord(redirect) ? { redirect: { port_redirect: port, ...redirect } } : {};
}

function conditionsOf(conditions: RouteMatch["conditions"]): string {
  return Object.keys(conditions).length === 0 ? "" : JSON.stringify(conditions);
}

function unique(problems: readonly DraftProblem[]): readonly DraftProblem[] {
  return [...new Map(problems.map((each) => [JSON.stringify(each), each])).values()];
}
