/** Checks the shape of objects from files, which an API server would have enforced. Objects with another shape are not read. */
import { anything, block, leaf, list, needing, type ShapeCheck, text } from "../ingress-shape.ts";
import { isNamespace } from "../objects.ts";
import type { IngressProblem } from "../ingress-problem.ts";
import { GATEWAY_API_KINDS, type GatewayApiObjects } from "./objects.ts";

const count = leaf("a number", (value) => Number.isInteger(value));
const ref = needing(["name"], { group: text, kind: text, namespace: text, name: text, sectionName: text, port: count });
const pair = needing(["name", "value"], { type: text, name: text, value: text });
const metadata = block({
  name: text,
  namespace: leaf("the name of a namespace", isNamespace),
  creationTimestamp: text,
  labels: block({}),
});

const modifier = block({ type: text, replaceFullPath: text, replacePrefixMatch: text });
const headers = block({ set: list(pair), add: list(pair), remove: list(text) });
const filter = needing(["type"], {
  type: text,
  requestHeaderModifier: headers,
  responseHeaderModifier: headers,
  requestRedirect: block({ scheme: text, hostname: text, path: modifier, port: count, statusCode: count }),
  urlRewrite: block({ hostname: text, path: modifier }),
});
const backendRef = needing(["name"], {
  group: text,
  kind: text,
  namespace: text,
  name: text,
  port: count,
  weight: count,
  filters: list(filter),
});

function route(method: ShapeCheck): ShapeCheck {
  const match = block({
    path: block({ type: text, value: text }),
    headers: list(pair),
    queryParams: list(pair),
    method,
  });
  const rule = block({
    name: text,
    matches: list(match),
    filters: list(filter),
    backendRefs: list(backendRef),
    timeouts: block({ request: text, backendRequest: text }),
    retry: anything,
    sessionPersistence: anything,
  });
  return block({ metadata, spec: block({ parentRefs: list(ref), hostnames: list(text), rules: list(rule) }) });
}

const selector = block({
  matchLabels: block({}),
  matchExpressions: list(needing(["key", "operator"], { key: text, operator: text, values: list(text) })),
});
const listener = needing(["name", "port", "protocol"], {
  name: text,
  hostname: text,
  port: count,
  protocol: text,
  tls: block({ mode: text, certificateRefs: list(ref) }),
  allowedRoutes: block({
    namespaces: block({ from: text, selector }),
    kinds: list(needing(["kind"], { group: text, kind: text })),
  }),
});
const grant = list(block({ group: text, kind: text, namespace: text, name: text }));

const SHAPES: Readonly<Record<keyof GatewayApiObjects, ShapeCheck>> = {
  gatewayClasses: block({
    metadata,
    spec: block({
      controllerName: text,
      parametersRef: block({ group: text, kind: text, name: text, namespace: text }),
    }),
  }),
  gateways: block({
    metadata,
    spec: block({
      gatewayClassName: text,
      listeners: list(listener),
      addresses: list(block({ type: text, value: text })),
      infrastructure: block({ parametersRef: block({}) }),
    }),
  }),
  httpRoutes: route(text),
  grpcRoutes: route(block({ type: text, service: text, method: text })),
  referenceGrants: block({ metadata, spec: block({ from: grant, to: grant }) }),
  backendTlsPolicies: block({
    metadata,
    spec: block({
      targetRefs: list(ref),
      validation: block({
        caCertificateRefs: list(ref),
        wellKnownCACertificates: text,
        hostname: text,
        subjectAltNames: list(anything),
      }),
    }),
  }),
  routePolicies: block({ metadata, spec: block({ targetRefs: list(ref), settings: block({}) }) }),
  namespaces: block({ metadata }),
  configMaps: block({ metadata, data: block({}) }),
};

export interface ShapedObjects {
  readonly objects: GatewayApiObjects;
  /** The names have the kind: "web (HTTPRoute)". */
  readonly problems: readonly IngressProblem[];
}

export function readShapes(objects: GatewayApiObjects): ShapedObjects {
  const problems: IngressProblem[] = [];
  const read: Partial<Record<keyof GatewayApiObjects, readonly object[]>> = {};
  for (const [collection, shape] of Object.entries(SHAPES) as readonly [keyof GatewayApiObjects, ShapeCheck][]) {
    const { kind } = GATEWAY_API_KINDS[collection];
    read[collection] = objects[collection].filter((object) => {
      const found = [...shape(object, "")];
      const { name, namespace } = object.metadata;
      const about = { namespace: isNamespace(namespace) ? namespace : "default", name: `${name} (${kind})` };
      for (const problem of found) problems.push({ ...problem, ...about });
      return found.length === 0;
    });
  }
  return { objects: read as unknown as GatewayApiObjects, problems };
}
