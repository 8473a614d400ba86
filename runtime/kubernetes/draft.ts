/** One Ingress by itself → routes as they would stand in a slice, not judged yet. */
import { readAnnotations } from "./annotations.ts";
import { shapeFaults } from "./ingress-shape.ts";
import { takesRegex } from "./known-annotations.ts";
import { type Ingress, keyOf, namespaceOf, type Secret } from "./objects.ts";
import { type Complaint, fault } from "./problem.ts";
import { routeName } from "./route-name.ts";
import { type Place, readRules } from "./rules.ts";
import { fillSecrets, type Seal } from "./secret-values.ts";
import { type ClusterServices, readUpstream } from "./upstream.ts";

export interface DraftRoute {
  readonly name: string;
  readonly doc: Readonly<Record<string, unknown>>;
  /** Where it comes from in the Ingress. */
  readonly place: Place;
}

export interface IngressDraft {
  /** "namespace/name". */
  readonly key: string;
  readonly namespace: string;
  /** Every host that it names → where it stands. */
  readonly hosts: ReadonlyMap<string, string>;
  readonly routes: readonly DraftRoute[];
  /** Setting path → annotation that said it. */
  readonly annotations: ReadonlyMap<string, string>;
  readonly complaints: readonly Complaint[];
  /** What is missing would make sound settings look wrong, so the routes are not worth judging. */
  readonly partial: boolean;
  /** "namespace/name" of the Secrets that its annotations name. */
  readonly secrets: readonly string[];
  readonly usesEndpoints: boolean;
}

export interface DraftContext extends ClusterServices {
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly seal: Seal | undefined;
  readonly scheme: "https" | "http";
  readonly port: number | undefined;
  readonly clusterDomain: string;
  /** Services of type ExternalName are served. */
  readonly externalNames: boolean;
}

export async function draftIngress(ingress: Ingress, context: DraftContext): Promise<IngressDraft> {
  const key = keyOf(ingress);
  const namespace = namespaceOf(ingress);
  const shape = shapeFaults(ingress);
  if (shape.length > 0) {
    const none = new Map<string, string>();
    const nothing = { hosts: none, routes: [], annotations: none, secrets: [], usesEndpoints: false };
    return { key, namespace, ...nothing, complaints: shape, partial: true };
  }
  const reading = readAnnotations(ingress.metadata.annotations ?? {});
  const complaints = [...reading.complaints];
  const missing = await fillSecrets(reading, { namespace, secrets: context.secrets, seal: context.seal });
  complaints.push(...missing);
  const rules = readRules(ingress, { pathRegex: reading.pathRegex && takesRegex });
  complaints.push(...rules.complaints);

  const routes = new Map<string, DraftRoute>();
  for (const place of rules.places) {
    const upstream = readUpstream(place.backend, place.backendPath, context, {
      namespace,
      secure: reading.secureUpstream,
      viaService: reading.viaService,
      clusterDomain: context.clusterDomain,
      externalNames: context.externalNames,
    });
    if (!upstream.ok) {
      complaints.push(upstream.complaint);
      continue;
    }
    complaints.push(...upstream.warnings);
    const { kind, path } = place.match;
    const name = routeName({ namespace, ingress: ingress.metadata.name, host: place.host, path, kind });
    if (routes.has(name)) complaints.push(fault({ path: place.matchPath }, `repeats a path of host "${place.host}"`));
    const doc = {
      from: `${context.scheme}://${place.host}${context.port === undefined ? "" : `:${context.port}`}`,
      to: upstream.to.length === 1 ? upstream.to[0] : upstream.to,
      ...(path === "" ? {} : { [kind === "exact" ? "path" : kind]: path }),
      ...reading.settings,
    };
    routes.set(name, { name, doc, place });
  }
  return {
    key,
    namespace,
    hosts: rules.hosts,
    routes: [...routes.values()],
    annotations: reading.places,
    complaints,
    partial: missing.length > 0,
    secrets: [...reading.secrets.values()].map((name) => `${namespace}/${name}`),
    usesEndpoints: !reading.viaService,
  };
}
