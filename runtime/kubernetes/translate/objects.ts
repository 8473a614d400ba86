/**
 * The parts of Kubernetes objects that are read here, in the API server's form.
 *
 * Own types instead of the client library's classes: translating needs no client, and manifests in files are plain JSON
 * values. All members that an object may lack are optional, since no API server has validated files.
 */
import type { KubeObject } from "../kube-object.ts";
import type { GatewayApiObjects } from "./gateway-api/objects.ts";

export interface IngressBackend {
  readonly service?: { readonly name: string; readonly port?: { readonly name?: string; readonly number?: number } };
  readonly resource?: unknown;
}

export interface IngressPath {
  readonly path?: string;
  readonly pathType?: string;
  readonly backend?: IngressBackend;
}

export interface IngressRule {
  readonly host?: string;
  readonly http?: { readonly paths?: readonly IngressPath[] };
}

/** @see https://kubernetes.io/docs/reference/kubernetes-api/service-resources/ingress-v1/ */
export interface Ingress extends KubeObject {
  readonly spec?: {
    readonly ingressClassName?: string;
    readonly defaultBackend?: IngressBackend;
    readonly tls?: readonly { readonly hosts?: readonly string[]; readonly secretName?: string }[];
    readonly rules?: readonly IngressRule[];
  };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly LoadBalancerAddress[] } };
}

export interface LoadBalancerAddress {
  readonly ip?: string;
  readonly hostname?: string;
}

export interface IngressClass extends KubeObject {
  readonly spec?: { readonly controller?: string };
}

export interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    /** "None": headless. */
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port: number;
      readonly protocol?: string;
      readonly appProtocol?: string;
    }[];
  };
  readonly status?: { readonly loadBalancer?: { readonly ingress?: readonly LoadBalancerAddress[] } };
}

export interface EndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly ports?: readonly { readonly name?: string | null; readonly port?: number | null }[] | null;
  readonly endpoints?:
    | readonly {
        readonly addresses?: readonly string[];
        readonly conditions?: { readonly ready?: boolean | null };
      }[]
    | null;
}

export interface Secret extends KubeObject {
  /** Base64. */
  readonly data?: Readonly<Record<string, string>>;
  /** Plain, in manifests only: the API server moves it to `data`. */
  readonly stringData?: Readonly<Record<string, string>>;
}

/** All objects of a translation. */
export interface KubeObjects {
  readonly ingresses: readonly Ingress[];
  readonly ingressClasses: readonly IngressClass[];
  readonly services: readonly Service[];
  readonly endpointSlices: readonly EndpointSlice[];
  readonly secrets: readonly Secret[];
  /** Absent where it is not installed. */
  readonly gatewayApi?: GatewayApiObjects;
}

/** "namespace/name", the key of objects, also in messages. */
export function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? "default"}/${metadata.name}`;
}

/** "shop/web" → "shop". */
export function namespaceOfKey(key: string): string {
  return key.slice(0, key.indexOf("/"));
}

/** The items of a list of blocks, if it is one; no API server has validated files. */
export function itemsOf<T extends object>(value: readonly T[] | null | undefined): readonly T[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "object" && item !== null) : [];
}

export function namespaceOf({ metadata }: KubeObject): string {
  return metadata.namespace ?? "default";
}

/** RFC 1123 subdomain: the form of names of Secrets and Services. */
export function isObjectName(text: unknown): text is string {
  return typeof text === "string" && /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(text);
}

/** RFC 1123 label: without a dot, so that "<namespace>.<name>" is unambiguous. */
export function isNamespace(text: unknown): text is string {
  return typeof text === "string" && /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}

/** Oldest first; at the same age by namespace, then by name. */
export function byAge(a: KubeObject, b: KubeObject): number {
  const [one, other] = [ageOf(a), ageOf(b)];
  // Both without an age: Infinity minus Infinity is NaN.
  if (one !== other) return one - other;
  const [namespace, another] = [namespaceOf(a), namespaceOf(b)];
  if (namespace !== another) return namespace < another ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : Number(a.metadata.name > b.metadata.name);
}

function ageOf({ metadata }: KubeObject): number {
  const at = Date.parse(metadata.creationTimestamp ?? "");
  return Number.isNaN(at) ? Number.POSITIVE_INFINITY : at;
}
