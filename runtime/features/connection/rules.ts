/** Rules of the settings about connections to upstreams. */
import { errorAt, type Report } from "../../settings/problem.ts";
import type { ConnectionDoc } from "./settings.ts";
import { hasSecret } from "../../settings/secret-spellings.ts";

/** Rules of the `tls_…` settings. */
export function upstreamTlsRules(route: Partial<ConnectionDoc>, report: Report): void {
  const has = (name: "tls_client_cert" | "tls_client_key"): boolean => hasSecret(route, name);
  if (has("tls_client_cert") && !has("tls_client_key"))
    report(errorAt(["tls_client_cert"], 'needs "tls_client_key" beside it'));
  if (has("tls_client_key") && !has("tls_client_cert"))
    report(errorAt(["tls_client_key"], 'needs "tls_client_cert" beside it'));
}

export function limitRules({ circuit_breaker_thresholds: limits }: Partial<ConnectionDoc>, report: Report): void {
  if (limits?.max_pending_requests !== undefined && limits.max_connections === undefined)
    report(errorAt(["circuit_breaker_thresholds", "max_pending_requests"], 'needs "max_connections" beside it'));
}
