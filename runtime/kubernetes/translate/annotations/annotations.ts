/** The annotations of one Ingress → the settings that all its routes share. */
import { ANNOTATION_PREFIX, type AnnotationField, annotationFields } from "../../../config/surfaces/annotations.ts";
import { unknownMember } from "../../../settings/types/registry.ts";
import { formatPath, quote } from "../../../settings/problem.ts";
import { readAnnotation, readFlag } from "./annotation-value.ts";
import { isObjectName } from "../objects.ts";
import {
  DESCRIPTIVE_ANNOTATIONS,
  FORMER_ANNOTATIONS,
  knownAnnotations,
  knownSecretAnnotations,
  PATH_REGEX,
  UPSTREAM_ANNOTATIONS,
} from "./known-annotations.ts";
import { type DraftProblem, ingressWarning, ingressError } from "../ingress-problem.ts";

export interface AnnotationReading {
  /** A part of a route, not yet validated. */
  readonly settings: Record<string, unknown>;
  /** Annotations that name Secrets: annotation → name of the Secret. */
  readonly secrets: ReadonlyMap<string, string>;
  /** Upstreams use TLS. */
  readonly secureUpstream: boolean;
  /** Upstreams are Services, not their endpoints. */
  readonly viaService: boolean;
  /** ImplementationSpecific paths are regular expressions. */
  readonly pathRegex: boolean;
  /** Setting path ("mcp.server.path") → annotation that set it. */
  readonly places: ReadonlyMap<string, string>;
  readonly problems: readonly DraftProblem[];
}

const fieldsByName = new Map(annotationFields.map((each) => [each.name, each]));
const FLAGS: readonly string[] = [...UPSTREAM_ANNOTATIONS, PATH_REGEX];

export function readAnnotations(annotations: Readonly<Record<string, unknown>>): AnnotationReading {
  const problems: DraftProblem[] = [];
  const settings: Record<string, unknown> = {};
  const secrets = new Map<string, string>();
  const flags = new Map<string, boolean>();
  const places = new Map<string, string>();
  const absent: AnnotationField[] = [];

  for (const [key, value] of Object.entries(annotations).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (!key.startsWith(ANNOTATION_PREFIX)) continue;
    const name = key.slice(ANNOTATION_PREFIX.length);
    const field = fieldsByName.get(name);
    if (knownSecretAnnotations.has(name)) readSecretName(name, value);
    else if (FLAGS.includes(name) && knownAnnotations.includes(name)) readOwnFlag(name, value);
    else if (field) readSetting(field, value);
    else if (DESCRIPTIVE_ANNOTATIONS.has(name)) {
      problems.push(ingressWarning({ annotation: name }, "is only descriptive and is ignored"));
    } else problems.push(ingressError({ annotation: name }, unknownAnnotation(name)));
  }
  problems.push(...unknownAnnotations(annotations));
  for (const { name, path } of absent) {
    const [filler] = [...places]
      .filter(([place]) => place.startsWith(`${formatPath(path)}.`))
      .map(([, other]) => other);
    if (filler === undefined) continue;
    problems.push(
      ingressError(
        { annotation: name },
        `is "false" together with "${ANNOTATION_PREFIX}${filler}", must be "true" or absent`,
      ),
    );
  }
  validateMcp();
  return {
    settings,
    secrets,
    secureUpstream: flags.get("secure_upstream") ?? false,
    viaService: flags.get("service_proxy_upstream") ?? true,
    pathRegex: flags.get(PATH_REGEX) ?? false,
    places,
    problems,
  };

  function readSetting(field: AnnotationField, value: unknown): void {
    const read = readAnnotation(field, value);
    if (read.kind === "refused") problems.push(ingressError({ annotation: field.name }, read.message));
    else if (read.kind === "marker" && !read.present) absent.push(field);
    else {
      places.set(formatPath(field.path), field.name);
      if (read.kind === "value") setAt(settings, field.path, read.value);
      else blockAt(settings, field.path);
    }
  }

  function readSecretName(annotation: string, value: unknown): void {
    if (!isObjectName(value)) {
      problems.push(
        ingressError({ annotation }, `is ${quote(value)}, must be the name of a Secret in the Ingress's namespace`),
      );
      return;
    }
    secrets.set(annotation, value);
    const { members = [] } = knownSecretAnnotations.get(annotation) ?? {};
    const paths = "labels" in members ? [members.labels] : members.map(({ path }) => path);
    for (const path of paths) places.set(formatPath(path), annotation);
  }

  function readOwnFlag(annotation: string, value: unknown): void {
    const flag = readFlag(value);
    if (flag === undefined)
      problems.push(ingressError({ annotation }, `is ${quote(value)}, must be "true" or "false"`));
    else flags.set(annotation, flag);
  }

  /** The schema would report this for the block; users look for it at the annotation. */
  function validateMcp(): void {
    const mcp = settings["mcp"] as Record<string, unknown> | undefined;
    const server = [...places].find(([place]) => place === "mcp.server" || place.startsWith("mcp.server."));
    if (!server || !places.has("mcp.client")) return;
    problems.push(
      ingressError({ annotation: "mcp_client" }, `cannot be combined with "${ANNOTATION_PREFIX}${server[1]}"`),
    );
    delete mcp?.["client"];
  }
}

function unknownAnnotation(name: string): string {
  const current = FORMER_ANNOTATIONS.get(name);
  if (current !== undefined) return `is not a known annotation, did you mean "${current}"?`;
  return unknownMember(name, knownAnnotations).replace("setting", "annotation");
}

/** Number of annotations listed by name; the rest is only counted. */
const MAX_NAMED = 5;

/**
 * Annotations of other Ingress controllers, or with a misspelled prefix, whose authors expect an effect. Those of tools that
 * deploy, issue certificates or only describe are ignored here.
 */
function unknownAnnotations(annotations: Readonly<Record<string, unknown>>): readonly DraftProblem[] {
  const foreign = Object.keys(annotations).filter(isOfOtherController).toSorted();
  if (foreign.length === 0) return [];
  const rest = foreign.length - MAX_NAMED;
  const named = foreign.slice(0, MAX_NAMED).map((key) => quote(key));
  const all = `${named.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
  return [
    ingressWarning(
      {},
      `has annotations that are ignored: ${all}; those of this gateway start with "${ANNOTATION_PREFIX}"`,
    ),
  ];
}

/** "ingress.pomerium.io/policy", "nginx.ingress.kubernetes.io/auth-url", "ingress.gatewy.io/policy", "ingres.gateway.io/policy". */
function isOfOtherController(key: string): boolean {
  const [domain = "", name] = key.split("/");
  if (name === undefined || key.startsWith(ANNOTATION_PREFIX)) return false;
  return `.${domain}`.endsWith(".gateway.io") || domain.split(".").includes("ingress");
}

/** Sets a member, and creates missing blocks on the way. Existing blocks are kept and extended. */
export function setAt(settings: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const name = path.at(-1);
  if (name !== undefined) blockAt(settings, path.slice(0, -1))[name] = value;
}

function blockAt(settings: Record<string, unknown>, path: readonly string[]): Record<string, unknown> {
  let block = settings;
  for (const name of path) {
    // Header names are untrusted: one must not reach members that every object inherits.
    if (!Object.hasOwn(block, name)) {
      Object.defineProperty(block, name, { value: {}, enumerable: true, configurable: true, writable: true });
    }
    block = block[name] as Record<string, unknown>;
  }
  return block;
}
