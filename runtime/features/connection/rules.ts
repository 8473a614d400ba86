/** Rules of the settings about connections to upstreams. */
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import type { ConnectionDoc } from "./settings.ts";
import { hasSecret } from "../../settings/secret-spellings.ts";

/** Rules of the `tls_…` settings. */
export function* upstreamTlsRules(route: Partial<ConnectionDoc>): Iterable<UnplacedProblem> {
  const has = (name: "tls_client_cert" | "tls_client_key"): boolean => hasSecret(route, name);
  if (has("tls_client_cert") && !has("tls_client_key"))
    yield errorAt(["tls_client_cert"], 'needs "tls_client_key" beside it');
  if (has("tls_client_key") && !has("tls_client_cert"))
    yield errorAt(["tls_client_key"], 'needs "tls_client_cert" beside it');
}

export function* limitRules({ circuit_breaker_thresholds: limits }: Partial<ConnectionDoc>): Iterable<UnplacedProblem> {
  if (limits?.max_pending_requests !== undefined && limits.max_connections === undefined)
    yield errorAt(["circuit_breaker_thresholds", "max_pending_requests"], 'needs "max_connections" beside it');
}
