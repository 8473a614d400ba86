/**
 * `mcp.server.extra_paths`: paths of an MCP server's upstream that are served in addition to its MCP endpoint.
 *
 * Each entry is one path below the route's base, in the normal form of requests, or ends in "/*" for all paths below
 * it. No entry can cover everything, because each request carries the gateway's own credential.
 */
import { quotedProblem, readable } from "../../settings/types/checks.ts";
import { OWN_PREFIXES } from "../routing/own-paths.ts";
import { pathTextProblem } from "../routing/path-rewrite.ts";
import { errorAt, quote, type Report } from "../../settings/problem.ts";
import { parseRoutePath } from "../../settings/values.ts";

const MAX_EXTRA_PATHS = 100;
const BELOW = "/*";

export interface ExtraPath {
  readonly path: string;
  /** True for the paths below it, without the path itself. */
  readonly below: boolean;
}

export function parseExtraPath(text: string): ExtraPath {
  const below = text.endsWith(BELOW);
  return { path: below ? text.slice(0, -BELOW.length) : text, below };
}

/** Problem of an entry, for the setting's `check`. */
export function extraPathProblem(text: string): string | undefined {
  const { path } = parseExtraPath(text);
  if (path === "" || path === "/")
    return quotedProblem(text, 'must name what is served below the base: "/sse", or "/files/*" for what lies below it');
  if (path.includes("*")) return quotedProblem(text, 'has a "*" that is not its last segment');
  // Servers that strip parameters would read the same request differently.
  if (/;|%3B/i.test(path)) return quotedProblem(text, "has a path parameter, must be a path without one");
  if (/%(?:2F|5C)/i.test(path))
    return quotedProblem(text, "has an escaped separator (%2F, %5C), which no request may have");
  return readable(parseRoutePath)(path) ?? quotedProblem(text, pathTextProblem(path));
}

/** Rules between the entries, and with the route. */
export function extraPathRules(
  route: {
    readonly mcp?: { readonly server?: { readonly extra_paths?: readonly string[]; readonly path?: string } };
    readonly prefix?: string;
    readonly path?: string;
  },
  report: Report,
): void {
  const { extra_paths: entries, path = "" } = route.mcp?.server ?? {};
  if (!entries) return;
  const place = ["mcp", "server", "extra_paths"];
  if (route.path !== undefined)
    report(errorAt(place, 'needs a route with "prefix" or a whole host: nothing lies below "path" of the route'));
  if (entries.length > MAX_EXTRA_PATHS) report(errorAt(place, `has more than ${MAX_EXTRA_PATHS} entries`));
  const isWholeHost = (route.prefix ?? "/") === "/" && route.path === undefined;
  const seen = new Set<string>();
  for (const [index, entry] of entries.entries()) {
    const own = isWholeHost
      ? OWN_PREFIXES.find((prefix) => entry === prefix || entry.startsWith(`${prefix}/`))
      : undefined;
    if (own !== undefined)
      report(errorAt([...place, index], `is ${quote(entry)}, but the gateway itself answers below "${own}"`));
    if (entry === path) report(errorAt([...place, index], `is ${quote(entry)}, which is "path" and served already`));
    if (seen.has(entry)) report(errorAt([...place, index], `is ${quote(entry)}, which is listed twice`));
    seen.add(entry);
  }
}
