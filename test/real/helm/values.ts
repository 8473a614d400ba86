/** Another value for each one of the chart. */

export interface ValueCase {
  /** As in a values file, for this path. */
  readonly value: unknown;
  /** Text that only the manifests with it have. */
  readonly shows?: string;
  /** Text that only the manifests without it have. */
  readonly hides?: string;
}

const BOTH = { requests: { cpu: "300m", memory: "1Gi" }, limits: { memory: "2Gi" } };

/** By path in values.yaml. */
export const VALUE_CASES: Readonly<Record<string, ValueCase>> = {
  image: { value: "registry.example.com/gateform:2", shows: 'image: "registry.example.com/gateform:2"' },
  imagePullSecrets: { value: ["registry"], shows: 'imagePullSecrets:\n        - name: "registry"' },
  replicas: { value: 5, shows: "replicas: 5" },
  secretName: { value: "other", shows: 'secretName: "other", defaultMode' },
  tlsSecretName: { value: "other-tls", shows: 'secretName: "other-tls"' },
  config: { value: { drain_delay: "12s", owners: { "kubernetes.kube-system": null } }, shows: "drain_delay: 12s" },
  slices: { value: { app: { version: 1, owner: "app", routes: {} } }, shows: "app.yaml:" },
  nodeOptions: { value: "--max-old-space-size=300", shows: "--max-old-space-size=300" },
  resources: { value: BOTH, shows: "memory: 2Gi" },
  podAnnotations: { value: { team: "platform" }, shows: "team: platform" },
  nodeSelector: { value: { "kubernetes.io/arch": "arm64" }, shows: "nodeSelector:\n        kubernetes.io/arch: arm64" },
  tolerations: { value: [{ key: "edge", operator: "Exists" }], shows: "key: edge" },
  "service.type": { value: "ClusterIP", shows: "type: ClusterIP" },
  "service.externalTrafficPolicy": { value: "Cluster", shows: "externalTrafficPolicy: Cluster" },
  "service.annotations": { value: { internal: "true" }, shows: 'internal: "true"' },
  "networkPolicy.enabled": { value: false, hides: "kind: NetworkPolicy" },
  "networkPolicy.monitoringNamespace": { value: "metrics", shows: 'kubernetes.io/metadata.name: "metrics"' },
  "controller.enabled": { value: false, hides: "kind: ClusterRole" },
  "controller.args": { value: ["--no-tls-secrets"], shows: "- --no-tls-secrets" },
  "controller.secrets": { value: { shop: ["shop-tls"], blog: ["blog-tls"] }, shows: 'resourceNames: ["blog-tls"]' },
  "controller.nodeOptions": { value: "--max-old-space-size=200", shows: "--max-old-space-size=200" },
  "controller.resources": { value: BOTH, shows: "memory: 2Gi" },
  "ingressClass.enabled": { value: false, hides: "kind: IngressClass" },
  "ingressClass.name": { value: "edge", shows: 'kind: IngressClass\nmetadata:\n  name: "edge"' },
  "ingressClass.default": { value: true, shows: "is-default-class" },
  "gatewayApi.enabled": { value: true, shows: "kind: GatewayClass" },
  "gatewayApi.className": { value: "edge", shows: 'gatewayClassName: "edge"' },
  "gatewayApi.settings": {
    value: { allow_any_authenticated_user: true },
    shows: "  settings:\n    allow_any_authenticated_user: true",
  },
  "gatewayApi.listeners": { value: [{ name: "web", protocol: "HTTP", port: 80 }], shows: "protocol: HTTP\n" },
};

/** Values that the schema rejects, and what its message names. */
export const BAD_VALUES: readonly (readonly [value: object, message: RegExp])[] = [
  [{ replica: 3 }, /replica/],
  [{ replicas: 0 }, /replicas/],
  [{ config: { address: ":443" } }, /config\/address/],
  [{ service: { type: "External" } }, /service\/type/],
  [{ controller: { secrets: { shop: [] } } }, /controller\/secrets\/shop/],
  [{ controller: { args: ["no-tls-secrets"] } }, /controller\/args/],
];

/** "a.b.c" → { a: { b: { c: value } } } */
export function valuesWith(path: string, value: unknown): object {
  return path.split(".").reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;
}
