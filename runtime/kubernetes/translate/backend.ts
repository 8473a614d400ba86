/** The backend of an Ingress → addresses for `to`. */
import { MAX_UPSTREAMS } from "../../features/balancing/rules.ts";
import { canonicalHost } from "../../settings/domains.ts";
import { quote } from "../../settings/problem.ts";
import { readExternalName } from "./external-name.ts";
import { type EndpointSlice, type IngressBackend, itemsOf, type Service } from "./objects.ts";
import { type DraftProblem, ingressWarning, ingressError } from "./ingress-problem.ts";

export interface UpstreamOptions {
  readonly namespace: string;
  readonly secure: boolean;
  /** The Service's own address (kube-proxy balances), or otherwise its ready endpoints. */
  readonly viaService: boolean;
  /** "cluster.local". */
  readonly clusterDomain: string;
  /** Services of type ExternalName are served. */
  readonly externalNames: boolean;
}

export interface ClusterServices {
  /** By "namespace/name". */
  readonly services: ReadonlyMap<string, Service>;
  /** By "namespace/name" of their Service. */
  readonly endpointSlices: ReadonlyMap<string, readonly EndpointSlice[]>;
}

export type UpstreamReading =
  | {
      readonly ok: true;
      readonly to: readonly string[];
      readonly warnings: readonly DraftProblem[];
      /** Endpoints are read, because they were requested or because the Service has no address of its own. */
      readonly usesEndpoints: boolean;
    }
  | { readonly ok: false; readonly problem: DraftProblem };

/** @param path of the backend in the Ingress, for messages */
export function readUpstream(
  backend: IngressBackend | undefined,
  path: string,
  { services, endpointSlices }: ClusterServices,
  options: UpstreamOptions,
): UpstreamReading {
  const refuse = (at: string, message: string): UpstreamReading => ({
    ok: false,
    problem: ingressError({ path: at === "" ? path : `${path}.${at}` }, message),
  });
  if (backend?.resource !== undefined) return refuse("resource", "cannot be served, must be a Service");
  const requested = backend?.service;
  if (requested?.name === undefined) return refuse("service", "is missing, must name a Service");
  const key = `${options.namespace}/${requested.name}`;
  const service = services.get(key);
  if (!service) return refuse("service.name", `is ${quote(requested.name)}, but there is no Service ${key}`);
  const { port } = requested;
  if (port?.name === undefined && port?.number === undefined) {
    return refuse("service.port", 'is missing, must have "name" or "number"');
  }
  const scheme = options.secure ? "https" : "http";
  const isExternal = service.spec?.type === "ExternalName";
  if (isExternal && !options.externalNames) {
    const state = `is Service ${key} of type ExternalName`;
    return refuse("service.name", `${state}: the gateway's operator has not allowed this type (--external-names)`);
  }
  const ports = portsOf(service);
  const found = port.name === undefined ? ports.byNumber.get(port.number) : ports.byName.get(port.name);
  // An ExternalName Service needs no list of ports: connections go directly to the name.
  const number = found?.port ?? (isExternal ? port.number : undefined);
  if (number === undefined) {
    const state = `is ${quote(port.name ?? port.number)}, which is not a TCP port of Service ${key}`;
    return refuse("service.port", ports.text === "" ? state : `${state}, must be one of ${ports.text}`);
  }
  if (isExternal) {
    const external = readExternalName(service, { services, clusterDomain: options.clusterDomain });
    if (external.ok)
      return { ok: true, to: [address(scheme, external.host, number)], warnings: [], usesEndpoints: false };
    return refuse("service.name", `is Service ${key}, ${external.state}`);
  }
  const own = address(scheme, `${requested.name}.${options.namespace}.svc.${options.clusterDomain}`, number);
  // The name of a headless Service leads to its pods, which can have other ports.
  const isHeadless = service.spec?.clusterIP === "None";
  if (options.viaService && !isHeadless) return { ok: true, to: [own], warnings: [], usesEndpoints: false };
  const ready = readyEndpoints(endpointSlices.get(key) ?? [], found?.name);
  const to = ready.length > MAX_UPSTREAMS ? [] : ready.map((each) => address(scheme, each.host, each.port));
  if (to.length > 0) return { ok: true, to, warnings: [], usesEndpoints: true };
  // Requests fail at the Service just as with no upstream at all, and the route stays unchanged.
  const state =
    ready.length === 0
      ? "has no ready endpoints: requests go to the Service's address"
      : `has ${ready.length} ready endpoints: above ${MAX_UPSTREAMS} the Service balances`;
  const warnings = [ingressWarning({ path: `${path}.service.name` }, `is ${quote(requested.name)}, which ${state}`)];
  return { ok: true, to: [own], warnings, usesEndpoints: true };
}

type ServicePort = NonNullable<NonNullable<Service["spec"]>["ports"]>[number];

interface Ports {
  readonly byNumber: ReadonlyMap<number | undefined, ServicePort>;
  readonly byName: ReadonlyMap<string | undefined, ServicePort>;
  /** The first ones, for messages. */
  readonly text: string;
}

/** Cached per Service: each path of an Ingress reads it, and a Service may have as many ports as an Ingress has paths. */
const knownPorts = new WeakMap<Service, Ports>();
const MAX_SHOWN_PORTS = 20;

function portsOf(service: Service): Ports {
  let found = knownPorts.get(service);
  if (!found) {
    const ports = itemsOf(service.spec?.ports).filter(({ protocol = "TCP" }) => protocol === "TCP");
    const shown = ports
      .slice(0, MAX_SHOWN_PORTS)
      .map(({ name, port }) => (name === undefined ? `${port}` : `${name} (${port})`));
    const rest = ports.length - shown.length;
    // If two have the same number or name, the first one counts.
    const firstFirst = ports.toReversed();
    found = {
      byNumber: new Map(firstFirst.map((each) => [each.port, each])),
      byName: new Map(firstFirst.map((each) => [each.name, each])),
      text: `${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`,
    };
    knownPorts.set(service, found);
  }
  return found;
}

type Ready = readonly { readonly host: string; readonly port: number }[];

/** Cached for the objects of one translation. */
const knownEndpoints = new WeakMap<readonly EndpointSlice[], Map<string, Ready>>();

function readyEndpoints(slices: readonly EndpointSlice[], portName = ""): Ready {
  let known = knownEndpoints.get(slices);
  if (!known) knownEndpoints.set(slices, (known = new Map<string, Ready>()));
  let found = known.get(portName);
  if (!found) known.set(portName, (found = findReady(slices, portName)));
  return found;
}

function findReady(slices: readonly EndpointSlice[], portName: string): Ready {
  const found = new Map<string, { readonly host: string; readonly port: number }>();
  for (const { addressType, ports, endpoints } of slices) {
    if (addressType === "FQDN") continue;
    // The unnamed port of a Service has the empty name here.
    const port = itemsOf(ports).find(({ name }) => (name ?? "") === portName)?.port;
    if (typeof port !== "number") continue;
    for (const { addresses, conditions } of itemsOf(endpoints)) {
      // Unknown readiness counts as ready. @see EndpointConditions of discovery.k8s.io/v1
      if (conditions?.ready === false) continue;
      // All addresses of one endpoint lead to the same pod. @see Endpoint.addresses
      const host = canonicalHost(addresses?.[0] ?? "");
      if (host !== undefined) found.set(`${host} ${port}`, { host, port });
    }
  }
  // Sorted, so that another order of the input gives the same slice.
  return [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, each]) => each);
}

function address(scheme: string, host: string, port: number): string {
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
