/**
 * Validates one route alone: its valid members, and its problems.
 *
 * A reload validates thousands of routes of which a few changed. A reading depends only on the route's text and owner,
 * so it can be reused.
 */
import { rateLimitRules } from "../features/limits/rules.ts";
import { accessRules, federatedApproveRule, criteriaLists, type PlacedCriteria } from "../features/access/rules.ts";
import { balancingRules } from "../features/balancing/settings.ts";
import { canonicalRoute, derivedName } from "./canonical.ts";
import { extraPathRules } from "../features/mcp/extra-paths.ts";
import { type From, parseFrom } from "../features/routing/from.ts";
import { headerRules } from "../features/headers/rules.ts";
import { validate } from "../settings/validate.ts";
import { isFederated } from "../features/mcp/members.ts";
import { mcpRules } from "../features/mcp/rules.ts";
import type { PlacedUpstream } from "./rules/own-addresses.ts";
import { type PatternWork, patternWork } from "../features/routing/pattern-conflicts.ts";
import { limitRules, upstreamTlsRules } from "../features/connection/rules.ts";
import type { UnplacedProblem, ValuePath, Report } from "../settings/problem.ts";
import { type RouteDoc, routeFields, routeSchema } from "./route.ts";
import { routingRules, pathRules } from "../features/routing/rules.ts";
import type { MemberMemory } from "../settings/types/registry.ts";
import { canonicalPolicy } from "../policy/parse.ts";
import { secretRules } from "../settings/secret-forms.ts";
import { canonicalJson } from "../shared/canonical-json.ts";
import { isRecord } from "../shared/is-record.ts";
import { accepted, parseUpstream } from "../settings/values.ts";

export interface RouteReading {
  /** Its members without problems; complete exactly when `doc` is set. */
  readonly valid: Partial<RouteDoc>;
  readonly doc?: RouteDoc;
  /** `valid.from`, if present. */
  readonly from: From | undefined;
  /** `valid.to`, each upstream with its path in the route. */
  readonly upstreams: readonly PlacedUpstream[];
  /** Criteria of `valid.policy` and `valid.shadow_policy`. */
  readonly criteria: readonly PlacedCriteria[];
  /** Pattern of `valid.regex`, if present. */
  readonly pattern: PatternWork | undefined;
  /** For a route without a label; undefined if no member yields a name. */
  readonly ownName: string | undefined;
  /** Paths are relative to the route. */
  readonly problems: readonly UnplacedProblem[];
  /** The document in canonical form under this name; only if `doc` is set. */
  readonly canonical: (name: string) => CanonicalRoute;
}

export interface CanonicalRoute {
  readonly doc: RouteDoc;
  /** Canonical JSON of `doc`. */
  readonly text: string;
}

/** Cached readings of routes and of their members, by text: routes of one team or tool have much in common. */
export interface RouteMemory extends Known {
  /** Returns the reading cached under these words, or the result of `read`. */
  recall(text: string, read: () => RouteReading): RouteReading;
  /** Drops entries unused since the last call. */
  forgetOthers(): void;
}

/** Cache of parsed values, by source text. */
interface Known {
  readonly member: MemberMemory;
  readonly upstreamsOf: typeof upstreamsOf;
  readonly canonicalPolicy: typeof canonicalPolicy;
  /** Canonical JSON. */
  readonly textOf: (member: object) => string;
}

const NOTHING_KNOWN: Known = {
  member: (_name, _written, read) => read(),
  upstreamsOf,
  canonicalPolicy,
  textOf: canonicalJson,
};

export function createRouteMemory(): RouteMemory {
  const readings = createGenerations<RouteReading>();
  const members = createGenerations<object>();
  return {
    recall: (text, read) => readings.recall(text, read) as RouteReading,
    member: (name, written, read) =>
      members.recall(`${name} ${JSON.stringify(written)}`, read as () => object | undefined),
    // By then, equal members are one object.
    upstreamsOf: onceEach(upstreamsOf),
    canonicalPolicy: onceEach(canonicalPolicy),
    textOf: onceEach(canonicalJson),
    forgetOthers() {
      readings.forgetOthers();
      members.forgetOthers();
    },
  };
}

interface Generations<V> {
  /** Caches the result of `read` unless it is undefined. */
  recall(text: string, read: () => V | undefined): V | undefined;
  forgetOthers(): void;
}

function createGenerations<V>(): Generations<V> {
  let before: ReadonlyMap<string, V> = new Map();
  let current = new Map<string, V>();
  return {
    recall(text, read) {
      const value = before.get(text) ?? current.get(text) ?? read();
      if (value !== undefined) current.set(text, value);
      return value;
    },
    forgetOthers() {
      before = current;
      current = new Map();
    },
  };
}

function onceEach<K extends object, V>(make: (of: K) => V): (of: K) => V {
  const known = new WeakMap<K, V>();
  return (of) => {
    let made = known.get(of);
    if (made === undefined) known.set(of, (made = make(of)));
    return made;
  };
}

/** @param publisher owner of a published slice; undefined for the operator's main configuration file */
export function readRoute(value: unknown, publisher: string | undefined, memory?: RouteMemory): RouteReading {
  const read = (): RouteReading => validateRoute(value, publisher, memory);
  if (!memory) return read();
  // As JSON, so that no owner's name, valid or not, is confused with another's or with none.
  return memory.recall(`${JSON.stringify(publisher)} ${JSON.stringify(value)}`, read);
}

function validateRoute(value: unknown, publisher: string | undefined, known: Known = NOTHING_KNOWN): RouteReading {
  const problems: UnplacedProblem[] = [];
  const report: Report = (problem) => void problems.push(problem);
  const validated = validate(routeSchema, value, routeFields, report, known.member);
  const route = validated.valid;
  const from = route.from === undefined ? undefined : accepted(parseFrom(route.from));
  const { to = NO_UPSTREAMS } = route;
  const upstreams = typeof to === "string" ? [placeUpstream(to, ["to"])] : known.upstreamsOf(to);
  const pattern = route.regex === undefined ? undefined : patternWork(route.regex);
  const hasMembers = isFederated(route.mcp?.server);
  const wrote = (name: keyof RouteDoc): boolean => isRecord(value) && Object.hasOwn(value, name);
  secretRules(routeFields, route, publisher, report);
  headerRules(route, wrote, tokenFor(route), report);
  if (route.mcp) mcpRules(route.mcp, report);
  pathRules(route, wrote, report);
  extraPathRules(route, report);
  if (isRecord(value))
    routingRules(
      { ...route, parsed: { from, upstreams, pattern, isFederated: hasMembers } },
      wrote,
      Object.keys(value),
      report,
    );
  upstreamTlsRules(route, report);
  balancingRules(route, report);
  limitRules(route, report);
  rateLimitRules(route, mcpKind(route) === "server", report);
  const criteria = criteriaLists(route);
  if (validated.complete) accessRules(route, wrote, mcpKind(route), criteria, report);
  if (hasMembers) federatedApproveRule(criteria, report);
  const isValid = validated.complete && problems.every(({ severity }) => severity !== "error");
  let last: { readonly name: string; readonly canonical: CanonicalRoute } | undefined;
  return {
    valid: route,
    ...(isValid && { doc: route as RouteDoc }),
    from,
    upstreams,
    criteria,
    pattern,
    ownName: route.name ?? (from && derivedName(route, from.host)),
    problems,
    canonical(name) {
      if (last?.name === name) return last.canonical;
      const doc = canonicalRoute(route as RouteDoc, name, known.canonicalPolicy, from?.text);
      last = { name, canonical: { doc, text: canonicalText(doc, known) } };
      return last.canonical;
    },
  };
}

/** As `canonicalJson`. */
function canonicalText(doc: RouteDoc, { textOf }: Known): string {
  let text = "";
  for (const name of Object.keys(doc).sort()) {
    const member = doc[name as keyof RouteDoc];
    const own = typeof member === "object" ? textOf(member) : canonicalJson(member);
    text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${own}`;
  }
  return `{${text}}`;
}

function mcpKind({ mcp }: Partial<RouteDoc>): "server" | "client" | undefined {
  return mcp?.server ? "server" : mcp && "client";
}

/** Our token type in the upstream's Authorization header. */
function tokenFor({ mcp }: Partial<RouteDoc>): "External" | "Internal" | undefined {
  return mcp?.client ? "External" : mcp?.server?.upstream_oauth2 && "Internal";
}

const NO_UPSTREAMS: readonly string[] = [];

function upstreamsOf(to: readonly string[]): readonly PlacedUpstream[] {
  return to.map((text, index) => placeUpstream(text, ["to", index]));
}

function placeUpstream(text: string, path: ValuePath): PlacedUpstream {
  const { origin, hostname, port, protocol, pathname } = accepted(parseUpstream(text)).url;
  return { origin, hostname, port: Number(port || (protocol === "https:" ? 443 : 80)), pathname, path };
}
