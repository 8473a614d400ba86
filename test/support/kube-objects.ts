/** Objects and paths of the API server of tests. */

export interface StoredObject {
  readonly kind?: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly creationTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [member: string]: unknown;
}

export interface KubeCollection {
  /** "ingresses". */
  readonly collection: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly status: boolean;
}

const GROUPS: Readonly<Record<string, readonly string[]>> = {
  "/api/v1": ["services", "secrets", "events", "namespaces", "configmaps"],
  "/apis/networking.k8s.io/v1": ["ingresses", "ingressclasses"],
  "/apis/discovery.k8s.io/v1": ["endpointslices"],
  "/apis/gateway.networking.k8s.io/v1": [
    "gatewayclasses",
    "gateways",
    "httproutes",
    "grpcroutes",
    "referencegrants",
    "backendtlspolicies",
  ],
  "/apis/ingress.gateway.io/v1alpha1": ["gatewayroutepolicies"],
  "/apis/coordination.k8s.io/v1": ["leases"],
};

/** Names of the collections of a group of the Gateway API; undefined for another path. */
export function readGroup(path: string): readonly string[] | undefined {
  return isGatewayGroup(`${path}/`) ? GROUPS[path] : undefined;
}

export function isOfGatewayApi(collection: string): boolean {
  return Object.entries(GROUPS).some(([group, names]) => isGatewayGroup(group) && names.includes(collection));
}

function isGatewayGroup(group: string): boolean {
  return group.startsWith("/apis/gateway.networking.k8s.io/") || group.startsWith("/apis/ingress.gateway.io/");
}

/** undefined for a path that no such server has. */
export function readCollection(path: string): KubeCollection | undefined {
  const match = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(\/status)?$/.exec(
    path,
  );
  const [, group = "", namespace, collection = "", name, status] = match ?? [];
  if (!match || !GROUPS[group]?.includes(collection)) return undefined;
  return {
    collection,
    ...(namespace === undefined ? {} : { namespace: decodeURIComponent(namespace) }),
    ...(name === undefined ? {} : { name: decodeURIComponent(name) }),
    status: status !== undefined,
  };
}

/** The Status object of a refusal. */
export function refusal(code: number, reason: string, message = `${reason} (test)`): object {
  return { kind: "Status", apiVersion: "v1", status: "Failure", message, reason, code };
}

/** RFC 7396. */
export function applyMergePatch<T extends object>(target: T, patch: object): T {
  const next = { ...target } as Record<string, unknown>;
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete next[name];
    else if (typeof value === "object" && !Array.isArray(value)) {
      next[name] = applyMergePatch(next[name] ?? {}, value as object);
    } else next[name] = value;
  }
  return next as T;
}
