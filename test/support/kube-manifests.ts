/** Kubernetes objects for tests, by default in namespace "shop". */
import { ANNOTATION_PREFIX } from "../../runtime/config/surfaces/annotations.ts";
import type { Ingress, KubeObjects, Service } from "../../runtime/kubernetes/translate/objects.ts";

export const nothing: KubeObjects = {
  ingresses: [],
  ingressClasses: [],
  services: [],
  endpointSlices: [],
  secrets: [],
};

export interface IngressSketch {
  readonly host: string;
  readonly namespace?: string;
  /** Without prefix; a policy for all signed-in users is added. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** "/" when absent. */
  readonly paths?: readonly string[];
  /** "Prefix" when absent. */
  readonly pathType?: "Prefix" | "Exact";
  /** "gateway" when absent; undefined for none. */
  readonly ingressClass?: string | undefined;
  readonly createdAt?: string;
  /** Name of the Service; "web" when absent. */
  readonly service?: string;
}

const POLICY = "[{ allow: { and: [{ authenticated_user: true }] } }]";

export function ingress(name: string, sketch: IngressSketch): Ingress {
  const annotations = Object.entries({ policy: POLICY, ...sketch.annotations });
  const ingressClass = "ingressClass" in sketch ? sketch.ingressClass : "gateway";
  const backend = { service: { name: sketch.service ?? "web", port: { number: 80 } } };
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "Ingress",
    metadata: {
      name,
      namespace: sketch.namespace ?? "shop",
      annotations: Object.fromEntries(annotations.map(([key, value]) => [ANNOTATION_PREFIX + key, value])),
      ...(sketch.createdAt === undefined ? {} : { creationTimestamp: sketch.createdAt }),
    },
    spec: {
      ...(ingressClass === undefined ? {} : { ingressClassName: ingressClass }),
      rules: [
        {
          host: sketch.host,
          http: {
            paths: (sketch.paths ?? ["/"]).map((path) => ({ path, pathType: sketch.pathType ?? "Prefix", backend })),
          },
        },
      ],
    },
  };
}

export function service(name: string, namespace = "shop"): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace },
    spec: { ports: [{ name: "http", port: 80 }] },
  };
}
