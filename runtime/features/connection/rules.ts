/** Rules for settings of connections to upstreams. */
import { errorAt, type Report } from "../../settings/problem.ts";
import type { ConnectionDoc } from "./settings.ts";
import { hasSecret } from "../../settings/secret-forms.ts";

/** Rules of the `tls_…` settings. */
export function upstreamTlsRules(route: Partial<ConnectionDoc>, report: Report): void {
  const has = (name: "tls_client_cert" | "tls_client_key"): boolean => hasSecret(route, name);
  if (has("tls_client_cert") && !has("tls_client_key"))
    report(errorAt(["tls_client_cert"], 'requires "tls_client_key"'));
  if (has("tls_client_key") && !has("tls_client_cert"))
    report(errorAt(["tls_client_key"], 'requires "tls_client_cert"'));
}

/** In characters of PEM. OpenSSL takes some 25 bytes of memory for each, once for equal texts: 100 MiB. */
export const MAX_AUTHORITIES_OF_SLICE = 4_194_304;

export function sliceAuthorityRules(
  routes: readonly { readonly valid: Partial<ConnectionDoc> }[],
  report: Report,
): void {
  const seen = new Set<string>();
  let all = 0;
  for (const { valid } of routes) {
    const { tls_custom_ca: ca, ...route } = valid;
    if (ca === undefined) continue;
    // Parsed again for each different client certificate, in whatever form it is given.
    const credentials = JSON.stringify([ca, Object.entries(route).filter(([name]) => name.startsWith("tls_client_"))]);
    if (!seen.has(credentials)) all += ca.length;
    seen.add(credentials);
  }
  if (all > MAX_AUTHORITIES_OF_SLICE) {
    const most = `must have at most ${MAX_AUTHORITIES_OF_SLICE} in one slice`;
    report(errorAt(["routes"], `have ${all} characters in different "tls_custom_ca", ${most}`));
  }
}

export function limitRules({ circuit_breaker_thresholds: limits }: Partial<ConnectionDoc>, report: Report): void {
  if (limits?.max_pending_requests !== undefined && limits.max_connections === undefined)
    report(errorAt(["circuit_breaker_thresholds", "max_pending_requests"], 'requires "max_connections"'));
}
