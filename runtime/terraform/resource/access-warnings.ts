/**
 * Access changes of a plan, as one short warning: the output of `gateway diff`, without examples.
 *
 * Only rules and addresses of routes are read. Promises: no value of a sensitive attribute, no argument or condition of a
 * rule; no warning without a change for any user; at most 20 lines and a second; a route with an unknown deciding value is
 * named as such; never an error.
 */
import { canonicalRoute } from "../../config/canonical.ts";
import type { Side } from "../../config/diff/difference.ts";
import { type RouteDoc, routeFields } from "../../config/route.ts";
import { ACCESS_KEYS } from "../../policy/access-keys.ts";
import type { Field } from "../../settings/field.ts";
import type { ValuePath } from "../../settings/problem.ts";
import { canonicalJson } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { Diagnostic } from "../protocol/diagnostics.ts";
import { Dynamic, isMap, Unknown, type ValueMap } from "../protocol/value.ts";
import { type DocumentProblem, toDocument } from "../schema/document.ts";
import { ROUTE_BLOCK, ROUTES_ATTRIBUTE } from "../schema/schema.ts";
import { allRoutes } from "./routes-attribute.ts";

const MOST_LINES = 20;
const MOST_MS = 700;
/** Limit of decisions, and of requests per resource: as many as a second has room for. */
const DECISIONS = 100_000;
/** Limit of changed routes. */
const MOST_ROUTES = 500;
const CASES = 200;

/** Settings of a route that are read. */
const READ = [
  "from",
  "prefix",
  "path",
  "regex",
  "regex_priority_order",
  "match_methods",
  "match_headers",
  "match_query",
  "match_priority_order",
  "policy",
  "mcp",
  ...ACCESS_KEYS,
] as const satisfies readonly (keyof RouteDoc)[];

const FIELDS = routeFields.filter(({ name }) => READ.some((each) => each === name));

/** Routes by name; undefined if a deciding value is not known yet. */
interface Routes {
  readonly byName: ReadonlyMap<string, RouteDoc | undefined>;
  /** There may be more routes. */
  readonly isOpen: boolean;
}

/** @param prior null: nothing was published @param planned null: nothing will be published */
export async function accessWarnings(
  prior: ValueMap | null,
  planned: ValueMap | null,
  now: () => number = () => performance.now(),
): Promise<readonly Diagnostic[]> {
  if (process.env["GATEWAY_ACCESS_WARNINGS"] === "off") return [];
  const end = now() + MOST_MS;
  try {
    return warning(await linesOf(routesOf(prior), routesOf(planned), () => now() > end));
  } catch {
    // A state that cannot be compared (of an older version) must not stop a plan, but the user should know that it was not
    // compared.
    return warning(["Who gains or loses access could not be worked out."]);
  }
}

function warning(lines: readonly string[]): readonly Diagnostic[] {
  if (lines.length === 0) return [];
  return [{ severity: "warning", summary: "Access changes", detail: lines.join("\n") }];
}

async function linesOf(before: Routes, after: Routes, isOver: () => boolean): Promise<readonly string[]> {
  const names = [...new Set([...before.byName.keys(), ...after.byName.keys()])].toSorted();
  const isUnknown = (name: string): boolean =>
    [before, after].some(({ byName, isOpen }) => byName.get(name) === undefined && (byName.has(name) || isOpen));
  const known = names.filter((name) => !isUnknown(name));
  const notKnown = names.filter(isUnknown).map((name) => `${name}: who may use it is not known before apply`);
  const changed = known.filter((name) => !isAlike(before.byName.get(name), after.byName.get(name)));
  if (changed.length === 0) return shortened(notKnown);
  // The most open routes first: there may be more than the time allows.
  const chosen = changed
    .toSorted((one, other) => opennessOf(after.byName.get(other)) - opennessOf(after.byName.get(one)))
    .slice(0, MOST_ROUTES);
  const rest = changed.length - chosen.length;
  const hosts = new Set(chosen.flatMap((name) => [before, after].map(({ byName }) => byName.get(name)?.from)));
  const side = ({ byName }: Routes): Side => ({
    routes: known.flatMap((key) => {
      const doc = byName.get(key);
      // Only these can take each other's requests.
      return doc && (hosts.has(doc.from) || doc.from.includes("*")) ? [{ key, doc: canonicalRoute(doc, key) }] : [];
    }),
    mcpEnabled: true,
  });
  // Loaded late: most plans change no rule and do not need it.
  const [{ differenceOf }, { differenceLines }] = await Promise.all([
    import("../../config/diff/difference.ts"),
    import("../../config/diff/report.ts"),
  ]);
  const found = differenceOf(side(before), side(after), [], { decisions: DECISIONS, cases: CASES, isOver });
  return shortened([
    ...differenceLines(found),
    ...(rest === 0 ? [] : [`${rest} more routes are written otherwise, and were not compared`]),
    ...notKnown,
  ]);
}

/** Compares the text; different texts with equal meaning are compared later. */
function isAlike(one: RouteDoc | undefined, other: RouteDoc | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonicalJson(one) === canonicalJson(other);
}

function opennessOf(route: RouteDoc | undefined): number {
  if (route?.allow_public_unauthenticated_access === true) return 2;
  return route?.allow_any_authenticated_user === true ? 1 : 0;
}

function shortened(lines: readonly string[]): readonly string[] {
  if (lines.length <= MOST_LINES) return lines;
  const rest = lines.length - MOST_LINES + 1;
  return [
    ...lines.slice(0, MOST_LINES - 1),
    `… and ${rest} more lines. Run \`gateway diff OLD NEW\` on the published and the planned slice to see all of them.`,
  ];
}

function routesOf(bundle: ValueMap | null): Routes {
  if (bundle === null) return { byName: new Map(), isOpen: false };
  const attribute = bundle[ROUTES_ATTRIBUTE];
  const isOpen =
    bundle[ROUTE_BLOCK] instanceof Unknown ||
    attribute instanceof Unknown ||
    (attribute instanceof Dynamic && attribute.value instanceof Unknown);
  const named = Object.entries(allRoutes(bundle)).map(([name, route]): [string, RouteDoc | undefined] => [
    name,
    isMap(route) ? routeOf(route) : undefined,
  ]);
  return { byName: new Map(named), isOpen };
}

/** Deciding settings of a route, which was validated when it was planned or published; undefined while not completely known. */
function routeOf(route: ValueMap): RouteDoc | undefined {
  let isKnown = true;
  const replace = (_: Field, path: ValuePath): undefined => {
    // For "mcp", only whether it is a server or a client matters.
    if (path[0] !== "mcp" || path.length < 3) isKnown = false;
    return undefined;
  };
  const problems: DocumentProblem[] = [];
  const doc = toDocument(FIELDS, route, [], { standIn: replace, problems });
  if (problems.length > 0) throw new Error("Cannot compare the bundle: it has a policy that is none");
  const { mcp } = doc;
  const kind = isRecord(mcp) ? { mcp: Object.fromEntries(Object.keys(mcp).map((name) => [name, {}])) } : {};
  return isKnown ? ({ ...doc, ...kind } as unknown as RouteDoc) : undefined;
}
