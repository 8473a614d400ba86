/**
 * Path for the upstream, or for a redirect, if a route changes it.
 *
 * Promise: the result has one reading, like the listener's paths. A pattern can produce what no client could send
 * (`//`, dot segments, half an escape). Such a request is rejected, not repaired: the policy decided on the incoming
 * path, and the upstream's reading is unknown.
 */
import type { PathRewrite, RoutedRoute } from "./compiled.ts";
import { canonicalPath, pathReadings } from "../../shared/http/target.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";

/** @returns undefined if the result is not a path with one reading */
export function rewritePath(path: string, route: RoutedRoute, rewrite: PathRewrite): string | undefined {
  const rewritten = apply(path, route, rewrite);
  if (rewritten === undefined || !isPlain(rewritten)) return undefined;
  // Servers that strip parameters must read the result like a rewrite of the path without parameters.
  const readings = pathReadings(path + rewritten);
  return readings.every((read) => apply(read(path), route, rewrite) === read(rewritten)) ? rewritten : undefined;
}

function apply(path: string, route: RoutedRoute, rewrite: PathRewrite): string | undefined {
  return rewrite.kind === "regex" ? rewrite.apply(path) : swapPrefix(path, route, rewrite.text);
}

/** Replaces the route's base in the path; for routes other than prefixes, the whole path. */
export function swapPrefix(path: string, { match, base }: RoutedRoute, text: string): string {
  const rest = match.kind === "prefix" ? path.slice(base.length) : "";
  if (rest === "") return text;
  return trimSlash(text) + rest;
}

/** Whether the path is in the listener's normal form. */
function isPlain(path: string): boolean {
  const canonical = canonicalPath(path);
  return canonical.ok && canonical.path === path;
}
