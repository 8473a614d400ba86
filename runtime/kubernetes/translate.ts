/**
 * Ingresses of our class → one slice, and what is wrong with each of the others.
 *
 * Untrusted input: every object; whoever may write an Ingress is a team, not the gateway's operator. Promises: a bad
 * Ingress is left out whole and named with its place and a wish, and changes nothing for the others; of two Ingresses
 * that claim the same requests the older one keeps them; no value of a Secret is in the slice or in a message. Does no
 * I/O; equal objects give an equal slice, seals apart.
 *
 * @see requirements, "Header settings (per route)"; decisions D2, D5, D7
 */
import { judgeConflicts } from "../config/conflicts.ts";
import { formatProblem, type Problem } from "../config/problem.ts";
import { type ReadSlice, readSlice } from "../config/read-slice.ts";
import type { RouteDoc } from "../config/route.ts";
import type { Slice } from "../config/slice.ts";
import { GatewayError } from "../errors.ts";
import { type IngressDraft, draftIngress } from "./draft.ts";
import { createClassFilter, DEFAULT_INGRESS_CLASS } from "./ingress-class.ts";
import { type EndpointSlice, type Ingress, keyOf, type KubeObject, type KubeObjects, namespaceOf } from "./objects.ts";
import { complaintOf } from "./place.ts";
import { type Complaint, fault, type IngressProblem } from "./problem.ts";
import type { Seal } from "./secret-values.ts";

export interface TranslateOptions {
  /** Name of our IngressClass. */
  readonly ingressClass?: string;
  /** Owner of the slice. */
  readonly owner?: string;
  /** How users reach the gateway: "https", or "http" with `insecure_server`; a port when it is not the usual one. */
  readonly scheme?: "https" | "http";
  readonly port?: number;
  /** Behind which names of Services end. */
  readonly clusterDomain?: string;
  readonly seal?: Seal;
}

export interface TlsRequest {
  /** "namespace/name" of the Ingress. */
  readonly ingress: string;
  readonly hosts: readonly string[];
  /** "namespace/name" of the Secret with the certificate. */
  readonly secret?: string;
}

export interface Translation {
  readonly slice: Slice;
  /** By Ingress, then as they stand in it. */
  readonly problems: readonly IngressProblem[];
  /** "namespace/name" of every Ingress of our class, in the order of their age, and whether it is served. */
  readonly ingresses: readonly { readonly key: string; readonly served: boolean }[];
  /** Route name → "namespace/name" of its Ingress. */
  readonly origins: ReadonlyMap<string, string>;
  /** What Ingresses say about TLS. Certificates are settings of the gateway's boot file, which no slice may set. */
  readonly tls: readonly TlsRequest[];
}

export const DEFAULT_OWNER = "kubernetes";

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
  };
  const ours = objects.ingresses.filter((ingress) => isOurs(ingress)).toSorted(byAge);
  const drafts: IngressDraft[] = [];
  for (const ingress of ours) drafts.push(await draftIngress(ingress, context));

  const bad = new Map<string, Complaint[]>();
  for (const { key, complaints } of drafts) bad.set(key, [...complaints]);
  const served = settle(drafts, owner, bad);
  return {
    slice: sliceOf(served, owner),
    problems: drafts.flatMap(({ key }) => problemsOf(key, bad.get(key) ?? [])),
    ingresses: drafts.map((draft) => ({ key: draft.key, served: served.includes(draft) })),
    origins: new Map(served.flatMap(({ key, routes }) => routes.map(({ name }) => [name, key] as const))),
    tls: ours.flatMap((ingress) => tlsOf(ingress)),
  };
}

/** Those that can be served together. What is wrong with the others is added to `bad`. */
function settle(
  drafts: readonly IngressDraft[],
  owner: string,
  bad: Map<string, Complaint[]>,
): readonly IngressDraft[] {
  // First each by itself, bad ones too, so that everything wrong is told at once. An Ingress that is bad anyway takes no
  // request from another one: conflicts are looked for among the good ones.
  const whole = drafts.filter(({ partial }) => !partial);
  for (const [key, complaints] of judge(whole, owner, false)) addNew(bad, key, complaints);
  for (;;) {
    const left = drafts.filter(({ key }) => !isBad(bad.get(key)));
    const found = judge(left, owner, true);
    for (const [key, complaints] of found) addNew(bad, key, complaints);
    if (left.every(({ key }) => !isBad(found.get(key)))) return left;
  }
}

/** Judges the routes as the gateway will, and gives each problem back to the Ingress that caused it. */
function judge(
  drafts: readonly IngressDraft[],
  owner: string,
  withConflicts: boolean,
): ReadonlyMap<string, readonly Complaint[]> {
  const problems: Problem[] = [];
  const text = JSON.stringify(sliceOf(drafts, owner));
  const slice: ReadSlice | undefined = readSlice({ file: FILE, text, boot: false }, problems);
  if (withConflicts && slice) judgeConflicts(slice.routes);
  const { found, others } = complaintsByIngress(problems, drafts);
  if (others.length === 0) return found;
  // Something makes the whole slice unreadable (values nested too deeply are such a thing). Alone, it is the one to blame.
  const [draft] = drafts;
  if (drafts.length === 1 && draft) return new Map([[draft.key, others.map(({ message }) => fault({}, message))]]);
  const alone = drafts.flatMap((each) => [...judge([each], owner, false)]);
  if (alone.some(([, complaints]) => isBad(complaints))) return new Map(alone);
  throw new GatewayError("kubernetes.slice", `Cannot make a slice: ${others.map(formatProblem).join("; ")}`);
}

/** Name of the slice in messages of the judge; never shown. */
const FILE = "slice";

function complaintsByIngress(
  problems: readonly Problem[],
  drafts: readonly IngressDraft[],
): { readonly found: ReadonlyMap<string, readonly Complaint[]>; readonly others: readonly Problem[] } {
  const others: Problem[] = [];
  const found = new Map<string, Complaint[]>();
  const drafted = new Map(drafts.flatMap((draft) => draft.routes.map((route) => [route.name, draft] as const)));
  const ingressOf = (name: string): string | undefined => drafted.get(name)?.key;
  for (const problem of problems) {
    const complaint = complaintOf(problem, drafted, { file: FILE, ingressOf });
    if (complaint) addNew(found, complaint.key, [complaint.complaint]);
    else if (problem.severity === "error") others.push(problem);
  }
  return { found, others };
}

function sliceOf(drafts: readonly IngressDraft[], owner: string): Slice {
  const routes = drafts.flatMap((draft) => draft.routes.map(({ name, doc }) => [name, doc as RouteDoc] as const));
  return { version: 1, owner, routes: Object.fromEntries(routes) };
}

/** Routes of one Ingress share its annotations, so what is wrong with one is wrong with all: said once. */
function addNew(target: Map<string, Complaint[]>, key: string, complaints: readonly Complaint[]): void {
  const known = target.get(key) ?? [];
  const texts = new Set(known.map((each) => JSON.stringify(each)));
  for (const complaint of complaints) {
    const text = JSON.stringify(complaint);
    if (!texts.has(text)) known.push(complaint);
    texts.add(text);
  }
  target.set(key, known);
}

function isBad(complaints: readonly Complaint[] = []): boolean {
  return complaints.some(({ severity }) => severity === "error");
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

/** The older keeps what both claim; of the same age the one whose name comes first. */
function byAge(a: Ingress, b: Ingress): number {
  const [one, other] = [ageOf(a), ageOf(b)];
  if (one !== other) return one - other;
  return keyOf(a) < keyOf(b) ? -1 : 1;
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
