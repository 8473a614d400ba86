/**
 * The path that an upstream sees, and the one a redirect leads to, where a route changes it.
 *
 * Promise: what comes out has one reading, like what the listener lets in. A pattern can put together what no client could
 * send (`//`, dot segments, half an escape): such a request is refused, not repaired, because the policy decided on the path
 * that came in and nobody can say which of the readings the upstream takes.
 */
import type { PathRewrite, RoutedRoute } from "./compiled.ts";
import { canonicalPath, pathReadings } from "../../shared/http/target.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";

/** @returns undefined when the result is no path with one reading */
export function rewritePath(path: string, route: RoutedRoute, rewrite: PathRewrite): string | undefined {
  const rewritten = apply(path, route, rewrite);
  if (rewritten === undefined || !isPlain(rewritten)) return undefined;
  // What a server reads that cuts parameters off must be what the rewrite makes of the path without them.
  const readings = pathReadings(path + rewritten);
  return readings.every((read) => apply(read(path), route, rewrite) === read(rewritten)) ? rewritten : undefined;
}

function apply(path: string, route: RoutedRoute, rewrite: PathRewrite): string | undefined {
  return rewrite.kind === "regex" ? rewrite.apply(path) : swapPrefix(path, route, rewrite.text);
}

/** The base of the route in the path exchanged; of routes that are no prefix the whole path. */
export function swapPrefix(path: string, { match, base }: RoutedRoute, text: string): string {
  const rest = match.kind === "prefix" ? path.slice(base.length) : "";
  if (rest === "") return text;
  return trimSlash(text) + rest;
}

/** In the form in which the listener gives out paths. */
function isPlain(path: string): boolean {
  const canonical = canonicalPath(path);
  return canonical.ok && canonical.path === path;
}
