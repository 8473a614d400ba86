/** Rules between routing settings and those of upstreams. */
import type { From } from "./from.ts";
import type { PatternWork } from "./pattern-conflicts.ts";
import { rewritePairProblem } from "./path-rewrite.ts";
import { warningAt, errorAt, quote, type ValuePath, type Report } from "../../settings/problem.ts";
import type { RoutingDoc } from "./settings.ts";
import { OWN_PREFIXES } from "./own-paths.ts";

/** Whether the setting concerns requests to an upstream, so that a route with its own response does not use it. */
export function asksUpstream(setting: string): boolean {
  return OF_UPSTREAMS.test(setting);
}

type Wrote = (name: keyof RoutingDoc | "to") => boolean;

/** Parsed values of the route. */
interface ParsedRoute {
  readonly from: From | undefined;
  readonly upstreams: readonly { readonly pathname: string; readonly path: ValuePath }[];
  readonly pattern: PatternWork | undefined;
  /** Whether it has members instead of an upstream. */
  readonly isFederated: boolean;
}

/** Other members of a route that can conflict with its routing. */
export interface BesideRouting {
  readonly mcp?: { readonly server?: object | undefined } | undefined;
  readonly set_response_headers?: Readonly<Record<string, string>>;
}

type Routed = Partial<RoutingDoc> & BesideRouting & { readonly parsed: ParsedRoute };

/** A pattern with more instructions causes a warning: common ones have some thirty. */
const COSTLY_PATTERN = 150;
const REDIRECT_CODES = [301, 302, 303, 307, 308];
/** As many as the Gateway API allows headers in one match. */
const MAX_CONDITIONS = 16;
/** Responses that never have a body (RFC 9110 §15.3.5, §15.3.6, §15.4.5). */
const BODILESS = [204, 205, 304];

/** Settings for requests to an upstream, by prefix of their names. */
const OF_UPSTREAMS =
  /^(to$|mcp$|http2$|timeout$|idle_timeout$|allow_websockets$|pass_identity_|preserve_host|host_|prefix_rewrite|regex_rewrite|[a-z]+_request_headers|(?:add|remove|rewrite)_response_|tls_|load_balancing|maglev_|health_checks|healthy_|outlier_|circuit_breaker_)/;

/**
 * Rules across several settings.
 *
 * @param route its valid members
 * @param wrote whether the document has a member, valid or not
 * @param names all members of the document
 */
export function routingRules(route: Routed, wrote: Wrote, names: readonly string[], report: Report): void {
  patternRules(route, wrote, report);
  conditionRules(route, wrote, report);
  rewriteRules(route, wrote, report);
  answerRules(route, wrote, names, report);
  if (route.redirect) redirectRules(route, route.redirect, report);
  const { status, body = "" } = route.response ?? {};
  if (status !== undefined && BODILESS.includes(status) && body !== "") {
    report(errorAt(["response", "body"], `cannot be combined with status ${status}, whose responses have no body`));
  }
  hostRules(route, report);
}

function patternRules(route: Routed, wrote: Wrote, report: Report): void {
  if (wrote("regex")) {
    for (const other of ["prefix", "path"] as const) {
      if (wrote(other)) report(errorAt(["regex"], `cannot be combined with "${other}"`));
    }
    if (route.mcp)
      report(
        errorAt(["regex"], 'cannot be combined with "mcp", whose address clients must know; use "prefix" or "path"'),
      );
    costRule(route.parsed.pattern ?? {}, report);
  } else if (wrote("regex_priority_order")) {
    report(errorAt(["regex_priority_order"], 'requires "regex"'));
  }
}

const CONDITIONS = ["match_methods", "match_headers", "match_query"] as const;

function conditionRules(route: Routed, wrote: Wrote, report: Report): void {
  const written = CONDITIONS.filter((name) => wrote(name));
  for (const name of written) {
    if (wrote("regex")) report(errorAt([name], 'cannot be combined with "regex"'));
    if (route.mcp)
      report(errorAt([name], 'cannot be combined with "mcp", whose address takes the messages of all clients'));
    const conditions = Object.keys(route[name] ?? {}).length;
    if (conditions > MAX_CONDITIONS)
      report(errorAt([name], `has ${conditions} conditions, must have at most ${MAX_CONDITIONS}`));
  }
  if (wrote("match_priority_order") && written.length === 0)
    report(errorAt(["match_priority_order"], `requires "${CONDITIONS.join('", "')}"`));
}

/** Legal and bounded, but untrusted clients choose the paths. */
function costRule({ work: size = 0 }: Partial<PatternWork>, report: Report): void {
  if (size <= COSTLY_PATTERN) return;
  const problem =
    "so a long path may hold the gateway for tens of milliseconds; should have fewer or smaller repetitions";
  report(warningAt(["regex"], `is a large pattern (${size} instructions), ${problem}`));
}

function rewriteRules(route: Routed, wrote: Wrote, report: Report): void {
  const [pattern, substitution] = ["regex_rewrite_pattern", "regex_rewrite_substitution"] as const;
  if (wrote(pattern) !== wrote(substitution)) {
    const [present, absent] = wrote(pattern) ? [pattern, substitution] : [substitution, pattern];
    report(errorAt([present], `requires "${absent}"`));
  }
  if (route[pattern] !== undefined && route[substitution] !== undefined) {
    const problem = rewritePairProblem(route[pattern], route[substitution]);
    if (problem !== undefined) report(errorAt([substitution], problem));
  }
  if (wrote("prefix_rewrite") && wrote(pattern)) {
    report(errorAt([pattern], 'cannot be combined with "prefix_rewrite"'));
  }
  const rewrite = wrote("prefix_rewrite") ? "prefix_rewrite" : wrote(pattern) ? pattern : undefined;
  if (rewrite === undefined) return;
  if (route.mcp?.server) {
    report(errorAt([rewrite], 'cannot be combined with "mcp.server", whose base path is replaced by the path of "to"'));
  }
  // Other gateways disagree on the order of the two paths, so only one may be set.
  for (const { pathname, path } of route.parsed.upstreams) {
    if (pathname === "/") continue;
    report(errorAt(path, `has a path, which cannot be combined with "${rewrite}"; write the whole path there`));
  }
}

/** A route has exactly one source of responses. */
function answerRules({ response, mcp, parsed }: Routed, wrote: Wrote, names: readonly string[], report: Report): void {
  if (wrote("redirect") && wrote("response")) report(errorAt(["response"], 'cannot be combined with "redirect"'));
  const written = wrote("redirect") ? "redirect" : wrote("response") ? "response" : undefined;
  const answer = written ?? (parsed.isFederated ? "mcp.server.members" : undefined);
  if (answer === undefined) {
    if (!wrote("to"))
      report(errorAt(["to"], 'is missing, must be a URL or a list of URLs; or write "redirect" or "response"'));
    return;
  }
  if (written === "response" && response?.percentage !== undefined && !mcp) {
    if (!wrote("to")) report(errorAt(["response", "percentage"], 'requires "to", which gets the other requests'));
    return;
  }
  for (const name of names) {
    if (asksUpstream(name) && !(name === "mcp" && written === undefined))
      report(errorAt([name], `cannot be combined with "${answer}", which has no upstream`));
  }
}

function redirectRules(route: Routed, redirect: NonNullable<RoutingDoc["redirect"]>, report: Report): void {
  const { response_code: code } = redirect;
  if (code !== undefined && !REDIRECT_CODES.includes(code)) {
    report(errorAt(["redirect", "response_code"], `is ${code}, must be 301, 302, 303, 307 or 308`));
  }
  if (redirect.https_redirect !== undefined && redirect.scheme_redirect !== undefined) {
    report(errorAt(["redirect", "scheme_redirect"], 'cannot be combined with "https_redirect"'));
  }
  if (redirect.path_redirect !== undefined && redirect.prefix_rewrite !== undefined) {
    report(errorAt(["redirect", "prefix_rewrite"], 'cannot be combined with "path_redirect"'));
  }
  if (Object.keys(route.set_response_headers ?? {}).some((name) => name.toLowerCase() === "location")) {
    report(errorAt(["set_response_headers"], 'cannot set "Location" with "redirect", which sets it'));
  }
  if (leadsBack(route, redirect)) {
    report(
      errorAt(["redirect"], "leads back to where the request came from, must change the scheme, host, port or path"),
    );
  }
}

/** Whether every request of the route would be redirected to its own address. */
function leadsBack(route: Routed, redirect: NonNullable<RoutingDoc["redirect"]>): boolean {
  const { from } = route.parsed;
  if (!from) return false;
  const { scheme, hostname, port } = from;
  const nextScheme = redirect.https_redirect === true ? "https" : (redirect.scheme_redirect ?? scheme);
  if (nextScheme !== scheme) return false;
  if (redirect.host_redirect !== undefined && redirect.host_redirect !== hostname) return false;
  if (redirect.port_redirect !== undefined && redirect.port_redirect !== port) return false;
  if (redirect.host_redirect !== undefined && redirect.port_redirect === undefined && port !== defaultPort(scheme))
    return false;
  if (redirect.path_redirect !== undefined) return route.path === redirect.path_redirect;
  if (redirect.prefix_rewrite === undefined) return true;
  return redirect.prefix_rewrite === (route.path ?? (route.regex === undefined ? (route.prefix ?? "/") : undefined));
}

function hostRules(route: Routed, report: Report): void {
  if (route.parsed.from?.isWildcard !== true || !route.mcp) return;
  const what = route.mcp.server
    ? "is issuer and audience of the tokens of its clients"
    : "is the audience of its tokens";
  report(errorAt(["from"], `is ${quote(route.from)}, but the host of an MCP route ${what}, must name one host`));
}

function defaultPort(scheme: "http" | "https"): number {
  return scheme === "https" ? 443 : 80;
}

/** Rules of `prefix` and `path`. */
export function pathRules(
  route: Partial<RoutingDoc>,
  wrote: (name: keyof RoutingDoc) => boolean,
  report: Report,
): void {
  if (wrote("prefix") && wrote("path")) report(errorAt(["path"], 'cannot be combined with "prefix"'));
  for (const name of ["prefix", "path"] as const) {
    const own = OWN_PREFIXES.find((prefix) => route[name] === prefix || route[name]?.startsWith(`${prefix}/`));
    if (own !== undefined)
      report(errorAt([name], `is ${quote(route[name])}, but the gateway itself answers below "${own}"`));
  }
}
