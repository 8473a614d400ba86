/** Everything that may be written for one route. */
import { balancingShape } from "../features/balancing/settings.ts";
import { accessShape } from "../features/access/settings.ts";
import { quotedWish, readable } from "../settings/types/checks.ts";
import { canonicalHost } from "../settings/domains.ts";
import { parseFrom } from "../features/routing/from.ts";
import { ROUTING, UPSTREAM } from "../settings/groups.ts";
import { headerShape } from "../features/headers/settings.ts";
import {
  type DocOf,
  document,
  duration,
  fieldsOf,
  flag,
  grouped,
  policy,
  secret,
  text,
  url,
  urlList,
} from "../settings/types/kinds.ts";
import { mcpShape } from "../features/mcp/settings.ts";
import { routingShape } from "../features/routing/settings.ts";
import { parseRoutePath, parseUpstream } from "../settings/values.ts";

/** A route's name: part of its key, of log lines and of records, so printable and without the key's separator. */
export function routeNameWish(name: string): string | undefined {
  if (name.length > 100) return "is longer than 100 characters";
  return /^[\p{L}\p{N}]([\p{L}\p{N} ._:*+()&'-]*[\p{L}\p{N}).*])?$/u.test(name)
    ? undefined
    : 'must begin and end with a letter or digit and have only letters, digits, spaces and "._:-" between';
}

export const routeShape = {
  name: text({
    doc: "Name of the route: part of its key, and what lists and pages show.",
    default: "- made from `from` and the path",
    annotation: "name",
    check: routeNameWish,
  }),
  from: url({
    doc: "Address users visit: scheme, host and perhaps a port. HTTPS unless `insecure_server` or `development` is set. `https://*.example.com` takes every host below example.com that no other route names more exactly; not on MCP routes.",
    required: true,
    read: parseFrom,
  }),
  to: urlList({
    doc: 'Address of the upstream, or a list of them; "url,weight" gives one more or less of the traffic. Required unless `redirect` or `response` answers.',
    default: "- `redirect` or `response` answers",
    read: parseUpstream,
  }),
  prefix: text({
    doc: "The route takes requests whose path is this one or lies below it, by whole segments. MCP server routes own it as their base.",
    default: "- every path of the host",
    check: readable(parseRoutePath),
  }),
  path: text({
    doc: "The route takes requests with exactly this path. Not together with `prefix`.",
    default: "- every path of the host",
    check: readable(parseRoutePath),
  }),
  ...grouped(ROUTING, routingShape),
  policy: policy({
    doc: "Who may pass: `allow` and `deny` blocks of `and`, `or`, `not` and `nor` lists of criteria. Deny wins.",
    default: "- everything is denied",
    annotation: "policy",
  }),
  ...accessShape,
  ...mcpShape,
  ...headerShape,
  ...grouped(UPSTREAM, {
    pass_identity_headers: flag({
      doc: "Send the signed identity header and claim headers to the upstream.",
      default: "- the global `pass_identity_headers`",
      annotation: "pass_identity_headers",
    }),
  }),
  allow_websockets: flag({
    doc: "Pass WebSocket connections to the upstream. Browsers may open them from pages of the same origin only. Not on MCP server routes.",
    default: "false",
    annotation: "allow_websockets",
  }),
  ...grouped(UPSTREAM, {
    http2: flag({
      doc: "Speak HTTP/2 to the upstream: to https addresses that offer it, to http addresses always (h2c).",
      default: "false",
      annotation: "http2",
    }),
    tls_skip_verify: flag({
      doc: "Take any certificate from the upstream. Whoever is between can then read and change everything.",
      default: "false",
      annotation: "tls_skip_verify",
    }),
    tls_server_name: text({
      doc: "Host that the upstream's certificate must be for, and that it is asked for (SNI).",
      default: "- the host of `to`",
      annotation: "tls_server_name",
      check: (value) =>
        quotedWish(value, canonicalHost(value) === value ? undefined : "must be a host name in lower case"),
    }),
    ...secret("tls_custom_ca", {
      doc: "PEM of the authorities that may have signed the upstream's certificate, instead of the usual ones.",
      default: "- the authorities that Node.js trusts",
    }),
    ...secret("tls_client_cert", {
      doc: "PEM of the certificate that the gateway shows to the upstream. Needs `tls_client_key`.",
      default: "- no client certificate",
    }),
    ...secret("tls_client_key", {
      doc: "PEM of the private key of `tls_client_cert`.",
      default: "- no client certificate",
    }),
  }),
  timeout: duration({
    doc: 'Longest wait for the upstream\'s answer to begin; "0s" means no limit.',
    default: "- `default_upstream_timeout`; no limit on MCP server routes",
    annotation: "timeout",
  }),
  ...grouped(UPSTREAM, {
    idle_timeout: duration({
      doc: 'Longest silence within an answer, event streams included, and on a WebSocket connection; "0s" means no limit.',
      default: "- `timeout`; no limit for event streams and WebSocket",
      annotation: "idle_timeout",
    }),
    ...balancingShape,
  }),
};

export const routeSchema = document(routeShape);

/** One route as written. */
export type RouteDoc = DocOf<typeof routeSchema>;

export const routeFields = fieldsOf(routeShape, "route");
