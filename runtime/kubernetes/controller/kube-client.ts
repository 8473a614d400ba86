/** Requests of the controller to an API server, and their errors. Values are plain JSON, as in manifests. */
import { GatewayError } from "../../shared/errors.ts";
import { GATEWAY_GROUP, POLICY_GROUP } from "../translate/gateway-api/objects.ts";

export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** "/api/v1/namespaces/shop/events". */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly signal?: AbortSignal;
  /** Timeout for the head of the response, instead of the client's default. */
  readonly timeoutMs?: number;
}

export interface KubeClient {
  /** @throws KubeError with the status; GatewayError `kube.unreachable` */
  request<T>(request: KubeRequest): Promise<T>;
  /**
   * Lines of a watch, as they come; ends when the server ends it. `onOpen`: the server accepted it.
   *
   * @throws KubeError, or GatewayError `kube.unreachable` also in the middle; SilentWatch
   */
  watch(request: Omit<KubeRequest, "method" | "body"> & { readonly onOpen?: () => void }): AsyncIterable<string>;
  close(): Promise<void>;
}

/** `reason` of a rejected creation because the namespace is being deleted. */
export const NAMESPACE_ENDS = "NamespaceTerminating";

/** An error status of the API server. */
export class KubeError extends GatewayError {
  readonly status: number;
  /** "Conflict", "Expired", "AlreadyExists", …; "" when the server sent none. */
  readonly reason: string;
  /** The server asks to wait this long. */
  readonly retryAfterMs: number | undefined;
  /** Missing permission of a 403, in the form of Roles: "update ingresses/status". Without names of objects. */
  readonly right: string | undefined;

  constructor(
    message: string,
    about: { status: number; reason?: string; retryAfterMs?: number | undefined; right?: string | undefined },
  ) {
    super("kube.refused", message);
    this.status = about.status;
    this.reason = about.reason ?? "";
    this.retryAfterMs = about.retryAfterMs;
    this.right = about.right;
  }
}

/** A watch got no byte within `silenceMs`, so it may be dead. */
export class SilentWatch extends GatewayError {
  constructor(path: string, silenceMs: number) {
    super("kube.unreachable", `Cannot watch ${path}: no bookmark within ${silenceMs} ms`);
  }
}

/** Field for a log line. */
export function missingRight(error: unknown): { readonly right?: string } {
  return error instanceof KubeError && error.right !== undefined ? { right: error.right } : {};
}

const VERBS = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" } as const;

/**
 * The permission that a request needs.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
 */
export function rightAsked({ method, path, query }: Pick<KubeRequest, "method" | "path" | "query">): string {
  const [, resource = "other", name, part] =
    /^\/(?:api|apis\/[^/]+)\/v1(?:alpha1)?\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+)(?:\/([a-z]+))?)?$/.exec(
      path,
    ) ?? [];
  const reading = name !== undefined ? "get" : query?.["watch"] === "true" ? "watch" : "list";
  const verb = method === "GET" ? reading : VERBS[method];
  return `${verb} ${resource}${part === undefined ? "" : `/${part}`}`;
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof KubeError && error.status === status;
}

const GATEWAY_API = `/apis/${GATEWAY_GROUP}/v1`;

/** API paths of the resources that the controller reads and writes. */
export const PATHS = {
  ingresses: { api: "/apis/networking.k8s.io/v1", name: "ingresses" },
  services: { api: "/api/v1", name: "services" },
  secrets: { api: "/api/v1", name: "secrets" },
  events: { api: "/api/v1", name: "events" },
  endpointSlices: { api: "/apis/discovery.k8s.io/v1", name: "endpointslices" },
  configMaps: { api: "/api/v1", name: "configmaps" },
  httpRoutes: { api: GATEWAY_API, name: "httproutes" },
  grpcRoutes: { api: GATEWAY_API, name: "grpcroutes" },
  gateways: { api: GATEWAY_API, name: "gateways" },
  backendTlsPolicies: { api: GATEWAY_API, name: "backendtlspolicies" },
  referenceGrants: { api: GATEWAY_API, name: "referencegrants" },
  routePolicies: { api: `/apis/${POLICY_GROUP}/v1alpha1`, name: "gatewayroutepolicies" },
  leases: { api: "/apis/coordination.k8s.io/v1", name: "leases" },
} as const;

/** Collections without namespaces. */
export const INGRESS_CLASSES_PATH = "/apis/networking.k8s.io/v1/ingressclasses";
export const GATEWAY_CLASSES_PATH: string = `${GATEWAY_API}/gatewayclasses`;
export const NAMESPACES_PATH = "/api/v1/namespaces";

/** Path of a collection, in one namespace or in all. */
export function collectionPath(resource: keyof typeof PATHS, namespace?: string): string {
  const { api, name } = PATHS[resource];
  return namespace === undefined ? `${api}/${name}` : `${api}/namespaces/${encodeURIComponent(namespace)}/${name}`;
}

export function objectPath(resource: keyof typeof PATHS, namespace: string, name: string): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
}
