/** Settings of the listeners: addresses, certificates, trusted proxies, limits. */
import { isProxyClaimName } from "../../shared/http/proxy-claims.ts";
import { canonicalHost } from "../../settings/domains.ts";
import { parseListener } from "../../settings/values.ts";
import { filePathProblem, quotedProblem, readable } from "../../settings/types/checks.ts";
import { block, blockList } from "../../settings/types/block.ts";
import { choice, count, duration, flag, text } from "../../settings/types/scalar.ts";
import { textList } from "../../settings/types/list.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";

export const streamShape = {
  max_streams_per_user: count({
    doc: "Maximum open WebSocket connections and event streams per user and process. Further ones get 429.",
    default: 250,
    min: 1,
    max: 1_000_000,
  }),
  expiry_grace: duration({
    doc: 'Maximum time for which an accepted request continues after its access token or session expires. "0s" ends all requests at expiry.',
    default: "1h",
  }),
};

export const listenerShape = {
  address: text({
    doc: 'Public listener: "host:port" or ":port".',
    unset: '":443"; ":8080" with `insecure_server`; "127.0.0.1:8080" with `development`',
    check: readable(parseListener),
  }),
  insecure_server: flag({
    doc: "Serve plain HTTP on the public listener, for development or behind a load balancer that terminates TLS.",
    default: false,
  }),
  certificates: blockList(
    {
      certificate_file: text({
        doc: "Certificate chain file (PEM), leaf first, without the root.",
        required: true,
        check: filePathProblem,
      }),
      certificate_key_file: text({ doc: "Private key file (PEM).", required: true, check: filePathProblem }),
    },
    {
      doc: "Certificates of the public listener, selected by SNI; the first is the default. Files are reloaded when they change.",
      unset: "required unless `acme` or `insecure_server` is set",
    },
  ),
  downstream_mtls: block(
    {
      ca_file: text({
        doc: "CA file (PEM) for client certificates, reloaded when it changes.",
        required: true,
        check: filePathProblem,
      }),
      enforcement: choice(["policy_with_default_deny", "policy", "reject_connection"], {
        doc: "Without a valid certificate: 495 on every route, evaluate the policy, or refuse the connection.",
        default: "policy_with_default_deny",
      }),
    },
    {
      doc: "Request client certificates. Requires `certificates` or `acme`.",
      unset: "none",
    },
  ),
  http_redirect_address: text({
    doc: 'Additional plain HTTP listener, "host:port" or ":port": serves public routes with `http://` and a port in `from`, redirects others to https. Requires `certificates` or `acme`.',
    unset: "none",
    check: readable(parseListener),
  }),
  use_proxy_protocol: flag({
    doc: "Require a PROXY protocol header (version 1 or 2) with the client address. Only behind a load balancer that clients cannot bypass.",
    default: false,
  }),
  xff_num_trusted_hops: count({
    doc: "Number of trusted proxies that append to X-Forwarded-For. Clients must not be able to bypass them.",
    default: 0,
    min: 0,
    max: 16,
  }),
  skip_xff_append: flag({
    doc: "Forward the trusted proxies' X-Forwarded-For without the connection's address.",
    default: false,
  }),
  trusted_proxy_headers: textList({
    doc: "Proxy headers with client identity to forward, such as `CF-Connecting-IP`; others of this kind are removed. Requires `xff_num_trusted_hops` or `use_proxy_protocol`.",
    unset: "none",
    check: (value) =>
      isProxyClaimName(value.toLowerCase())
        ? undefined
        : quotedProblem(value, "must be a header in which proxies say who their client is, like CF-Connecting-IP"),
  }),
  max_connections: count({
    doc: "Maximum open connections of the public listener per process. Further ones are closed; client addresses share the free ones.",
    unset: "two fifths of the open file limit (`ulimit -n`) on Linux, none elsewhere",
    min: 1,
    max: 1_000_000,
  }),
  queue_timeout: duration({
    doc: 'Maximum wait of a request in a busy process, then 503. Must be shorter than the clients\' timeout; "0s" disables it.',
    default: "30s",
  }),
  send_timeout: duration({
    doc: 'Maximum time in which a client reads no data that is sent to it; then its connection is closed. "0s" disables it.',
    default: "5m",
  }),
};

export const DEFAULT_ADMIN_ADDRESS = "127.0.0.1:9901";

export const adminListenerShape = {
  admin_address: text({
    doc: 'Listener for health, metrics, status and publishing: "host:port".',
    default: DEFAULT_ADMIN_ADDRESS,
    check: readable(parseListener),
  }),
  admin_hosts: textList({
    doc: "Additional host names of the admin listener, without port. Other names get 421, which prevents DNS rebinding.",
    unset: "none",
    check: (value) =>
      canonicalHost(value) === undefined || /[:[\]]/.test(value)
        ? quotedProblem(value, "must be a host name without port, such as gateway.internal.example.com")
        : undefined,
  }),
  admin_tls: block(
    {
      certificate_file: text({
        doc: "Certificate chain file (PEM), leaf first, without the root.",
        required: true,
        check: filePathProblem,
      }),
      certificate_key_file: text({ doc: "Private key file (PEM).", required: true, check: filePathProblem }),
      client_ca_file: text({
        doc: "CA file (PEM) for client certificates, then required in addition to the token, except on `/healthz` and `/readyz`.",
        unset: "none",
        check: filePathProblem,
      }),
    },
    {
      doc: "TLS on the admin listener. Files are reloaded when they change.",
      unset: "none",
    },
  ),
};

/** Listener settings as written. */
export type ListenerDoc = ShapeDoc<typeof streamShape & typeof listenerShape & typeof adminListenerShape>;
