/** Settings of a route for upstream addresses, connections and timeouts. */
import { block } from "../../settings/types/block.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { canonicalHost } from "../../settings/domains.ts";
import { count, duration, flag, text } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { urlList } from "../../settings/types/list.ts";
import { parseUpstream } from "../../settings/values.ts";

export const toShape = {
  to: urlList({
    doc: 'Upstream URL, or a list of at most 1,000; "url,weight" sets a weight.',
    unset: "required unless `redirect` or `response` is set",
    read: parseUpstream,
  }),
};

export const websocketShape = {
  allow_websockets: flag({
    doc: "Forward WebSocket connections; browsers can open them from the same origin only. Not on MCP server routes.",
    default: false,
    annotation: "allow_websockets",
  }),
};

export const protocolShape = {
  http2: flag({
    doc: "Use HTTP/2 to the upstream: https if it supports HTTP/2, http always (h2c).",
    default: false,
    annotation: "http2",
  }),
  tls_skip_verify: flag({
    doc: "Disables upstream certificate verification. Insecure.",
    default: false,
    annotation: "tls_skip_verify",
  }),
  tls_server_name: text({
    doc: "Server name (SNI) that the upstream's certificate must match.",
    unset: "the host of `to`",
    annotation: "tls_server_name",
    check: (value) =>
      quotedProblem(value, canonicalHost(value) === value ? undefined : "must be a host name in lower case"),
  }),
  ...secret("tls_custom_ca", {
    doc: "CA certificates (PEM) for the upstream, instead of the defaults: at most 524,288 characters, 4,194,304 in a slice.",
    unset: "CAs trusted by Node.js",
  }),
  ...secret("tls_client_cert", {
    doc: "Client certificate (PEM) for the upstream. Requires `tls_client_key`.",
    unset: "none",
  }),
  ...secret("tls_client_key", {
    doc: "Private key (PEM) of `tls_client_cert`: RSA up to 4096 bits, P-256, P-384, P-521 or EdDSA.",
    unset: "none",
  }),
};

export const timeoutShape = {
  timeout: duration({
    doc: 'Maximum time until the upstream\'s response starts. "0s" disables it.',
    unset: "`default_upstream_timeout`; on MCP server routes none",
    annotation: "timeout",
  }),
};

export const idleTimeoutShape = {
  idle_timeout: duration({
    doc: 'Idle timeout for responses, event streams, gRPC calls and WebSockets. "0s" disables it.',
    unset: "`timeout`; for event streams, gRPC calls and WebSockets none",
    annotation: "idle_timeout",
  }),
};

export const limitsShape = {
  circuit_breaker_thresholds: block(
    {
      max_connections: count({
        doc: "Maximum connections to each upstream. Further requests wait for one.",
        unset: "none",
        min: 1,
        max: 1_000_000,
      }),
      max_pending_requests: count({
        doc: "Maximum requests that wait for a connection to each upstream. Further requests get 503.",
        default: 1024,
        min: 0,
        max: 1_000_000,
      }),
      max_requests: count({
        doc: "Maximum active requests to each upstream. Further requests get 503.",
        default: 10_000,
        min: 1,
        max: 1_000_000,
      }),
    },
    {
      doc: "Limits for each upstream of this route, per process. Other upstreams are tried before the response is 503.",
      unset: "10,000 active requests per upstream",
      annotation: "circuit_breaker_thresholds",
    },
  ),
};

/** Connection settings of a route. */
export type ConnectionDoc = ShapeDoc<
  typeof toShape &
    typeof websocketShape &
    typeof protocolShape &
    typeof timeoutShape &
    typeof idleTimeoutShape &
    typeof limitsShape
>;

export const upstreamTimeoutShape = {
  default_upstream_timeout: duration({
    doc: 'Default `timeout` of routes. "0s" disables it.',
    default: "30s",
  }),
};
