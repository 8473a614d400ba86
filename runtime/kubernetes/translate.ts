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
import type { Problem } from "../config/problem.ts";
import type { Slice } from "../config/slice.ts";
import { type IngressDraft, draftIngress } from "./draft.ts";
import { createClassFilter, DEFAULT_INGRESS_CLASS } from "./ingress-class.ts";
import { type EndpointSlice, type Ingress, keyOf, type KubeObject, type KubeObjects, namespaceOf } from "./objects.ts";
import type { Complaint, IngressProblem } from "./problem.ts";
import type { Seal } from "./secret-values.ts";
import { assignProblems, settle, sliceOf } from "./settle.ts";

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
  readonly slice: Slice;
  /** By Ingress, then as they stand in it. */
  readonly problems: readonly IngressProblem[];
  /** "namespace/name" of every Ingress of our class, in the order of their age, and whether it is served. */
  readonly ingresses: readonly { readonly key: string; readonly served: boolean }[];
  /** What Ingresses say about TLS. Certificates are settings of the gateway's boot file, which no slice may set. */
  readonly tls: readonly TlsRequest[];
  /** "namespace/name" of every Secret that annotations name, there or not. */
  readonly secrets: readonly string[];
  /** Some Ingress wants the endpoints of its Services rather than the Services. */
  readonly usesEndpoints: boolean;
  /** Gives problems that a gateway has with the slice back to the Ingresses that caused them. */
  readonly assign: (problems: readonly SliceProblem[], file: string) => AssignedProblems;
}

export type SliceProblem = Pick<Problem, "severity" | "path" | "message">;
export type AssignedProblems = ReturnType<typeof assignProblems<SliceProblem>>;

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
  for (const { key, complaints } of drafts) bad.set(key, [...complaints, ...(options.refused?.get(key) ?? [])]);
  const served = settle(drafts, owner, bad);
  return {
    slice: sliceOf(served, owner),
    problems: drafts.flatMap(({ key }) => problemsOf(key, bad.get(key) ?? [])),
    ingresses: drafts.map((draft) => ({ key: draft.key, served: served.includes(draft) })),
    tls: ours.flatMap((ingress) => tlsOf(ingress)),
    secrets: [...new Set(drafts.flatMap(({ secrets }) => secrets))].toSorted((a, b) => (a < b ? -1 : 1)),
    usesEndpoints: drafts.some((draft) => draft.usesEndpoints),
    assign: (problems, file) => assignProblems(problems, drafts, file),
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
