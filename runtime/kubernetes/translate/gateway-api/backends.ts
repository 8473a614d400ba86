/** `backendRefs` of a rule → addresses with weights for `to`, or why they are not resolved. */
import { MAX_UPSTREAMS } from "../../../features/balancing/rules.ts";
import { type ClusterServices, readUpstream } from "../backend.ts";
import { problemText } from "../ingress-problem.ts";
import type { BackendTls, BackendTlsReading } from "./backend-tls.ts";
import type { IsGranted } from "./listeners.ts";
import { type BackendRef, condition, type Condition, GATEWAY_GROUP, type GatewayRouteKind } from "./objects.ts";

export interface BackendContext extends ClusterServices {
  readonly isGranted: IsGranted;
  readonly clusterDomain: string;
  readonly externalNames: boolean;
  readonly tls: BackendTlsReading;
}

export interface BackendOptions {
  readonly kind: GatewayRouteKind;
  readonly namespace: string;
  readonly secure: boolean;
  readonly viaService: boolean;
  /** Location in the route, for messages. */
  readonly path: string;
}

export interface BackendsReading {
  /** [] if no backend can take requests. */
  readonly to: readonly string[];
  /** TLS of all backends. */
  readonly tls: BackendTls | undefined;
  /** Backends differ in TLS, which is a setting of the whole route. */
  readonly isMixed: boolean;
  /** Protocols that their Services name: "kubernetes.io/h2c". */
  readonly protocols: ReadonlySet<string>;
  /** Endpoints of any are read. */
  readonly usesEndpoints: boolean;
  /** First reason why one is not resolved. */
  readonly unresolved: Condition | undefined;
  /** Part of the weights that belongs to unresolved backends: 0 to 100. */
  readonly unresolvedPercentage: number;
}

export function readBackends(
  refs: readonly BackendRef[],
  context: BackendContext,
  options: BackendOptions,
): BackendsReading {
  let unresolved: Condition | undefined;
  const found: { readonly weight: number; readonly to: readonly string[]; readonly service: string }[] = [];
  const tls = new Map<string, BackendTls | undefined>();
  const protocols = new Set<string>();
  let usesEndpoints = false;
  let unresolvedWeight = 0;
  for (const [index, ref] of refs.entries()) {
    const reading = readBackend(ref, `${options.path}[${index}]`, context, options);
    if (!reading.ok) {
      unresolved ??= condition("ResolvedRefs", false, reading.reason, reading.message);
      unresolvedWeight += ref.weight ?? 1;
    } else if ((ref.weight ?? 1) > 0) {
      found.push({ weight: ref.weight ?? 1, to: reading.to, service: reading.service });
      tls.set(JSON.stringify(reading.tls ?? null), reading.tls);
      usesEndpoints ||= reading.usesEndpoints;
      if (reading.protocol !== undefined) protocols.add(reading.protocol);
    }
  }
  const count = found.reduce((sum, { to }) => sum + to.length, 0);
  const balanced = count <= MAX_UPSTREAMS ? found : found.map((each) => ({ ...each, to: [each.service] }));
  return {
    to: weighted(balanced),
    tls: [...tls.values()][0],
    isMixed: tls.size > 1,
    protocols,
    usesEndpoints,
    unresolved,
    unresolvedPercentage: percentageOf(
      unresolvedWeight,
      found.reduce((sum, { weight }) => sum + weight, unresolvedWeight),
    ),
  };
}

/** A part that is not nothing and not all has 1 to 99. */
function percentageOf(part: number, whole: number): number {
  return part === 0 ? 0 : part === whole ? 100 : Math.min(99, Math.max(1, Math.round((part * 100) / whole)));
}

/** "namespace/name" of Services that the route may use: others would put it into statuses of another namespace's policies. */
export function grantedServices(
  refs: readonly BackendRef[],
  isGranted: IsGranted,
  route: Pick<BackendOptions, "kind" | "namespace">,
): readonly string[] {
  const from = { group: GATEWAY_GROUP, kind: route.kind, namespace: route.namespace };
  return refs.flatMap(({ group = "", kind = "Service", name, namespace = route.namespace }) =>
    group === "" && kind === "Service" && isGranted({ from, to: { group, kind, namespace, name } })
      ? [`${namespace}/${name}`]
      : [],
  );
}

type BackendReading =
  | {
      readonly ok: true;
      readonly to: readonly string[];
      readonly service: string;
      readonly tls: BackendTls | undefined;
      readonly protocol: string | undefined;
      readonly usesEndpoints: boolean;
    }
  | { readonly ok: false; readonly reason: string; readonly message: string };

function readBackend(ref: BackendRef, path: string, context: BackendContext, options: BackendOptions): BackendReading {
  const { group = "", kind = "Service", name, namespace = options.namespace, port } = ref;
  const key = `${namespace}/${name}`;
  const refuse = (reason: string, message: string): BackendReading => ({ ok: false, reason, message });
  if (group !== "" || kind !== "Service")
    return refuse("InvalidKind", `${path} is ${kind} of group "${group}", must be a Service`);
  const from = { group: GATEWAY_GROUP, kind: options.kind, namespace: options.namespace };
  if (!context.isGranted({ from, to: { group, kind, namespace, name } }))
    return refuse("RefNotPermitted", `${path} is Service ${key}, which no ReferenceGrant allows`);
  const service = context.services.get(key);
  if (!service) return refuse("BackendNotFound", `${path}: there is no Service ${key}`);
  const servicePort = service.spec?.ports?.find((each) => each.port === port);
  const tls = context.tls.find(key, servicePort?.name);
  if (tls?.ok === false) return refuse("InvalidBackendTLS", `${path}: ${tls.message}`);
  const backend = { service: { name, port: port === undefined ? {} : { number: port } } };
  const upstream = { namespace, clusterDomain: context.clusterDomain, externalNames: context.externalNames };
  const secure = options.secure || tls !== undefined;
  const read = readUpstream(backend, path, context, { ...upstream, secure, viaService: options.viaService });
  if (!read.ok) return refuse(reasonOf(service.spec?.type), problemText(read.problem));
  const own = options.viaService
    ? read
    : readUpstream(backend, path, context, { ...upstream, secure, viaService: true });
  const [first = ""] = own.ok ? own.to : read.to;
  const { to, usesEndpoints } = read;
  return { ok: true, to, service: first, tls: tls?.tls, protocol: servicePort?.appProtocol, usesEndpoints };
}

function reasonOf(type: string | undefined): string {
  return type === "ExternalName" ? "RefNotPermitted" : "BackendNotFound";
}

/** Highest weight of an upstream. */
const MAX_WEIGHT = 1_000_000;
/** Shares of endpoints are exact to a hundredth. */
const STEPS = 100;

/** The weight of a Service is shared by its endpoints. */
function weighted(backends: readonly { readonly weight: number; readonly to: readonly string[] }[]): readonly string[] {
  const shares = backends.flatMap(({ weight, to }) => to.map((url) => ({ url, share: weight / to.length })));
  const all = shares.map(({ share }) => share);
  if (all.every((share) => share === all[0])) return [...new Set(shares.map(({ url }) => url))];
  const scale = Math.min(STEPS / Math.min(...all), MAX_WEIGHT / Math.max(...all));
  const sums = new Map<string, number>();
  for (const { url, share } of shares) sums.set(url, (sums.get(url) ?? 0) + share);
  return [...sums].map(([url, share]) => `${url},${Math.min(MAX_WEIGHT, Math.max(1, Math.round(share * scale)))}`);
}
