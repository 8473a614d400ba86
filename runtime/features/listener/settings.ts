/** Settings of the listeners: addresses, certificates, what is believed of proxies before them, how much is held open. */
import { isProxyClaimName } from "../../shared/http/proxy-claims.ts";
import { canonicalHost } from "../../settings/domains.ts";
import { parseListener } from "../../settings/values.ts";
import { quotedProblem, readable } from "../../settings/types/checks.ts";
import { block, blockList } from "../../settings/types/block.ts";
import { choice, count, duration, flag, text } from "../../settings/types/scalar.ts";
import { textList } from "../../settings/types/list.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";

const filePathProblem = (path: string): string | undefined =>
  path === "" || path.includes("\0") ? quotedProblem(path, "must be the path of a file") : undefined;

export const streamShape = {
  max_streams_per_user: count({
    doc: "Event streams (of GET requests and of `subscriptions/listen`) and WebSocket connections that one user may hold open at once, in each process; more are answered 429.",
    default: 250,
    min: 1,
    max: 1_000_000,
  }),
  expiry_grace: duration({
    doc: 'Longest time for which an accepted request continues after its access token or session expires. Revoked or blocked access ends it sooner. Streams that clients open again end at expiry: event streams of GET requests and of `subscriptions/listen`, WebSocket connections, and gRPC streams without a deadline. "0s" ends every request at expiry.',
    default: "1h",
  }),
};

export const listenerShape = {
  address: text({
    doc: 'Public listener, "host:port" or ":port".',
    unset: '":443"; ":8080" with `insecure_server`; "127.0.0.1:8080" with `development`',
    check: readable(parseListener),
  }),
  insecure_server: flag({
    doc: "Serve plain HTTP on the public listener: for development, or behind a load balancer that terminates TLS. HTTP/1.1, and HTTP/2 to clients that begin with it (prior knowledge, as gRPC clients without TLS do); `Upgrade: h2c` is ignored.",
    default: false,
  }),
  certificates: blockList(
    {
      certificate_file: text({
        doc: "PEM file: the certificate, then those between it and the root.",
        required: true,
        check: filePathProblem,
      }),
      certificate_key_file: text({ doc: "PEM file of its private key.", required: true, check: filePathProblem }),
    },
    {
      doc: "Certificates of the public listener, chosen by the host a client asks for; the first is for all other hosts. The files are read anew when they change.",
      unset: "none: `insecure_server` is needed",
    },
  ),
  downstream_mtls: block(
    {
      ca_file: text({
        doc: "PEM file of the authorities that sign client certificates; read anew when it changes.",
        required: true,
        check: filePathProblem,
      }),
      enforcement: choice(["policy_with_default_deny", "policy", "reject_connection"], {
        doc: "Without a valid certificate: answer 495 on every route, let the policy judge, or refuse the connection.",
        default: "policy_with_default_deny",
      }),
    },
    {
      doc: "Ask clients of the public listener for a certificate. Needs `certificates`.",
      unset: "clients are not asked",
    },
  ),
  http_redirect_address: text({
    doc: 'Plain listener that only redirects to https, "host:port" or ":port". Needs `certificates`.',
    unset: "no such listener",
    check: readable(parseListener),
  }),
  use_proxy_protocol: flag({
    doc: "Connections of the public listener, and of `http_redirect_address`, begin with a PROXY protocol head (version 1 or 2), whose address is the client's; others are cut. Only behind a load balancer that writes it, and that clients cannot bypass.",
    default: false,
  }),
  xff_num_trusted_hops: count({
    doc: "Number of trusted proxies in front of the gateway that append to X-Forwarded-For. The client's address is that entry from the right, or the connection's address if there are fewer entries. Clients must not be able to bypass these proxies.",
    default: 0,
    min: 0,
    max: 16,
  }),
  skip_xff_append: flag({
    doc: "Send upstreams the X-Forwarded-For of the trusted proxies without adding the connection's address. Without `xff_num_trusted_hops` they get none.",
    default: false,
  }),
  trusted_proxy_headers: textList({
    doc: "Headers in which proxies in front of the gateway say who their client is, sent on to upstreams as they came: `CF-Connecting-IP`, `True-Client-IP`, `X-Real-IP`, `X-Envoy-External-Address`, `X-SSL-Client-Cert`, `X-Remote-User` and their like. Without it they are taken out of every request. Needs `xff_num_trusted_hops` or `use_proxy_protocol`: the proxies must write these headers themselves, or take them out, and clients must not be able to bypass the proxies. `${gateway.request.headers[…]}` and `host_rewrite_header` see them in any case.",
    unset: "none",
    check: (value) =>
      isProxyClaimName(value.toLowerCase())
        ? undefined
        : quotedProblem(value, "must be a header in which proxies say who their client is, like CF-Connecting-IP"),
  }),
  max_connections: count({
    doc: "Connections the public listener holds open at once, per process; more are closed at once. A client address (an IPv6 network of 64 bits is one) may have as many as are free: alone at most half of them. That is not so with `xff_num_trusted_hops`; any other proxy in front of the gateway that hides its clients' addresses is one client. Each may need another one to an upstream, and `--workers` have a limit each.",
    unset: "two fifths of the process's limit of open files (`ulimit -n`) on Linux, no limit elsewhere",
    min: 1,
    max: 1_000_000,
  }),
  queue_timeout: duration({
    doc: 'Longest time in which a request waits for its turn while more come than the process can serve at once: then it gets 503 with `Retry-After`, before anything else is done about it. Requests that come in a burst are served within this time. In an overload, where the queue does not shrink, requests wait 500 ms at most. Turns go from one client address to the next (an IPv6 network of 64 bits is one), so that a client that sends more than others waits longer. Keep it below the time that clients wait for responses. "0s" means no limit.',
    default: "30s",
  }),
  send_timeout: duration({
    doc: 'Longest time in which a client may take nothing of what is sent to it. Then its connection is cut, over HTTP/2 the stream, and what it asked of an upstream is given up. Connections on which nothing is waiting to be taken (silent event streams, WebSocket) are idle and stay. "0s" means no limit.',
    default: "5m",
  }),
};

export const DEFAULT_ADMIN_ADDRESS = "127.0.0.1:9901";

export const adminListenerShape = {
  admin_address: text({
    doc: 'Listener for health, metrics, status and publishing, "host:port".',
    default: DEFAULT_ADMIN_ADDRESS,
    check: readable(parseListener),
  }),
  admin_hosts: textList({
    doc: "Names under which the admin listener is reached, without port: of the Service, load balancer or machine in front of it. IP addresses, `localhost` and the host of `admin_address` are answered in any case; every other name is refused (421), so that no web page reaches it by a name of its own.",
    unset: "no other name",
    check: (value) =>
      canonicalHost(value) === undefined || /[:[\]]/.test(value)
        ? quotedProblem(value, "must be a host name without port, such as gateway.internal.example.com")
        : undefined,
  }),
  admin_tls: block(
    {
      certificate_file: text({
        doc: "PEM file: the certificate, then those between it and the root.",
        required: true,
        check: filePathProblem,
      }),
      certificate_key_file: text({ doc: "PEM file of its private key.", required: true, check: filePathProblem }),
      client_ca_file: text({
        doc: "PEM file of the authorities that sign client certificates. Set: every path but `/healthz` and `/readyz` needs one, besides the token.",
        unset: "clients are not asked",
        check: filePathProblem,
      }),
    },
    {
      doc: "TLS on the admin listener, with a certificate of its own. The files are read anew when they change.",
      unset: "plain HTTP",
    },
  ),
};

/** What may be written about the listeners. */
export type ListenerDoc = ShapeDoc<typeof streamShape & typeof listenerShape & typeof adminListenerShape>;
