/** Replaces a route's shorthands by the one form that digests, diffs and key comparisons use. */
import { canonicalPolicy } from "../policy/parse.ts";
import { conditionsText } from "../features/routing/conditions.ts";
import { parseFrom } from "../features/routing/from.ts";
import { sha256 } from "../shared/canonical-json.ts";
import type { RouteDoc } from "./route.ts";

/**
 * @param name the route's name in its key; a `name` that only repeats it is dropped
 * @param policyOf as `canonicalPolicy`
 * @param origin normalized origin of its `from`
 * @returns the same meaning: origin normalized, `to` a list, no trailing slash on `prefix`, policy canonical
 */
export function canonicalRoute(
  route: RouteDoc,
  name: string,
  policyOf = canonicalPolicy,
  origin = canonicalOrigin(route.from),
): RouteDoc {
  const { name: shown, prefix: written, ...rest } = route;
  const prefix = written === undefined ? undefined : canonicalPrefix(written);
  return {
    ...rest,
    ...(shown === undefined || shown === name ? {} : { name: shown }),
    ...(prefix === undefined ? {} : { prefix }),
    from: origin,
    ...(route.to === undefined ? {} : { to: typeof route.to === "string" ? [route.to] : route.to }),
    ...(route.policy === undefined ? {} : { policy: policyOf(route.policy) }),
    ...(route.shadow_policy === undefined ? {} : { shadow_policy: policyOf(route.shadow_policy) }),
  };
}

/** "HTTPS://App.Example.com:443/" → "https://app.example.com"; "http://app.example.com:80" keeps its port (see `From`). */
export function canonicalOrigin(from: string): string {
  const parsed = parseFrom(from);
  return parsed.ok ? parsed.value.text : from;
}

/** Key name of a route without one: from its host and path, never from its position. @param host host of its `from` */
export function derivedName(
  route: Partial<Pick<RouteDoc, "prefix" | "path" | "regex" | "match_methods" | "match_headers" | "match_query">>,
  host: string,
): string {
  const conditions = conditionsText(route);
  const own = conditions === "" ? "" : ` (${sha256(conditions).slice(0, 10)})`;
  if (route.path !== undefined) return `${host}${route.path}${own}`;
  if (route.regex !== undefined) return `${host}~${route.regex}`;
  const prefix = canonicalPrefix(route.prefix ?? "/");
  return `${prefix === undefined ? host : `${host}${prefix}/*`}${own}`;
}

/**
 * Removes the trailing slash: prefixes match whole segments, so "/a/" and "/a" are equal. "/" matches every path and is
 * dropped.
 */
function canonicalPrefix(prefix: string): string | undefined {
  return prefix.replace(/\/$/, "") || undefined;
}
