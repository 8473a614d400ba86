/** Settings that only the file given to `gateway run` may carry: what a process needs before it reads any slice. */
import {
  type DocOf,
  document,
  block,
  blockList,
  choice,
  count,
  domainPatternList,
  duration,
  flag,
  labelled,
  secret,
  text,
  textList,
  url,
} from "../../settings/types/kinds.ts";
import { quotedWish, readable } from "../../settings/types/checks.ts";
import { canonicalHost } from "../../settings/domains.ts";
import { HOST_CERTIFICATES } from "../listener/host-certificates.ts";
import { liveShape } from "../sign-in/settings.ts";
import { isHeaderName } from "../../shared/http/header-syntax.ts";
import { ownerPatternProblem } from "./owners.ts";
import { quote } from "../../settings/problem.ts";
import { isProxyClaimName } from "../../shared/http/proxy-claims.ts";
import { decodeBase64, parseHttpUrl, parseListener } from "../../settings/values.ts";

const fileWish = (path: string): string | undefined =>
  path === "" || path.includes("\0") ? quotedWish(path, "must be the path of a file") : undefined;

/** Of `owners.<name>.allowed_tokens`. */
const OWNER_TOKENS: readonly string[] = ["external", "provider"];

/** Of `owners.<name>.allowed_settings`. Certificates hold for the owner's own hosts, for which there is leave already. */
const OWNER_SETTINGS: readonly string[] = ["*", ...Object.keys(liveShape).filter((name) => name !== HOST_CERTIFICATES)];

export const DEFAULT_STORAGE_URL = "sqlite:gateway.db";

export const bootShape = {
  address: text({
    doc: 'Public listener, "host:port" or ":port".',
    default: '- ":443"; ":8080" with `insecure_server`; "127.0.0.1:8080" with `development`',
    check: readable(parseListener),
  }),
  insecure_server: flag({
    doc: "Serve plain HTTP on the public listener: for development, or behind a load balancer that terminates TLS.",
    default: "false",
  }),
  certificates: blockList(
    {
      certificate_file: text({
        doc: "PEM file: the certificate, then those between it and the root.",
        required: true,
        check: fileWish,
      }),
      certificate_key_file: text({ doc: "PEM file of its private key.", required: true, check: fileWish }),
    },
    {
      doc: "Certificates of the public listener, chosen by the host a client asks for; the first is for all other hosts. The files are read anew when they change.",
      default: "- none: `insecure_server` is needed",
    },
  ),
  downstream_mtls: block(
    {
      ca_file: text({
        doc: "PEM file of the authorities that sign client certificates; read anew when it changes.",
        required: true,
        check: fileWish,
      }),
      enforcement: choice(["policy_with_default_deny", "policy", "reject_connection"], {
        doc: "Without a valid certificate: answer 495 on every route, let the policy judge, or refuse the connection.",
        default: "policy_with_default_deny",
      }),
    },
    {
      doc: "Ask clients of the public listener for a certificate. Needs `certificates`.",
      default: "- clients are not asked",
    },
  ),
  http_redirect_address: text({
    doc: 'Plain listener that only redirects to https, "host:port" or ":port". Needs `certificates`.',
    default: "- no such listener",
    check: readable(parseListener),
  }),
  use_proxy_protocol: flag({
    doc: "Connections of the public listener, and of `http_redirect_address`, begin with a PROXY protocol head (version 1 or 2), whose address is the client's; others are cut. Only behind a load balancer that writes it, and that nobody can go around.",
    default: "false",
  }),
  xff_num_trusted_hops: count({
    doc: "Proxies in front of the gateway that append to X-Forwarded-For: the client's address is the entry as many places from the end. With fewer entries it is the connection's. Nobody may reach the gateway around them.",
    default: "0",
    min: 0,
    max: 16,
  }),
  skip_xff_append: flag({
    doc: "Send upstreams the X-Forwarded-For of the trusted proxies without adding the connection's address. Without `xff_num_trusted_hops` they get none.",
    default: "false",
  }),
  trusted_proxy_headers: textList({
    doc: "Headers in which proxies in front of the gateway say who their client is, sent on to upstreams as they came: `CF-Connecting-IP`, `True-Client-IP`, `X-Real-IP`, `X-Envoy-External-Address`, `X-SSL-Client-Cert`, `X-Remote-User` and their like. Without it they are taken out of every request. Needs `xff_num_trusted_hops` or `use_proxy_protocol`: the proxies must write these headers themselves, or take them out, and nobody may reach the gateway around them. `${gateway.request.headers[…]}` and `host_rewrite_header` see them in any case.",
    default: "- none",
    check: (value) =>
      isProxyClaimName(value.toLowerCase())
        ? undefined
        : quotedWish(value, "must be a header in which proxies say who their client is, like CF-Connecting-IP"),
  }),
  max_connections: count({
    doc: "Connections the public listener holds open at once, per process; more are closed at once. Each may need another one to an upstream, and `--workers` have a limit each.",
    default: "- two fifths of the process's limit of open files (`ulimit -n`) on Linux, otherwise no limit of ours",
    min: 1,
    max: 1_000_000,
  }),
  development: flag({
    doc: "Accept http and loopback addresses in OAuth discovery. Listeners must be on loopback.",
    default: "false",
  }),
  admin_address: text({
    doc: 'Listener for health, metrics, status and publishing, "host:port".',
    default: "127.0.0.1:9901",
    check: readable(parseListener),
  }),
  admin_hosts: textList({
    doc: "Names by which the admin listener is asked, without port: of the Service, load balancer or machine before it. IP addresses, `localhost` and the host of `admin_address` are answered in any case; every other name is refused (421), so that no web page reaches it by a name of its own.",
    default: "- no other name",
    check: (value) =>
      canonicalHost(value) === undefined || /[:[\]]/.test(value)
        ? quotedWish(value, "must be a host name without port, such as gateway.internal.example.com")
        : undefined,
  }),
  admin_tls: block(
    {
      certificate_file: text({
        doc: "PEM file: the certificate, then those between it and the root.",
        required: true,
        check: fileWish,
      }),
      certificate_key_file: text({ doc: "PEM file of its private key.", required: true, check: fileWish }),
      client_ca_file: text({
        doc: "PEM file of the authorities that sign client certificates. Set: every path but `/healthz` and `/readyz` needs one, besides the token.",
        default: "- clients are not asked",
        check: fileWish,
      }),
    },
    {
      doc: "TLS on the admin listener, with a certificate of its own. The files are read anew when they change.",
      default: "- plain HTTP",
    },
  ),
  ...secret("admin_token", {
    doc: "Bearer token of the admin listener, needed on every path but `/healthz` and `/readyz`.",
    default: "- only `/healthz` and `/readyz` answer",
  }),
  ...secret("shared_secret", {
    doc: "Base64 of at least 32 random bytes from which all keys are derived; the same on all replicas. Make one with `openssl rand -base64 32`.",
    default: "- a random one at each start, which ends all sign-ins",
  }),
  ...secret("previous_shared_secret", {
    doc: "Earlier shared secrets that still open what they sealed, for rotation.",
    default: "- none",
    many: true,
  }),
  ...secret("signing_key", {
    doc: "PEM (or base64 of PEM) of P-256 private keys for the identity header: the first signs, all are published.",
    default: "- derived from `shared_secret`",
    many: true,
  }),
  // A database URL holds a password, so it has the three spellings of a secret.
  ...secret("storage_url", {
    doc: '"memory:", "sqlite:PATH" (relative to the working directory, or absolute) or "postgres://USER:PASSWORD@HOST/DATABASE".',
    default: DEFAULT_STORAGE_URL,
  }),
  drain_timeout: duration({ doc: "Longest wait for open requests when stopping.", default: "30s" }),
  drain_delay: duration({
    doc: "Wait between saying on `/readyz` that the gateway stops and taking no more requests, so that load balancers notice first.",
    default: "0s",
  }),
  authorize_log: text({
    doc: 'Where authorization records go: "stdout" or the path of a file.',
    default: "stdout",
    check: (value) => (value === "" || value.includes("\0") ? 'must be "stdout" or a path' : undefined),
  }),
  log_level: choice(["debug", "info", "warn", "error"], {
    doc: "Least severe operator log lines written.",
    default: "info",
  }),
  tracing: block(
    {
      endpoint: url({
        doc: "URL of an OTLP receiver over HTTP, with its path: `http://127.0.0.1:4318/v1/traces`.",
        default: "- trace ids are made and passed on, spans are not exported",
        read: parseHttpUrl,
      }),
      headers: labelled(
        { ...secret("value", { doc: "Value of the header.", default: "- one of its spellings must be written" }) },
        {
          doc: "Headers of requests to the receiver, by name.",
          default: "- none",
          checkName: (name) => (isHeaderName(name) ? undefined : "is not a header name"),
        },
      ),
      service_name: text({
        doc: "Name of this service in the spans (`service.name`).",
        default: "gateway",
        check: (value) => (value === "" || value.length > 255 ? "must be a name of at most 255 characters" : undefined),
      }),
      sample_one_in: count({
        doc: "Of so many traces that begin here, one is recorded; 1 records all.",
        default: "1",
        min: 1,
        max: 1_000_000,
      }),
      continue_traces: flag({
        doc: "Go on with the trace that a client names in `traceparent`, and with its word about recording. For gateways whose clients are trusted; otherwise each request begins a trace here.",
        default: "false",
      }),
    },
    {
      doc: "W3C trace context on requests to upstreams, and OpenTelemetry spans. An empty block is enough for the trace context.",
      default: "- `traceparent` and `tracestate` of clients are passed on like other headers",
    },
  ),
  owners: labelled(
    {
      ...secret("publish_token", {
        doc: "Tokens with which this owner's slice is read and published at the admin listener, and no other; several for rotation. At least 20 characters. They also read `/status` as far as it is about this owner. With a name such as `kubernetes.*` they are good for all owners with that beginning.",
        default: "- the slice is published with `admin_token` alone",
        many: true,
      }),
      allowed_from: domainPatternList({ doc: "Hosts its routes may have in `from`.", default: "- any host" }),
      allow_local_upstreams: flag({
        doc: "Upstreams of its routes may be on the gateway's own machine, by whatever name or address. Link-local and cloud metadata addresses never are. Judged on the address that a connection is opened to.",
        default: "false",
      }),
      allowed_settings: textList({
        doc: 'Live settings its slice may write, by name; "*" for all. They hold for the routes of all owners.',
        default: "- none",
        itemValues: OWNER_SETTINGS,
        check: (value) =>
          OWNER_SETTINGS.includes(value) ? undefined : quotedWish(value, "must be the name of a live setting"),
      }),
      allowed_tokens: textList({
        doc: "Tokens that its routes may hand to applications: `external`, MCP client routes, whose applications get External Tokens of their users; `provider`, `${gateway.access_token}` and `${gateway.id_token}`.",
        default: "- none",
        itemValues: OWNER_TOKENS,
        check: (value) =>
          OWNER_TOKENS.includes(value) ? undefined : quotedWish(value, 'must be "external" or "provider"'),
      }),
      allowed_refs: textList({
        doc: 'Secret references its slice may use; a trailing "*" matches any rest: "env:TEAM_A_*".',
        default: "- none",
        check: (value) =>
          /^(env:[A-Za-z0-9_]+\*?|file:\/[^*\0]+\*?)$/.test(value) && !value.split("/").includes("..")
            ? undefined
            : `is ${quote(value)}, must be like "env:TEAM_A_*" or "file:/run/secrets/team-a/*"`,
      }),
    },
    {
      doc: "What slices of each owner may do. A name such as `kubernetes.*` holds for all owners with that beginning that have no entry of their own, the longest first. Once set, slices of owners not named here are refused.",
      default: "- any owner, any host, any live setting, any token, no secret references",
      checkName: ownerPatternProblem,
    },
  ),
};

/** Raw bytes of a shared secret; undefined when it is not base64 of at least 32 bytes. */
export function decodeSharedSecret(value: string): Buffer | undefined {
  const bytes = decodeBase64(value.trim());
  return bytes !== undefined && bytes.length >= 32 ? bytes : undefined;
}

const bootSchema = document(bootShape);

/** Boot settings as written. */
export type BootDoc = DocOf<typeof bootSchema>;

export const bootNames: ReadonlySet<string> = new Set(Object.keys(bootShape));
