/** Compiles how a route matches, changes or answers requests. */
import type { PathMatch, PathRewrite, RouteAnswer } from "./compiled.ts";
import { startOf } from "./path-pattern.ts";
import { compilePathRewrite } from "./path-rewrite.ts";
import type { RoutingDoc } from "./settings.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";

export function compileMatch(doc: RoutingDoc): PathMatch {
  if (doc.path !== undefined) return { kind: "exact", path: doc.path };
  if (doc.regex === undefined) return { kind: "prefix", prefix: doc.prefix ?? "/" };
  const { regex: pattern, regex_priority_order: priority = 0 } = doc;
  return { kind: "regex", pattern, priority, ...startOf(pattern) };
}

/** Prefix or exact path, without trailing slash. */
export function baseOf(match: PathMatch): string {
  if (match.kind === "regex") return "";
  return trimSlash(match.kind === "exact" ? match.path : match.prefix);
}

export function compileRewrite(doc: RoutingDoc): PathRewrite | undefined {
  if (doc.prefix_rewrite !== undefined) return { kind: "prefix", text: doc.prefix_rewrite };
  const { regex_rewrite_pattern: pattern, regex_rewrite_substitution: substitution } = doc;
  if (pattern === undefined || substitution === undefined) return undefined;
  return { kind: "regex", apply: compilePathRewrite(pattern, substitution) };
}

export function compileAnswer({ redirect, response }: RoutingDoc): RouteAnswer | undefined {
  if (response) {
    const { status, body = "", percentage } = response;
    return { kind: "response", status, body, share: percentage === undefined ? undefined : percentage / 100 };
  }
  if (!redirect) return undefined;
  const { path_redirect: path = "" } = redirect;
  const mark = path.indexOf("?");
  return {
    kind: "redirect",
    status: redirectStatus(redirect.response_code),
    scheme: redirect.https_redirect === true ? "https" : redirect.scheme_redirect,
    host: redirect.host_redirect,
    port: redirect.port_redirect,
    path: path === "" ? undefined : path.slice(0, mark === -1 ? undefined : mark),
    query: mark === -1 ? undefined : path.slice(mark),
    prefix: redirect.prefix_rewrite,
    stripQuery: redirect.strip_query ?? false,
  };
}

function redirectStatus(code: number | undefined): 301 | 302 | 303 | 307 | 308 {
  return code === 302 || code === 303 || code === 307 || code === 308 ? code : 301;
}
