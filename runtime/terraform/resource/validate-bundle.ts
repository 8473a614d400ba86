/**
 * Validates a bundle's values with the loader of the gateway itself, also while parts are unknown.
 *
 * Unknown values are replaced by a harmless value of their kind. Only problems that exist for any actual value are reported:
 * problems about a stand-in are dropped, and if another value of a choice, or an absent value (it may turn out to be null),
 * changes the result, only the problems of all variants count.
 */
import type { Field } from "../../settings/field.ts";
import { findProblems, type Problem } from "../../config/load.ts";
import { formatPath, type ValuePath } from "../../settings/problem.ts";
import { readSecretName } from "../../settings/secret-forms.ts";
import type { RouteMemory } from "../../config/read-route.ts";
import { attributePath, renderSlice } from "./bundle-document.ts";
import { NOWHERE, placeToPointAt, sentence } from "./bundle-problem.ts";
import { type AttributePath, type Diagnostic, pathText } from "../protocol/diagnostics.ts";
import type { Doc, DocumentProblem, StandIn } from "../schema/document.ts";
import { readRoutes, routesProblems } from "./routes-attribute.ts";
import { ROUTES_ATTRIBUTE } from "../schema/schema.ts";
import type { ValueMap } from "../protocol/value.ts";

/** Name of the source in loader problems; never shown. */
const SOURCE = "bundle";

/** @param memory of earlier validations of this bundle: an apply validates it twice, on validation and on publishing */
export function validateBundle(bundle: ValueMap, memory: RouteMemory): readonly Diagnostic[] {
  const unknown: Unknowns = { places: new Map(), choices: 1 };
  const unrendered: DocumentProblem[] = [];
  const filled = renderSlice(bundle, { standIn: fill(unknown), problems: unrendered });
  let problems = loadProblems(filled, memory);
  if (unknown.places.size > 0) {
    const read = (standIn: StandIn): readonly Problem[] =>
      loadProblems(renderSlice(bundle, { standIn, problems: [] }), memory);
    // A rejected stand-in is useless, and two routes might differ only in it.
    const asPath = new Set(problems.map(({ path }) => formatPath(path)).filter((place) => unknown.places.has(place)));
    if (asPath.size > 0) problems = read(fill(unknown, { asPath }));
    const others = [read(leaveOut)];
    for (let choice = 1; choice < unknown.choices; choice += 1) others.push(read(fill(unknown, { asPath, choice })));
    for (const other of others) {
      const left = new Set(other.map(identityOf));
      problems = problems.filter((problem) => left.has(identityOf(problem)));
    }
    problems = problems.filter((problem) => !isAbout(problem.path, unknown.places));
  }
  memory.forgetOthers();
  const { holdsSecret } = readRoutes(bundle);
  const diagnostics = [
    ...routesProblems(bundle),
    ...unrendered.map(({ path, message }) => diagnostic(bundle, "error", path, message)),
    ...problems.map(({ severity, path, message }) => diagnostic(bundle, severity, path, message)),
  ];
  return shortened(holdsSecret ? diagnostics.map(withoutLine) : diagnostics);
}

/** For a problem in "routes": the lines of an expression are printed together, and one of them contains a secret. */
function withoutLine(diagnostic: Diagnostic): Diagnostic {
  return pathText(diagnostic.path?.slice(0, 1) ?? []) === ROUTES_ATTRIBUTE
    ? { ...diagnostic, pointAt: NOWHERE }
    : diagnostic;
}

/** Terraform reads the source again for every diagnostic: a thousand warnings take longer than the rest of the plan. */
const MOST_WARNINGS = 10;

function shortened(diagnostics: readonly Diagnostic[]): readonly Diagnostic[] {
  const errors = diagnostics.filter(({ severity }) => severity === "error");
  const warnings = diagnostics.filter(({ severity }) => severity === "warning");
  if (warnings.length <= MOST_WARNINGS) return diagnostics;
  const rest = warnings.length - MOST_WARNINGS;
  const more: Diagnostic = {
    severity: "warning",
    summary: "Further problems in the gateway bundle",
    detail: `${rest} more warnings are not shown. Run \`gateway check\` on the published slice to see all of them.`,
  };
  return [...errors, ...warnings.slice(0, MOST_WARNINGS), more];
}

function loadProblems(slice: Doc, memory: RouteMemory): readonly Problem[] {
  return findProblems([{ file: SOURCE, value: slice, boot: false }], memory);
}

function diagnostic(bundle: ValueMap, severity: Diagnostic["severity"], path: ValuePath, message: string): Diagnostic {
  const [part, label] = path;
  const subject = formatPath(part === "routes" ? path.slice(2) : part === "settings" ? path.slice(1) : path);
  const detail = `${subject === "" ? subjectOf(part, label) : `"${subject}"`} ${message}`;
  const place = attributePath(path, bundle);
  const summary = severity === "error" ? "Invalid gateway bundle" : warningSummary(place);
  return { severity, summary, detail: sentence(detail), path: place, pointAt: placeToPointAt(place) };
}

/** Terraform shows only the first of several warnings with the same summary. */
function warningSummary(place: AttributePath): string {
  return `Possible problem at ${pathText(place) || "the gateway bundle"}`;
}

function subjectOf(part: string | number | undefined, label: string | number | undefined): string {
  return part === "routes" && label !== undefined ? `Route "${label}"` : "The bundle";
}

function identityOf({ severity, path, message }: Problem): string {
  return `${severity} ${formatPath(path)} ${message}`;
}

/** True when the path is one of the places, or below one. */
function isAbout(path: ValuePath, places: Unknowns["places"]): boolean {
  return path.some((_, at) => places.has(formatPath(path.slice(0, at + 1))));
}

/** Unknown values found while rendering a slice. */
interface Unknowns {
  /** Path → serial: stand-ins differ from each other, so that no two unknown addresses are reported as duplicates. */
  readonly places: Map<string, number>;
  /** Number of values of the largest choice. */
  choices: number;
}

interface Variant {
  /** Paths at which a text is filled in as a path of a URL. */
  readonly asPath?: ReadonlySet<string>;
  /** Index of the value that is filled in for choices. */
  readonly choice?: number;
}

function fill(unknown: Unknowns, { asPath, choice = 0 }: Variant = {}): StandIn {
  return (field, path, item) => {
    const place = formatPath(path);
    const serial = unknown.places.get(place) ?? unknown.places.size + 1;
    unknown.places.set(place, serial);
    const values = field.kind === "choice" ? (field.values ?? []) : [];
    unknown.choices = Math.max(unknown.choices, values.length);
    if (values.length > 0) return values[choice % values.length];
    return field.kind === "text" && asPath?.has(place) ? `/unknown-${serial}` : sample(field, item, serial);
  };
}

/** The other variant: the value is null. Members of lists and maps stay, since removing one would move the others. */
const leaveOut: StandIn = (field, path, item) => {
  const isSeal = field.kind === "secret" && readSecretName(String(path.at(-1))).form === "sealed";
  return item || isSeal ? sample(field, item, 0) : undefined;
};

function sample(field: Field, item: boolean, serial: number): unknown {
  const host = `unknown-${serial}.invalid`;
  switch (field.kind) {
    case "flag":
      return true;
    case "count":
      return 1;
    case "duration":
      return "1h";
    case "url":
      return `https://${host}`;
    case "choice":
      return field.values?.[0] ?? "";
    case "domain-pattern-list":
      return item ? host : [host];
    case "url-list":
      return item ? `https://${host}` : [`https://${host}`];
    case "text-list":
      return item ? "unknown" : ["unknown"];
    case "text-map":
    case "template-map":
    case "text-list-map":
      return item ? "unknown" : {};
    case "block":
    case "block-list":
    case "labelled":
      return item ? {} : undefined;
    case "policy":
      return [{ allow: { and: [{ authenticated_user: true }] } }];
    case "criteria":
      return { or: [{ mcp_tool: "unknown" }] };
    case "secret":
      // Valid in every form except a reference, for which nothing is reported here anyway.
      return "e30.e30.e30.e30.e30";
    default:
      return "unknown";
  }
}
