/** Matches of rules → path and conditions of routes. */
import { quote } from "../../../settings/problem.ts";
import type { IngressPlace } from "../ingress-rules.ts";
import { type DraftProblem, ingressError } from "../ingress-problem.ts";
import type { GrpcMatch, HeaderMatch, HttpMatch, GatewayRouteKind, RouteRule } from "./objects.ts";

export interface RouteMatch {
  readonly match: IngressPlace["match"];
  /** Location in the route, for messages. */
  readonly path: string;
  /** `match_methods`, `match_headers`, `match_query`, if any. */
  readonly conditions: Readonly<Record<string, unknown>>;
}

type Report = (problem: DraftProblem) => void;

/** @param path of the rule */
export function readMatches(
  kind: GatewayRouteKind,
  { matches = [] }: RouteRule,
  path: string,
  report: Report,
): readonly RouteMatch[] {
  // A rule without matches takes everything.
  const all = matches.length === 0 ? [{}] : matches;
  return all.flatMap((match, index) => {
    const at = matches.length === 0 ? path : `${path}.matches[${index}]`;
    const found = kind === "HTTPRoute" ? pathOf(match, at, report) : methodOf(match, at, report);
    if (!found) return [];
    const conditions: Record<string, unknown> = {};
    const headers = exactValues(match.headers, `${at}.headers`, true, report);
    if (headers) conditions["match_headers"] = headers;
    if (kind === "HTTPRoute") {
      const query = exactValues(match.queryParams, `${at}.queryParams`, false, report);
      if (query) conditions["match_query"] = query;
      const { method } = match;
      if (method !== undefined) conditions["match_methods"] = [method];
    }
    return [{ match: found, path: at, conditions }];
  });
}

function pathOf({ path }: HttpMatch, at: string, report: Report): IngressPlace["match"] | undefined {
  const { type = "PathPrefix", value = "/" } = path ?? {};
  switch (type) {
    case "Exact":
      return { kind: "exact", path: value };
    case "PathPrefix":
      return { kind: "prefix", path: value.replace(/\/$/, "") };
    case "RegularExpression":
      return { kind: "regex", path: value };
    default:
      report(
        ingressError({ path: `${at}.path.type` }, `is ${quote(type)}, must be Exact, PathPrefix or RegularExpression`),
      );
      return undefined;
  }
}

/** A gRPC method is the path "/service/method". */
function methodOf({ method }: GrpcMatch, at: string, report: Report): IngressPlace["match"] | undefined {
  const { type = "Exact", service = "", method: name = "" } = method ?? {};
  if (service === "" && name === "") return { kind: "prefix", path: "" };
  if (type === "RegularExpression") return { kind: "regex", path: `/(?:${service || "[^/]+"})/(?:${name || "[^/]+"})` };
  if (type !== "Exact") {
    report(ingressError({ path: `${at}.method.type` }, `is ${quote(type)}, must be Exact or RegularExpression`));
    return undefined;
  }
  if (service === "") return { kind: "regex", path: `/[^/]+/${name.replaceAll(/[^A-Za-z0-9_]/g, String.raw`\$&`)}` };
  return name === "" ? { kind: "prefix", path: `/${service}` } : { kind: "exact", path: `/${service}/${name}` };
}

/** The first of several entries with one name counts. @see HTTPRouteMatch.headers */
function exactValues(
  entries: readonly HeaderMatch[] = [],
  at: string,
  ignoresCase: boolean,
  report: Report,
): Readonly<Record<string, string>> | undefined {
  const found = new Map<string, string>();
  for (const [index, { type = "Exact", name, value }] of entries.entries()) {
    const key = ignoresCase ? name.toLowerCase() : name;
    if (type !== "Exact") report(ingressError({ path: `${at}[${index}].type` }, `is ${quote(type)}, must be Exact`));
    else if (!found.has(key)) found.set(key, value);
  }
  return found.size === 0 ? undefined : Object.fromEntries(found);
}
