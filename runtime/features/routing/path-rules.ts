/** Rules of `prefix` and `path`. */
import { fault, type Finding, quote } from "../../settings/problem.ts";
import type { RouteDoc } from "../../config/route.ts";

/** Prefixes under which the gateway answers itself, D25. */
export const OWN_PREFIXES = [
  "/.gateway",
  "/.well-known/gateway",
  "/.well-known/oauth-authorization-server",
  "/.well-known/openid-configuration",
  "/.well-known/oauth-protected-resource",
];

export function* pathRules(route: Partial<RouteDoc>, wrote: (name: keyof RouteDoc) => boolean): Iterable<Finding> {
  if (wrote("prefix") && wrote("path")) yield fault(["path"], 'cannot stand beside "prefix", must be one of them');
  for (const name of ["prefix", "path"] as const) {
    const own = OWN_PREFIXES.find((prefix) => route[name] === prefix || route[name]?.startsWith(`${prefix}/`));
    if (own !== undefined)
      yield fault([name], `is ${quote(route[name])}, but the gateway itself answers below "${own}"`);
  }
}

/** Rules of the `tls_…` settings. */
export function* upstreamTlsRules(route: Partial<RouteDoc>): Iterable<Finding> {
  const has = (name: "tls_client_cert" | "tls_client_key"): boolean =>
    ["", "_ref", "_sealed"].some((suffix) => Object.hasOwn(route, name + suffix));
  if (has("tls_client_cert") && !has("tls_client_key"))
    yield fault(["tls_client_cert"], 'needs "tls_client_key" beside it');
  if (has("tls_client_key") && !has("tls_client_cert"))
    yield fault(["tls_client_key"], 'needs "tls_client_cert" beside it');
}
