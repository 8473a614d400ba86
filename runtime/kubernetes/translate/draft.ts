/** One Ingress → routes in the form of a slice, not validated yet. */
import { type FederatedDoc, isFederated } from "../../features/mcp/members.ts";
import { type AnnotationReading, readAnnotations } from "./annotations/annotations.ts";
import { withFewSuggestions } from "../../settings/validate.ts";
import { shapeProblems } from "./ingress-shape.ts";
import { takesRegex } from "./annotations/known-annotations.ts";
import { type Ingress, keyOf, namespaceOf, type Secret } from "./objects.ts";
import { type DraftProblem, ingressError } from "./ingress-problem.ts";
import { routeName } from "./route-name.ts";
import { type IngressPlace, readRules } from "./ingress-rules.ts";
import { fillSecrets, type Seal } from "./secret-values.ts";
import { readSolver, SOLVER_SETTINGS, type SolverReading } from "./solver.ts";
import { readTls, type TlsEntry } from "./hosts/tls.ts";
import { type ClusterServices, readUpstream, type UpstreamReading } from "./backend.ts";
import { isRecord } from "../../shared/is-record.ts";
import { bytesOf, MAX_SLICE_BYTES } from "./slice-size.ts";

export interface DraftRoute {
  readonly name: string;
  readonly doc: Readonly<Record<string, unknown>>;
  /** Its source in the Ingress. */
  readonly place: IngressPlace;
}

export interface IngressDraft {
  /** "namespace/name"; of routes of the Gateway API "namespace/name (HTTPRoute)". */
  readonly key: string;
  readonly namespace: string;
  /** Every host that it names → its location in the Ingress. */
  readonly hosts: ReadonlyMap<string, string>;
  /** It answers a challenge, on a host that another Ingress must have claimed for its namespace. */
  readonly isSolver: boolean;
  readonly routes: readonly DraftRoute[];
  /** Approximate size in a slice. */
  readonly bytes: number;
  /** Setting path → annotation that set it. */
  readonly annotations: ReadonlyMap<string, string>;
  readonly problems: readonly DraftProblem[];
  /** A missing value would make valid settings look wrong, so the routes are not validated. */
  readonly partial: boolean;
  /** "namespace/name" of the Secrets that its annotations name. */
  readonly secrets: readonly string[];
  readonly tls: readonly TlsEntry[];
  readonly usesEndpoints: boolean;
  /** Annotation → GatewayRoutePolicy ("namespace/name") that has it; absent for an Ingress. */
  readonly policies?: ReadonlyMap<string, string>;
}

export interface DraftContext extends ClusterServices {
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly seal: Seal | undefined;
  readonly scheme: "https" | "http";
  readonly port: number | undefined;
  /** HTTP listeners of Gateways are served by plain HTTP, whatever the scheme. */
  readonly plainHttp: boolean;
  readonly clusterDomain: string;
  /** Services of type ExternalName are served. */
  readonly externalNames: boolean;
}

export async function draftIngress(ingress: Ingress, context: DraftContext): Promise<IngressDraft> {
  const key = keyOf(ingress);
  const namespace = namespaceOf(ingress);
  const shape = shapeProblems(ingress);
  if (shape.length > 0) {
    return { ...emptyDraft(key, namespace), problems: shape, partial: true };
  }
  const solver = readSolver(ingress);
  if (solver) return draftSolver(ingress, solver, context);
  const reading = withFewSuggestions(() => readAnnotations(ingress.metadata.annotations ?? {}));
  const problems = [...reading.problems];
  const missing = await fillSecrets(reading, { namespace, secrets: context.secrets, seal: context.seal });
  problems.push(...missing);
  const rules = readRules(ingress, { pathRegex: reading.pathRegex && takesRegex });
  problems.push(...rules.problems);

  const drafted = draftRoutes(ingress, rules.places, reading, context);
  problems.push(...drafted.problems);
  return {
    key,
    namespace,
    hosts: rules.hosts,
    isSolver: false,
    routes: drafted.routes,
    bytes: drafted.bytes,
    annotations: reading.places,
    problems,
    partial: missing.length > 0,
    secrets: [...reading.secrets.values()].map((name) => `${namespace}/${name}`),
    tls: readTls(ingress, rules.hosts),
    usesEndpoints: drafted.usesEndpoints,
  };
}

function draftSolver(ingress: Ingress, solver: SolverReading, context: DraftContext): IngressDraft {
  const nothing = { ...emptyDraft(keyOf(ingress), namespaceOf(ingress)), isSolver: true };
  if (!solver.ok) return { ...nothing, problems: [solver.problem] };
  const { host, hostPath } = solver.place;
  const reading = { settings: SOLVER_SETTINGS, secureUpstream: false, viaService: true };
  const drafted = draftRoutes(ingress, [solver.place], reading, context);
  return { ...nothing, ...drafted, hosts: new Map([[host, hostPath]]) };
}

/** A draft without content. */
export function emptyDraft(key: string, namespace: string): IngressDraft {
  const none = new Map<string, string>();
  const nothing = { hosts: none, routes: [], bytes: 0, annotations: none, secrets: [], tls: [], problems: [] };
  return { key, namespace, ...nothing, isSolver: false, partial: false, usesEndpoints: false };
}

/** Creates routes from the places, with the settings that all routes of an Ingress share. */
function draftRoutes(
  ingress: Ingress,
  places: readonly IngressPlace[],
  reading: Pick<AnnotationReading, "secureUpstream" | "viaService"> & {
    readonly settings: Readonly<Record<string, unknown>>;
  },
  context: DraftContext,
): Pick<IngressDraft, "routes" | "bytes" | "problems" | "usesEndpoints"> {
  const namespace = namespaceOf(ingress);
  const routes = new Map<string, DraftRoute>();
  const problems: DraftProblem[] = [];
  const settingsBytes = bytesOf(reading.settings);
  // An Ingress must have a backend; that of a federated route is its members.
  const federated = hasMembers(reading.settings);
  let bytes = 0;
  let usesEndpoints = !reading.viaService;
  for (const place of places) {
    // It is rejected as a whole. Endpoints are repeated on each route: all of them could exceed this process's memory.
    if (bytes > MAX_SLICE_BYTES) break;
    const upstream = federated
      ? NO_UPSTREAM
      : readUpstream(place.backend, place.backendPath, context, {
          namespace,
          secure: reading.secureUpstream,
          viaService: reading.viaService,
          clusterDomain: context.clusterDomain,
          externalNames: context.externalNames,
        });
    if (!upstream.ok) {
      problems.push(upstream.problem);
      continue;
    }
    problems.push(...upstream.warnings);
    usesEndpoints ||= upstream.usesEndpoints;
    const { kind, path } = place.match;
    const name = routeName({ namespace, ingress: ingress.metadata.name, host: place.host, path, kind });
    if (routes.has(name))
      problems.push(ingressError({ path: place.matchPath }, `repeats a path of host "${place.host}"`));
    const doc = {
      from: `${context.scheme}://${place.host}${context.port === undefined ? "" : `:${context.port}`}`,
      ...(!federated && { to: upstream.to.length === 1 ? upstream.to[0] : upstream.to }),
      ...(path === "" ? {} : { [kind === "exact" ? "path" : kind]: path }),
      ...reading.settings,
    };
    routes.set(name, { name, doc, place });
    bytes += settingsBytes + bytesOf([name, doc.from, upstream.to, path]);
  }
  return { routes: [...routes.values()], bytes, problems, usesEndpoints };
}

const NO_UPSTREAM: UpstreamReading = { ok: true, to: [], warnings: [], usesEndpoints: false };

/** Its members are its backends. */
export function hasMembers(settings: Readonly<Record<string, unknown>>): boolean {
  return isFederated(valueAt(settings, ["mcp", "server"]) as FederatedDoc | undefined);
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((found, name) => (isRecord(found) ? found[name] : undefined), value);
}
