/**
 * Manifest texts (YAML of several documents, JSON, Lists) → the objects for a translation.
 *
 * Untrusted input: the texts. Manifests of other kinds are ignored, since kubectl accepts them in the same file; broken ones
 * are problems. Pure.
 */
import { isMap, isScalar, parseAllDocuments } from "yaml";

import { describe } from "../../settings/problem.ts";
import type { KubeObjects } from "./objects.ts";
import type { KubeObject } from "../kube-object.ts";
import { GATEWAY_API_KINDS, type GatewayApiObjects } from "./gateway-api/objects.ts";
import { type Members, isRecord } from "../../shared/is-record.ts";

export interface ManifestSource {
  /** Name for messages. */
  readonly file: string;
  readonly text: string;
}

export interface ManifestOutcome {
  readonly objects: KubeObjects;
  /** "web.yaml:3: …"; publish nothing if there is one. */
  readonly problems: readonly string[];
}

type Collections = Omit<KubeObjects, "gatewayApi"> & GatewayApiObjects;
type Lists = { readonly [K in keyof Collections]: Collections[K][number][] };

interface KnownKind {
  readonly version: string;
  readonly list: keyof Lists;
}

/** Kinds that are read, with the supported API group versions. */
const KINDS: ReadonlyMap<string, KnownKind> = new Map<string, KnownKind>([
  ["Ingress", { version: "networking.k8s.io/v1", list: "ingresses" }],
  ["IngressClass", { version: "networking.k8s.io/v1", list: "ingressClasses" }],
  ["Service", { version: "v1", list: "services" }],
  ["EndpointSlice", { version: "discovery.k8s.io/v1", list: "endpointSlices" }],
  ["Secret", { version: "v1", list: "secrets" }],
  ...Object.entries(GATEWAY_API_KINDS).map(
    ([list, { apiVersion, kind }]) => [kind, { version: apiVersion, list: list as keyof GatewayApiObjects }] as const,
  ),
]);

export function readManifests(sources: readonly ManifestSource[]): ManifestOutcome {
  const problems: string[] = [];
  const lists: Lists = {
    ingresses: [],
    ingressClasses: [],
    services: [],
    endpointSlices: [],
    secrets: [],
    namespaces: [],
    configMaps: [],
    gatewayClasses: [],
    gateways: [],
    httpRoutes: [],
    grpcRoutes: [],
    backendTlsPolicies: [],
    referenceGrants: [],
    routePolicies: [],
  };
  const seen = new Map<string, string>();

  for (const { file, text } of sources) {
    const documents = parseAllDocuments(text, { version: "1.2", schema: "core", logLevel: "error" });
    for (const document of Array.isArray(documents) ? documents : []) {
      for (const error of document.errors) {
        const line = error.linePos?.[0].line;
        // The text after the colon may repeat the input, which may contain a secret.
        problems.push(
          `${file}${line === undefined ? "" : `:${line}`}: is not valid YAML: ${error.message.split(": ")[0]}`,
        );
      }
      if (document.errors.length > 0 || isEmpty(document.contents)) continue;
      const line = text.slice(0, document.contents.range[0]).split("\n").length;
      const location = `${file}:${line}`;
      if (!isMap(document.contents)) problems.push(`${location}: is not a Kubernetes object`);
      else
        add(
          read(() => document.toJS({ maxAliasCount: 100 }) as unknown, location),
          location,
        );
    }
  }
  const { ingresses, ingressClasses, services, endpointSlices, secrets, ...gatewayApi } = lists;
  return { objects: { ingresses, ingressClasses, services, endpointSlices, secrets, gatewayApi }, problems };

  function read(toJs: () => unknown, location: string): unknown {
    try {
      return toJs();
    } catch {
      problems.push(`${location}: has too many aliases`);
      return undefined;
    }
  }

  function add(value: unknown, location: string): void {
    if (value === undefined) return;
    if (!isRecord(value) || typeof value["kind"] !== "string") {
      problems.push(`${location}: is ${describe(value)} without a "kind", must be a Kubernetes object`);
      return;
    }
    const { kind, apiVersion, items } = value;
    if (kind.endsWith("List") && Array.isArray(items)) {
      // Items of typed lists omit the kind and version of the list.
      const about = kind === "List" ? {} : { kind: kind.slice(0, -4), apiVersion };
      for (const item of items) add(isRecord(item) ? { ...about, ...item } : item, location);
      return;
    }
    const known = KINDS.get(kind);
    if (!known) return;
    const { version, list } = known;
    if (apiVersion !== version) {
      problems.push(`${location}: ${kind} has "apiVersion" ${JSON.stringify(apiVersion)}, must be "${version}"`);
      return;
    }
    const name = nameOf(value);
    if (name === undefined) {
      problems.push(`${location}: ${kind} has no "metadata.name"`);
      return;
    }
    const first = seen.get(`${kind} ${name}`);
    if (first !== undefined) problems.push(`${location}: ${kind} ${name} is also in ${first}, must be there once`);
    else {
      seen.set(`${kind} ${name}`, location);
      // Members are validated where they are read; the rest of the object is ignored.
      (lists[list] as KubeObject[]).push(value as unknown as KubeObject);
    }
  }
}

/** Between two `---`, or after the last one, there may be only comments. */
function isEmpty(contents: unknown): contents is null {
  return contents === null || (isScalar(contents) && contents.value === null);
}

function nameOf({ metadata }: Members): string | undefined {
  if (!isRecord(metadata) || typeof metadata["name"] !== "string" || metadata["name"] === "") return undefined;
  return `${typeof metadata["namespace"] === "string" ? metadata["namespace"] : "default"}/${metadata["name"]}`;
}
