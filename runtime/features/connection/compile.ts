/** Compiles settings of connections to upstreams. */
import type { UpstreamLimits, Upstream, UpstreamConnect, UpstreamReach } from "./compiled.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { ConnectionDoc } from "./settings.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";
import { canonicalJson, sha256 } from "../../shared/canonical-json.ts";
import { accepted, parseUpstream } from "../../settings/values.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import { contextOf } from "./tls-context.ts";

/** @returns undefined if only the address is set; `poolKey` does not yet include the address */
export function compileConnect(
  {
    key: routeKey,
    doc,
    reach,
  }: {
    readonly key: string;
    readonly doc: ConnectionDoc;
    readonly reach?: UpstreamReach | undefined;
  },
  secrets: SecretSource,
): UpstreamConnect | undefined {
  const [ca] = secretValues(doc, "tls_custom_ca", secrets);
  const [cert] = secretValues(doc, "tls_client_cert", secrets);
  const [key] = secretValues(doc, "tls_client_key", secrets);
  const { http2 = false, tls_skip_verify: skipVerify = false, tls_server_name: servername } = doc;
  const limits = compileLimits(doc);
  const isPlain =
    !http2 && !skipVerify && [servername, ca, cert, key, limits, reach].every((each) => each === undefined);
  if (isPlain) return undefined;
  const shared = { rejectUnauthorized: !skipVerify, ...(servername !== undefined && { servername }) };
  try {
    const { digest, context } = contextOf({ ca, cert, key });
    const rest = { http2, ...(reach && { reach }), ...(limits && { limits }) };
    const own = { ...rest, tls: { ...shared, credentials: digest }, ...(limits && { limitedFor: routeKey }) };
    return { ...rest, tls: { ...shared, secureContext: context }, poolKey: sha256(canonicalJson(own)) };
  } catch (cause) {
    // OpenSSL's reason contains no bytes of the key.
    const message = `Cannot use the TLS settings of an upstream: ${errorText(cause)}`;
    throw new GatewayError("config.secret", message, { cause });
  }
}

export function compileUpstream(text: string, owner: string, connect: ReturnType<typeof compileConnect>): Upstream {
  const { url, weight } = accepted(parseUpstream(text));
  const upstream = { origin: url.origin, host: url.host, basePath: trimSlash(url.pathname), weight, owner };
  if (!connect) return upstream;
  return { ...upstream, connect: { ...connect, poolKey: `${url.origin} ${connect.poolKey}` } };
}

export function compileLimits({ circuit_breaker_thresholds: limits }: ConnectionDoc): UpstreamLimits | undefined {
  if (limits?.max_connections === undefined && limits?.max_requests === undefined) return undefined;
  const { max_connections: maxConnections } = limits;
  return {
    maxConnections,
    maxPending: maxConnections === undefined ? undefined : (limits.max_pending_requests ?? 1_024),
    maxRequests: limits.max_requests,
  };
}
