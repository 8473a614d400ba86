/** The parts of Gateway API objects that are read here, in the API server's form. @see https://gateway-api.sigs.k8s.io/reference/spec/ */
import type { KubeObject } from "../../kube-object.ts";

export const GATEWAY_GROUP = "gateway.networking.k8s.io";
/** Group of `GatewayRoutePolicy`, as of our annotations. */
export const POLICY_GROUP = "ingress.gateway.io";
export const POLICY_KIND = "GatewayRoutePolicy";

/** Kinds of routes that are served. */
export const ROUTE_KINDS = ["HTTPRoute", "GRPCRoute"] as const;
export type GatewayRouteKind = (typeof ROUTE_KINDS)[number];

export interface Condition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
}

export interface GatewayClass extends KubeObject {
  readonly spec?: {
    readonly controllerName?: string;
    readonly parametersRef?: {
      readonly group?: string;
      readonly kind?: string;
      readonly name?: string;
      readonly namespace?: string;
    };
  };
  readonly status?: object;
}

export interface ObjectRef {
  readonly group?: string;
  readonly kind?: string;
  readonly namespace?: string;
  readonly name: string;
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface GatewayListener {
  readonly name: string;
  readonly hostname?: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls?: { readonly mode?: string; readonly certificateRefs?: readonly ObjectRef[] };
  readonly allowedRoutes?: {
    readonly namespaces?: { readonly from?: string; readonly selector?: LabelSelector };
    readonly kinds?: readonly { readonly group?: string; readonly kind: string }[];
  };
}

export interface GatewayObject extends KubeObject {
  readonly spec?: {
    readonly gatewayClassName?: string;
    readonly listeners?: readonly GatewayListener[];
    readonly addresses?: readonly { readonly type?: string; readonly value?: string }[];
    readonly infrastructure?: { readonly parametersRef?: object };
  };
  readonly status?: object;
}

export interface ParentRef extends ObjectRef {
  readonly sectionName?: string;
  readonly port?: number;
}

export interface HeaderMatch {
  readonly type?: string;
  readonly name: string;
  readonly value: string;
}

export interface HttpMatch {
  readonly path?: { readonly type?: string; readonly value?: string };
  readonly headers?: readonly HeaderMatch[];
  readonly queryParams?: readonly HeaderMatch[];
  readonly method?: string;
}

export interface GrpcMatch {
  readonly method?: { readonly type?: string; readonly service?: string; readonly method?: string };
  readonly headers?: readonly HeaderMatch[];
}

export interface HeaderFilter {
  readonly set?: readonly { readonly name: string; readonly value: string }[];
  readonly add?: readonly { readonly name: string; readonly value: string }[];
  readonly remove?: readonly string[];
}

export interface PathModifier {
  readonly type?: string;
  readonly replaceFullPath?: string;
  readonly replacePrefixMatch?: string;
}

export interface RouteFilter {
  readonly type: string;
  readonly requestHeaderModifier?: HeaderFilter;
  readonly responseHeaderModifier?: HeaderFilter;
  readonly requestRedirect?: {
    readonly scheme?: string;
    readonly hostname?: string;
    readonly path?: PathModifier;
    readonly port?: number;
    readonly statusCode?: number;
  };
  readonly urlRewrite?: { readonly hostname?: string; readonly path?: PathModifier };
}

export interface BackendRef extends ObjectRef {
  readonly port?: number;
  readonly weight?: number;
  readonly filters?: readonly RouteFilter[];
}

export interface RouteRule {
  readonly name?: string;
  readonly matches?: readonly (HttpMatch & GrpcMatch)[];
  readonly filters?: readonly RouteFilter[];
  readonly backendRefs?: readonly BackendRef[];
  readonly timeouts?: { readonly request?: string; readonly backendRequest?: string };
  readonly retry?: object;
  readonly sessionPersistence?: object;
}

/** HTTPRoute or GRPCRoute. */
export interface GatewayRoute extends KubeObject {
  readonly spec?: {
    readonly parentRefs?: readonly ParentRef[];
    readonly hostnames?: readonly string[];
    readonly rules?: readonly RouteRule[];
  };
  readonly status?: object;
}

export interface ReferenceGrant extends KubeObject {
  readonly spec?: {
    readonly from?: readonly { readonly group?: string; readonly kind?: string; readonly namespace?: string }[];
    readonly to?: readonly { readonly group?: string; readonly kind?: string; readonly name?: string }[];
  };
}

export interface PolicyTarget {
  readonly group?: string;
  readonly kind?: string;
  readonly name: string;
  readonly sectionName?: string;
}

/** @see https://gateway-api.sigs.k8s.io/api-types/backendtlspolicy/ */
export interface BackendTlsPolicy extends KubeObject {
  readonly spec?: {
    readonly targetRefs?: readonly PolicyTarget[];
    readonly validation?: {
      readonly caCertificateRefs?: readonly ObjectRef[];
      readonly wellKnownCACertificates?: string;
      readonly hostname?: string;
      readonly subjectAltNames?: readonly object[];
    };
  };
  readonly status?: object;
}

/** Our own settings for routes. */
export interface GatewayRoutePolicy extends KubeObject {
  readonly spec?: {
    readonly targetRefs?: readonly PolicyTarget[];
    /** Names of annotations without their prefix. */
    readonly settings?: Readonly<Record<string, unknown>>;
  };
  readonly status?: object;
}

export interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export interface GatewayApiObjects {
  readonly gatewayClasses: readonly GatewayClass[];
  readonly gateways: readonly GatewayObject[];
  readonly httpRoutes: readonly GatewayRoute[];
  readonly grpcRoutes: readonly GatewayRoute[];
  readonly referenceGrants: readonly ReferenceGrant[];
  readonly backendTlsPolicies: readonly BackendTlsPolicy[];
  readonly routePolicies: readonly GatewayRoutePolicy[];
  readonly namespaces: readonly KubeObject[];
  readonly configMaps: readonly ConfigMap[];
}

const GATEWAY_VERSION = `${GATEWAY_GROUP}/v1`;
/** As each object has it. */
export const GATEWAY_API_KINDS: Readonly<
  Record<keyof GatewayApiObjects, { readonly apiVersion: string; readonly kind: string }>
> = {
  gatewayClasses: { apiVersion: GATEWAY_VERSION, kind: "GatewayClass" },
  gateways: { apiVersion: GATEWAY_VERSION, kind: "Gateway" },
  httpRoutes: { apiVersion: GATEWAY_VERSION, kind: "HTTPRoute" },
  grpcRoutes: { apiVersion: GATEWAY_VERSION, kind: "GRPCRoute" },
  referenceGrants: { apiVersion: GATEWAY_VERSION, kind: "ReferenceGrant" },
  backendTlsPolicies: { apiVersion: GATEWAY_VERSION, kind: "BackendTLSPolicy" },
  routePolicies: { apiVersion: `${POLICY_GROUP}/v1alpha1`, kind: POLICY_KIND },
  namespaces: { apiVersion: "v1", kind: "Namespace" },
  configMaps: { apiVersion: "v1", kind: "ConfigMap" },
};

export const NO_GATEWAY_API: GatewayApiObjects = {
  gatewayClasses: [],
  gateways: [],
  httpRoutes: [],
  grpcRoutes: [],
  referenceGrants: [],
  backendTlsPolicies: [],
  routePolicies: [],
  namespaces: [],
  configMaps: [],
};

export function condition(type: string, holds: boolean, reason: string, message = ""): Condition {
  return { type, status: holds ? "True" : "False", reason, message };
}
