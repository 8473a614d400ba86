/** What the controller asks of an API server, and how it is refused. Values are plain JSON, as in manifests. */
import { GatewayError } from "../../shared/errors.ts";

export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** "/api/v1/namespaces/shop/events". */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly signal?: AbortSignal;
  /** For the head of the response, instead of the client's usual time. */
  readonly timeoutMs?: number;
}

export interface KubeClient {
  /** @throws KubeError with the status; GatewayError `kube.unreachable` */
  request<T>(request: KubeRequest): Promise<T>;
  /**
   * Lines of a watch, as they come; ends when the server ends it. `onOpen`: the server took it.
   *
   * @throws KubeError, or GatewayError `kube.unreachable` also in the middle; SilentWatch
   */
  watch(request: Omit<KubeRequest, "method" | "body"> & { readonly onOpen?: () => void }): AsyncIterable<string>;
  close(): Promise<void>;
}

/** `reason` of what is not created because its namespace is being deleted. */
export const NAMESPACE_ENDS = "NamespaceTerminating";

/** The API server said no. */
export class KubeError extends GatewayError {
  readonly status: number;
  /** "Conflict", "Expired", "AlreadyExists", …; "" when the server gave none. */
  readonly reason: string;
  /** The server asks to wait this long. */
  readonly retryAfterMs: number | undefined;
  /** What is missing by its Roles where it said 403, as they have it: "update ingresses/status". Without names of objects. */
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

/** A watch got no byte for so long that it may be dead. */
export class SilentWatch extends GatewayError {
  constructor(path: string, silenceMs: number) {
    super("kube.unreachable", `Cannot watch ${path}: no bookmark within ${silenceMs} ms`);
  }
}

/** For a line of the log. */
export function missingRight(error: unknown): { readonly right?: string } {
  return error instanceof KubeError && error.right !== undefined ? { right: error.right } : {};
}

const VERBS = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" } as const;

/**
 * What a request needs.
 *
 * @see https://kubernetes.io/docs/reference/access-authn-authz/authorization/#determine-the-request-verb
 */
export function rightAsked({ method, path, query }: Pick<KubeRequest, "method" | "path" | "query">): string {
  const [, resource = "other", name, part] =
    /^\/(?:api|apis\/[^/]+)\/v1\/(?:namespaces\/[^/]+\/)?([a-z]+)(?:\/([^/]+)(?:\/([a-z]+))?)?$/.exec(path) ?? [];
  const reading = name !== undefined ? "get" : query?.["watch"] === "true" ? "watch" : "list";
  const verb = method === "GET" ? reading : VERBS[method];
  return `${verb} ${resource}${part === undefined ? "" : `/${part}`}`;
}

export function isStatus(error: unknown, status: number): boolean {
  return error instanceof KubeError && error.status === status;
}

/** Where the resources live that are read and written here. */
export const PATHS = {
  ingresses: { api: "/apis/networking.k8s.io/v1", name: "ingresses" },
  services: { api: "/api/v1", name: "services" },
  secrets: { api: "/api/v1", name: "secrets" },
  events: { api: "/api/v1", name: "events" },
  endpointSlices: { api: "/apis/discovery.k8s.io/v1", name: "endpointslices" },
  leases: { api: "/apis/coordination.k8s.io/v1", name: "leases" },
} as const;

export const INGRESS_CLASSES_PATH = "/apis/networking.k8s.io/v1/ingressclasses";

/** Path of a collection, in one namespace or in all. */
export function collectionPath(resource: keyof typeof PATHS, namespace?: string): string {
  const { api, name } = PATHS[resource];
  return namespace === undefined ? `${api}/${name}` : `${api}/namespaces/${encodeURIComponent(namespace)}/${name}`;
}

export function objectPath(resource: keyof typeof PATHS, namespace: string, name: string): string {
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}`;
}
