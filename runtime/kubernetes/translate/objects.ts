/**
 * The parts of Kubernetes objects that are read here, in the API server's form.
 *
 * Own types instead of the client library's classes: translating needs no client, and manifests in files are plain JSON
 * values. All members that an object may lack are optional, since no API server has validated files.
 */

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly annotations?: Readonly<Record<string, unknown>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly managedFields?: unknown;
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

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
    readonly externalName?: string;
    readonly ports?: readonly { readonly name?: string; readonly port: number; readonly protocol?: string }[];
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
