/**
 * Ingresses of our class and routes of the Gateway API → a slice for each namespace, the problems of rejected ones,
 * and the statuses of Gateway API objects.
 *
 * Untrusted input: every object; an Ingress is written by a team, not the gateway's operator. Promises: a bad Ingress is
 * omitted as a whole and reported with its location and what is expected, and changes nothing for the others; a host serves
 * one namespace (host-claims.ts); of two Ingresses that claim the same requests the older one keeps them; no value of a
 * Secret is in a slice or in a message. Does no I/O; equal objects give equal slices, except for seals.
 *
 * @see test/requirements.ts, "Header settings (per route)"; DECISIONS.md D2, D5, D7
 */
import { append } from "../../shared/linear/append.ts";
import { describe, MAX_PROBLEMS, moreProblems, quote } from "../../settings/problem.ts";
import type { Slice } from "../../config/slice.ts";
import { assign, type AssignedProblems, refusedCertificates, type SliceProblem } from "./assign.ts";
import { type IngressDraft, draftIngress } from "./draft.ts";
import { NO_GATEWAY_API } from "./gateway-api/objects.ts";
import type { ObjectStatus } from "./gateway-api/status-parts.ts";
import { readGatewayApi } from "./gateway-api/translate-gateway-api.ts";
import { classOf, createClassFilter, DEFAULT_INGRESS_CLASS } from "./ingress-class.ts";
import type { ForeignIngress } from "./left-alone.ts";
import {
  byAge,
  type EndpointSlice,
  type Ingress,
  keyOf,
  type KubeObjects,
  type LoadBalancerAddress,
  namespaceOf,
  namespaceOfKey,
} from "./objects.ts";
import type { KubeObject } from "../kube-object.ts";
import { type DraftProblem, ingressError, type IngressProblem, objectLabel } from "./ingress-problem.ts";
import type { Seal } from "./secret-values.ts";
import { canonicalPattern, createHostClaims, type HostClaims, type HostList } from "./hosts/host-claims.ts";
import { giveWay } from "./give-way.ts";
import { servableDrafts } from "./servable.ts";
import { createSliceSizes, tooLarge } from "./slice-size.ts";
import { withServedMembers } from "./annotations/served-members.ts";
import { DEFAULT_OWNER, slicesOf } from "./slices.ts";
import { type KeyPair, readCertificates } from "./hosts/tls.ts";

export interface TranslateOptions {
  /** Name of our IngressClass. */
  readonly ingressClass?: string;
  /** Owner of the controller: the slice of namespace "shop" has the owner "<owner>.shop". */
  readonly owner?: string;
  /** The operator's list of hosts that namespaces share, or that are reserved for some. */
  readonly hosts?: HostList;
  /** Services of type ExternalName are served. */
  readonly externalNames?: boolean;
  /** Scheme and port of the gateway for users: "https", or "http" with `insecure_server`; a port only if not the default. */
  readonly scheme?: "https" | "http";
  readonly port?: number;
  /** The gateway has `http_redirect_address`, which serves HTTP listeners of Gateways. */
  readonly plainHttp?: boolean;
  /** Addresses of the gateway, for Gateways and for routes of the Gateway API without a host. */
  readonly addresses?: readonly LoadBalancerAddress[];
  /** Suffix of Services' names. */
  readonly clusterDomain?: string;
  readonly seal?: Seal;
  /** Ignores `spec.tls`, and reads none of its Secrets. */
  readonly ignoreTls?: boolean;
  /** Last valid certificates of Secrets, from the previous translation. */
  readonly pairs?: ReadonlyMap<string, KeyPair>;
  /** Epoch milliseconds, for expiry warnings. */
  readonly nowMs?: number;
  /** Problems that the gateway reported for Ingresses ("namespace/name"): these, or their certificates, are omitted. */
  readonly refused?: ReadonlyMap<string, readonly DraftProblem[]>;
}

export interface TlsRequest {
  /** "namespace/name" of the Ingress. */
  readonly ingress: string;
  readonly hosts: readonly string[];
  /** "namespace/name" of the Secret with the certificate. */
  readonly secret?: string;
}

export interface Translation {
  /** One for each namespace with a served Ingress, by owner. */
  readonly slices: readonly Slice[];
  /** By Ingress, in the order of their locations. */
  readonly problems: readonly IngressProblem[];
  /** "namespace/name" of every Ingress of our class, in the order of their age, and whether it is served. */
  readonly ingresses: readonly { readonly key: string; readonly served: boolean }[];
  /** Ingresses of other classes, or of none. */
  readonly foreign: readonly ForeignIngress[];
  /** `spec.tls` of all Ingresses. */
  readonly tls: readonly TlsRequest[];
  /** Secret → certificate and key, current or last valid. Never publish or log them. */
  readonly pairs: ReadonlyMap<string, KeyPair>;
  /** "namespace/name" of every Secret that annotations and `spec.tls` name, existing or not. */
  readonly secrets: readonly string[];
  /** "namespace/name" of ConfigMaps that are read. */
  readonly configMaps: readonly string[];
  /** Labels of namespaces are read. */
  readonly needsNamespaces: boolean;
  /** Statuses of objects of the Gateway API, given all problems of routes. */
  readonly statuses: (problems: readonly IngressProblem[]) => readonly ObjectStatus[];
  /** An Ingress or route needs the endpoints of its Services: it requests them, or a Service is headless. */
  readonly usesEndpoints: boolean;
  /** Maps problems of a gateway with the slices to the Ingresses that caused them. */
  readonly assign: (problems: readonly SliceProblem[]) => AssignedProblems;
}

export async function translate(objects: KubeObjects, options: TranslateOptions = {}): Promise<Translation> {
  const owner = options.owner ?? DEFAULT_OWNER;
  const isOurs = createClassFilter({
    name: options.ingressClass ?? DEFAULT_INGRESS_CLASS,
    classes: objects.ingressClasses,
  });
  const context = {
    services: byKey(objects.services),
    endpointSlices: byService(objects.endpointSlices),
    secrets: byKey(objects.secrets),
    seal: options.seal,
    scheme: options.scheme ?? "https",
    port: options.port,
    plainHttp: options.plainHttp ?? false,
    clusterDomain: options.clusterDomain ?? "cluster.local",
    externalNames: options.externalNames ?? false,
  };
  // Over plain HTTP certificates are not used.
  const usesTls = options.ignoreTls !== true && context.scheme === "https";
  const ours = objects.ingresses.filter((ingress) => isOurs(ingress));
  const gatewayApi = await readGatewayApi(objects.gatewayApi ?? NO_GATEWAY_API, context, {
    addresses: options.addresses ?? [],
    ignoreTls: !usesTls,
  });
  const sources = [
    ...ours.map((object) => ({ object, read: () => draftIngress(object, context) })),
    ...gatewayApi.drafts.map(({ route, draft }) => ({ object: route, read: () => draft })),
  ].toSorted((a, b) => byAge(a.object, b.object));
  const drafts: IngressDraft[] = [];
  const sizes = createSliceSizes();
  for (const { read } of sources) {
    const draft = await read();
    if (sizes.take(draft)) drafts.push(draft);
    else {
      // Its hosts are not claimed either: an Ingress above the limit causes no further work.
      const nothing = { hosts: new Map<string, string>(), routes: [], tls: [], secrets: [], partial: true };
      drafts.push({ ...draft, ...nothing, problems: [tooLarge(draft.namespace)] });
    }
    await giveWay();
  }

  const bad = new Map<string, DraftProblem[]>();
  const claims = createHostClaims(options.hosts);
  // Solvers come last: they claim no host, and need one that their namespace has.
  for (const draft of drafts.toSorted((a, b) => Number(a.isSolver) - Number(b.isSolver))) {
    const refused = (options.refused?.get(draft.key) ?? []).filter((each) => each.certificateOf === undefined);
    bad.set(draft.key, [...draft.problems, ...hostProblems(draft, claims), ...refused]);
    await giveWay();
  }
  const servable = await servableDrafts(drafts, owner, bad);
  const served = withServedMembers(servable, owner, (key, problem) => append(bad, key, problem));
  const isServed = new Set(served.map(({ key }) => key));
  const tls = await readCertificates(usesTls ? served : [], {
    secrets: context.secrets,
    seal: options.seal,
    served: hostsOf(served),
    before: options.pairs ?? new Map(),
    refused: refusedCertificates(options.refused),
    nowMs: options.nowMs,
    sizes,
  });
  for (const [key, draftProblems] of tls.problems) append(bad, key, ...draftProblems);
  return {
    slices: slicesOf(served, owner, tls.certificates),
    problems: gatewayApi.problems.concat(drafts.flatMap(({ key }) => problemsOf(key, bad.get(key) ?? []))),
    ingresses: drafts.map((draft) => ({ key: draft.key, served: isServed.has(draft.key) })),
    foreign: objects.ingresses.filter((ingress) => !isOurs(ingress)).map(foreignIngress),
    tls: ours.toSorted(byAge).flatMap((ingress) => tlsOf(ingress)),
    pairs: tls.pairs,
    secrets: secretsOf([...drafts, ...gatewayApi.secrets], usesTls),
    configMaps: mostOfEach(gatewayApi.configMaps),
    needsNamespaces: gatewayApi.needsNamespaces,
    statuses: (problems) => gatewayApi.statuses(Map.groupBy(problems, ({ namespace, name }) => `${namespace}/${name}`)),
    usesEndpoints: drafts.some((draft) => draft.usesEndpoints),
    assign: (problems) => assign(problems, { served, owner, bringers: tls.bringers }),
  };
}

/** Hosts that belong to other namespaces. */
function hostProblems({ key, namespace, hosts, isSolver }: IngressDraft, claims: HostClaims): readonly DraftProblem[] {
  const problems = [...hosts].flatMap(([host, path]) => {
    if (isSolver && claims.holds(host, namespace)) return [];
    const message = isSolver
      ? `is ${quote(host)}, which no other Ingress of namespace ${namespace} has, must be a host of its namespace to answer a challenge there`
      : claims.claim({ host, namespace, label: objectLabel(key) });
    return message === undefined ? [] : [{ ...ingressError({ path }, message), reason: "HostnameConflict" }];
  });
  if (problems.length <= MAX_PROBLEMS) return problems;
  const { message } = moreProblems("error", problems.length - MAX_PROBLEMS);
  return [...problems.slice(0, MAX_PROBLEMS), ingressError({}, message)];
}

/** Hosts of routes, by namespace. */
function hostsOf(drafts: readonly IngressDraft[]): ReadonlyMap<string, ReadonlySet<string>> {
  const found = new Map<string, Set<string>>();
  for (const { namespace, routes, isSolver } of drafts) {
    const hosts = found.get(namespace) ?? new Set();
    found.set(namespace, hosts);
    if (!isSolver) for (const { place } of routes) hosts.add(canonicalPattern(place.host));
  }
  return found;
}

/** Limit per namespace, for Secrets and for ConfigMaps: each is watched by a separate connection. */
const MOST_WATCHED = 1_000;

/** By namespace, those of the oldest Ingresses first. */
function secretsOf(
  drafts: readonly Pick<IngressDraft, "namespace" | "secrets" | "tls">[],
  usesTls: boolean,
): readonly string[] {
  const found = new Map<string, Set<string>>();
  for (const { namespace, secrets, tls } of drafts) {
    const names = found.get(namespace) ?? new Set();
    found.set(namespace, names);
    const certificates = usesTls ? tls.map(({ secret }) => secret) : [];
    for (const name of [...secrets, ...certificates]) if (names.size < MOST_WATCHED) names.add(name);
  }
  return [...found.values()].flatMap((names) => [...names]).toSorted((a, b) => (a < b ? -1 : 1));
}

/** @param keys "namespace/name", those to prefer first */
function mostOfEach(keys: readonly string[]): readonly string[] {
  return [...Map.groupBy(keys, namespaceOfKey).values()].flatMap((some) => some.slice(0, MOST_WATCHED));
}

function foreignIngress(ingress: Ingress): ForeignIngress {
  const name = classOf(ingress);
  return {
    ingress,
    key: keyOf(ingress),
    className: name === undefined || typeof name === "string" ? name : describe(name),
  };
}

function problemsOf(key: string, draftProblems: readonly DraftProblem[]): readonly IngressProblem[] {
  const [namespace = "", name = ""] = key.split("/");
  return draftProblems.map((problem) => ({ ...problem, namespace, name }));
}

function tlsOf(ingress: Ingress): readonly TlsRequest[] {
  const entries = Array.isArray(ingress.spec?.tls) ? ingress.spec.tls : [];
  return entries.map(({ hosts = [], secretName }) => ({
    ingress: keyOf(ingress),
    hosts,
    ...(secretName === undefined ? {} : { secret: `${namespaceOf(ingress)}/${secretName}` }),
  }));
}

function byKey<T extends KubeObject>(objects: readonly T[]): ReadonlyMap<string, T> {
  return new Map(objects.map((object) => [keyOf(object), object]));
}

function byService(slices: readonly EndpointSlice[]): ReadonlyMap<string, readonly EndpointSlice[]> {
  const found = Map.groupBy(slices, (slice) => {
    return `${namespaceOf(slice)}/${slice.metadata.labels?.["kubernetes.io/service-name"] ?? ""}`;
  });
  return found;
}
