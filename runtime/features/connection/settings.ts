/** Settings of a route about where its requests go, how connections are made and how long is waited. */
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
    doc: 'Address of the upstream, or a list of at most 1,000; "url,weight" gives one more or less of the traffic. Required unless `redirect` or `response` answers.',
    unset: "`redirect` or `response` answers",
    read: parseUpstream,
  }),
};

export const websocketShape = {
  allow_websockets: flag({
    doc: "Pass WebSocket connections to the upstream. Browsers may open them from pages of the same origin only. Not on MCP server routes.",
    default: false,
    annotation: "allow_websockets",
  }),
};

export const protocolShape = {
  http2: flag({
    doc: "Speak HTTP/2 to the upstream: to https addresses that offer it, to http addresses always (h2c).",
    default: false,
    annotation: "http2",
  }),
  tls_skip_verify: flag({
    doc: "Take any certificate from the upstream. Whoever is between can then read and change everything.",
    default: false,
    annotation: "tls_skip_verify",
  }),
  tls_server_name: text({
    doc: "Host that the upstream's certificate must be for, sent as SNI.",
    unset: "the host of `to`",
    annotation: "tls_server_name",
    check: (value) =>
      quotedProblem(value, canonicalHost(value) === value ? undefined : "must be a host name in lower case"),
  }),
  ...secret("tls_custom_ca", {
    doc: "PEM of the authorities that may have signed the upstream's certificate, instead of the usual ones: at most 524,288 characters, and 4,194,304 in all different ones of a slice.",
    unset: "the authorities that Node.js trusts",
  }),
  ...secret("tls_client_cert", {
    doc: "PEM of the certificate that the gateway shows to the upstream. Needs `tls_client_key`.",
    unset: "no client certificate",
  }),
  ...secret("tls_client_key", {
    doc: "PEM of the private key of `tls_client_cert`: RSA of at most 4096 bits, P-256, P-384, P-521 or EdDSA.",
    unset: "no client certificate",
  }),
};

export const timeoutShape = {
  timeout: duration({
    doc: 'Longest wait for the upstream\'s answer to begin, of a gRPC call from the end of its request; "0s" means no limit.',
    unset: "`default_upstream_timeout`; no limit on MCP server routes",
    annotation: "timeout",
  }),
};

export const idleTimeoutShape = {
  idle_timeout: duration({
    doc: 'Longest silence within an answer, event streams included, within a gRPC call and on a WebSocket connection; "0s" means no limit.',
    unset: "`timeout`; no limit for event streams, gRPC calls and WebSocket",
    annotation: "idle_timeout",
  }),
};

export const limitsShape = {
  circuit_breaker_thresholds: block(
    {
      max_connections: count({
        doc: "Connections to each upstream; further requests wait for one. WebSocket connections are not among them, but are requests.",
        unset: "no limit",
        min: 1,
        max: 1_000_000,
      }),
      max_pending_requests: count({
        doc: "Requests that may wait for a connection, for each upstream; more are answered 503.",
        default: 1024,
        min: 0,
        max: 1_000_000,
      }),
      max_requests: count({
        doc: "Requests under way to each upstream, open streams and WebSocket connections included; more are answered 503.",
        default: 10_000,
        min: 1,
        max: 1_000_000,
      }),
    },
    {
      doc: "Limits of this route towards each upstream, in each process. With several upstreams another one is tried before the answer is 503.",
      unset: "10,000 requests under way",
      annotation: "circuit_breaker_thresholds",
    },
  ),
};

/** What of a route is about its upstreams. */
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
    doc: 'Default of the routes\' `timeout`; "0s" means no limit.',
    default: "30s",
  }),
};
