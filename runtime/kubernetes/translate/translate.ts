/**
 * Ingresses of our class → a slice for each namespace, and what is wrong with each of the others.
 *
 * Untrusted input: every object; whoever may write an Ingress is a team, not the gateway's operator. Promises: a bad
 * Ingress is left out whole and named with its place and a wish, and changes nothing for the others; a host serves one
 * namespace (host-claims.ts); of two Ingresses that claim the same requests the older one keeps them; no value of a
 * Secret is in a slice or in a message. Does no I/O; equal objects give equal slices, seals apart.
 *
 * @see test/requirements.ts, "Header settings (per route)"; DESIGN.md D2, D5, D7
 */
import { describe, type Problem, quote } from "../../settings/problem.ts";
import type { Slice } from "../../config/slice.ts";
import { type IngressDraft, draftIngress } from "./draft.ts";
import { classOf, createClassFilter, DEFAULT_INGRESS_CLASS } from "./ingress-class.ts";
import type { ForeignIngress } from "./left-alone.ts";
import { type EndpointSlice, type Ingress, keyOf, type KubeObject, type KubeObjects, namespaceOf } from "./objects.ts";
import { type Complaint, fault, type IngressProblem } from "./ingress-problem.ts";
import type { Seal } from "./secret-values.ts";
import { createHostClaims, type HostClaims, type HostList } from "./host-claims.ts";
import { assignProblems, settle } from "./servable.ts";
import { DEFAULT_OWNER, namespaceIn, slicesOf } from "./slices.ts";

export interface TranslateOptions {
  /** Name of our IngressClass. */
  readonly ingressClass?: string;
  /** Of the controller: the slice of namespace "shop" has the owner "<owner>.shop". */
  readonly owner?: string;
  /** The operator's list of hosts that namespaces share, or that are kept for some. */
  readonly hosts?: HostList;
  /** Services of type ExternalName are served. */
  readonly externalNames?: boolean;
  /** How users reach the gateway: "https", or "http" with `insecure_server`; a port when it is not the usual one. */
  readonly scheme?: "https" | "http";
  readonly port?: number;
  /** Behind which names of Services end. */
  readonly clusterDomain?: string;
  readonly seal?: Seal;
  /** What the gateway itself said of Ingresses ("namespace/name") that it refused: they are left out too. */
  readonly refused?: ReadonlyMap<string, readonly Complaint[]>;
}

export interface TlsRequest {
  /** "namespace/name" of the Ingress. */
  readonly ingress: string;
  readonly hosts: readonly string[];
  /** "namespace/name" of the Secret with the certificate. */
  readonly secret?: string;
}

export interface Translation {
  /** One for each namespace with an Ingress that is served, by owner. */
  readonly slices: readonly Slice[];
  /** By Ingress, then as they stand in it. */
  readonly problems: readonly IngressProblem[];
  /** "namespace/name" of every Ingress of our class, in the order of their age, and whether it is served. */
  readonly ingresses: readonly { readonly key: string; readonly served: boolean }[];
  /** Those of other classes, or of none. */
  readonly foreign: readonly ForeignIngress[];
  /** What Ingresses say about TLS. Certificates are settings of the gateway's boot file, which no slice may set. */
  readonly tls: readonly TlsRequest[];
  /** "namespace/name" of every Secret that annotations name, there or not. */
  readonly secrets: readonly string[];
  /** Some Ingress wants the endpoints of its Services rather than the Services. */
  readonly usesEndpoints: boolean;
  /** Gives problems that a gateway has with the slices back to the Ingresses that caused them. */
  readonly assign: (problems: readonly SliceProblem[]) => AssignedProblems;
}

export interface SliceProblem extends Pick<Problem, "severity" | "path" | "message"> {
  /** Of the slice that has it; undefined when it is none of ours. */
  readonly owner: string | undefined;
}
export type AssignedProblems = ReturnType<typeof assignProblems<SliceProblem>>;

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
    clusterDomain: options.clusterDomain ?? "cluster.local",
    externalNames: options.externalNames ?? false,
  };
  const ours = objects.ingresses.filter((ingress) => isOurs(ingress)).toSorted(byAge);
  const drafts: IngressDraft[] = [];
  for (const ingress of ours) drafts.push(await draftIngress(ingress, context));

  const bad = new Map<string, Complaint[]>();
  const claims = createHostClaims(options.hosts);
  // Last: a solver claims no host, and needs one that its namespace has.
  for (const draft of drafts.toSorted((a, b) => Number(a.isSolver) - Number(b.isSolver))) {
    const refused = options.refused?.get(draft.key) ?? [];
    bad.set(draft.key, [...draft.complaints, ...hostFaults(draft, claims), ...refused]);
  }
  const served = settle(drafts, owner, bad);
  return {
    slices: slicesOf(served, owner),
    problems: drafts.flatMap(({ key }) => problemsOf(key, bad.get(key) ?? [])),
    ingresses: drafts.map((draft) => ({ key: draft.key, served: served.includes(draft) })),
    foreign: objects.ingresses.filter((ingress) => !isOurs(ingress)).map(foreignIngress),
    tls: ours.flatMap((ingress) => tlsOf(ingress)),
    secrets: [...new Set(drafts.flatMap(({ secrets }) => secrets))].toSorted((a, b) => (a < b ? -1 : 1)),
    usesEndpoints: drafts.some((draft) => draft.usesEndpoints),
    assign: (problems) => assign(problems, served, owner),
  };
}

/** Hosts that belong to other namespaces. */
function hostFaults({ key, namespace, hosts, isSolver }: IngressDraft, claims: HostClaims): readonly Complaint[] {
  return [...hosts].flatMap(([host, path]) => {
    if (isSolver && claims.holds(host, namespace)) return [];
    const message = isSolver
      ? `is ${quote(host)}, which no other Ingress of namespace ${namespace} has, must be a host of its namespace to answer a challenge there`
      : claims.claim({ host, namespace, ingress: key });
    return message === undefined ? [] : [fault({ path }, message)];
  });
}

/** What is wrong with a whole slice (its owner has no rights) is wrong with each Ingress of the namespace. */
function assign(
  problems: readonly SliceProblem[],
  served: readonly IngressDraft[],
  owner: string,
): ReturnType<typeof assignProblems<SliceProblem>> {
  const ours = problems.filter((problem) => problem.owner !== undefined);
  const { found, others } = assignProblems(ours, served);
  const all = new Map(found);
  const strangers: SliceProblem[] = problems.filter((problem) => problem.owner === undefined);
  for (const problem of others) {
    const namespace = namespaceIn(owner, problem.owner ?? "");
    const concerned = served.filter((draft) => draft.namespace === namespace);
    if (concerned.length === 0) strangers.push(problem);
    const state = problem.path === "" ? problem.message : `"${problem.path}" ${problem.message}`;
    const complaint = fault({}, `its namespace is refused by the gateway: ${state}`);
    for (const { key } of concerned) all.set(key, [...(all.get(key) ?? []), complaint]);
  }
  return { found: all, others: strangers.filter(({ severity }) => severity === "error") };
}

function foreignIngress(ingress: Ingress): ForeignIngress {
  const name = classOf(ingress);
  return {
    ingress,
    key: keyOf(ingress),
    className: name === undefined || typeof name === "string" ? name : describe(name),
  };
}

function problemsOf(key: string, complaints: readonly Complaint[]): readonly IngressProblem[] {
  const [namespace = "", name = ""] = key.split("/");
  return complaints.map((complaint) => ({ ...complaint, namespace, name }));
}

function tlsOf(ingress: Ingress): readonly TlsRequest[] {
  const entries = Array.isArray(ingress.spec?.tls) ? ingress.spec.tls : [];
  return entries.map(({ hosts = [], secretName }) => ({
    ingress: keyOf(ingress),
    hosts,
    ...(secretName === undefined ? {} : { secret: `${namespaceOf(ingress)}/${secretName}` }),
  }));
}

/** The older keeps what both claim; of the same age the one whose namespace, then whose name comes first. */
function byAge(a: Ingress, b: Ingress): number {
  const [one, other] = [ageOf(a), ageOf(b)];
  // Two without an age: Infinity less Infinity is no number.
  if (one !== other) return one - other;
  const [namespace, another] = [namespaceOf(a), namespaceOf(b)];
  if (namespace !== another) return namespace < another ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

function ageOf({ metadata }: Ingress): number {
  const at = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at;
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
