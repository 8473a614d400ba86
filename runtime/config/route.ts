/** Everything that may be written for one route. */
import { readable } from "./checks.ts";
import { headerShape } from "./header-settings.ts";
import { type DocOf, document, duration, fieldsOf, flag, policy, text, url, urlList } from "./kinds.ts";
import { mcpShape } from "./mcp.ts";
import { parseOrigin, parseRoutePath, parseUpstream } from "./values.ts";

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
    doc: "Address users visit: scheme, host and perhaps a port. HTTPS unless `insecure_server` or `development` is set.",
    required: true,
    read: parseOrigin,
  }),
  to: urlList({
    doc: 'Address of the upstream, or a list of them; "url,weight" gives one more or less of the traffic.',
    required: true,
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
  policy: policy({
    doc: "Who may pass: `allow` and `deny` blocks of `and`, `or`, `not` and `nor` lists of criteria. Deny wins.",
    default: "- everything is denied",
    annotation: "policy",
  }),
  ...mcpShape,
  ...headerShape,
  pass_identity_headers: flag({
    doc: "Send the signed identity header and claim headers to the upstream.",
    default: "- the global `pass_identity_headers`",
    annotation: "pass_identity_headers",
  }),
  timeout: duration({
    doc: 'Longest wait for the upstream\'s answer to begin; "0s" means no limit.',
    default: "- `default_upstream_timeout`; no limit on MCP server routes",
    annotation: "timeout",
  }),
};

export const routeSchema = document(routeShape);

/** One route as written. */
export type RouteDoc = DocOf<typeof routeSchema>;

export const routeFields = fieldsOf(routeShape, "route");
