/**
 * Settings of a route that match requests by pattern, change their path, or answer them without an upstream. For rules
 * between them, see rules.ts.
 */
import { quotedProblem, readable, parseErrorOf } from "../../settings/types/checks.ts";
import { block } from "../../settings/types/block.ts";
import { textList } from "../../settings/types/list.ts";
import { textMap } from "../../settings/types/map.ts";
import { choice, count, flag, text, url } from "../../settings/types/scalar.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { parseFrom } from "./from.ts";
import { parsePathPattern } from "./path-pattern.ts";
import { checkPathSubstitution, pathTextProblem } from "./path-rewrite.ts";
import { parsePattern } from "../../shared/re2.ts";
import { canonicalHost } from "../../settings/domains.ts";
import { parseRoutePath } from "../../settings/values.ts";
import { headerValueProblem, isHeaderName } from "../../shared/http/header-syntax.ts";

/** A path that is written unchanged into requests or redirects. */
function sentPathProblem(value: string): string | undefined {
  return readable(parseRoutePath)(value) ?? quotedProblem(value, pathTextProblem(value));
}

/** "/path" or "/path?query". */
function redirectPathProblem(value: string): string | undefined {
  const mark = value.indexOf("?");
  if (mark === -1) return sentPathProblem(value);
  const query = value.slice(mark + 1);
  return (
    sentPathProblem(value.slice(0, mark)) ??
    quotedProblem(
      value,
      /^[!$-~]*$/.test(query) && !query.includes("#") ? undefined : "must be a path with a plain query",
    )
  );
}

/** Credentials would be readable in the configuration; Host is matched by `from`. */
const NOT_MATCHED = ["host", "authorization", "proxy-authorization", "cookie"];

function matchHeaderProblem(name: string): string | undefined {
  if (!isHeaderName(name)) return "is not a header name";
  return NOT_MATCHED.includes(name.toLowerCase()) ? "cannot be matched" : undefined;
}

export const routingShape = {
  regex: text({
    doc: "RE2 regular expression for the whole path, before every `prefix`. Not with `prefix` or `path`, and not on MCP routes.",
    unset: "every path",
    check: (value) =>
      quotedProblem(
        value,
        parseErrorOf(() => parsePathPattern(value)),
      ),
  }),
  regex_priority_order: count({
    doc: "Priority between matching `regex` routes of a host: the highest number wins.",
    default: 0,
    min: 0,
    max: 1_000_000,
  }),
  match_methods: textList({
    doc: "HTTP methods to match. Not with `regex` or `mcp`.",
    unset: "every method",
    check: (value) => quotedProblem(value, /^[A-Z]{1,32}$/.test(value) ? undefined : "must be a method in capitals"),
  }),
  match_headers: textMap({
    doc: "Request headers that must have these values. Not with `regex` or `mcp`.",
    unset: "none",
    checkName: matchHeaderProblem,
    checkValue: headerValueProblem,
  }),
  match_query: textMap({
    doc: "Query parameters that must have these values. Not with `regex` or `mcp`.",
    unset: "none",
  }),
  match_priority_order: count({
    doc: "Priority between equally many conditions: the highest number wins.",
    default: 0,
    min: 0,
    max: 1_000_000,
  }),
  prefix_rewrite: text({
    doc: "Replacement for `prefix`, by whole segments, in the upstream path; with `path` or `regex`, for the whole path.",
    unset: "none",
    annotation: "prefix_rewrite",
    check: sentPathProblem,
  }),
  regex_rewrite_pattern: text({
    doc: "RE2 regular expression on the path (without query); every match is replaced. Requires `regex_rewrite_substitution`.",
    unset: "none",
    annotation: "regex_rewrite_pattern",
    check: (value) =>
      quotedProblem(
        value,
        parseErrorOf(() => parsePattern(value)),
      ),
  }),
  regex_rewrite_substitution: text({
    doc: "Replacement for matches of `regex_rewrite_pattern`. Capture groups are `\\1` to `\\9`.",
    unset: "none",
    annotation: "regex_rewrite_substitution",
    check: (value) =>
      quotedProblem(
        value,
        parseErrorOf(() => checkPathSubstitution(value)),
      ),
  }),
  redirect: block(
    {
      https_redirect: flag({
        doc: "Redirect to https, and from port 80 to 443. Not with `scheme_redirect`.",
        default: false,
      }),
      scheme_redirect: choice(["http", "https"], {
        doc: "Scheme of the target.",
        unset: "scheme of the route",
      }),
      host_redirect: text({
        doc: "Host of the target, without port.",
        unset: "host of the request",
        check: (value) =>
          quotedProblem(
            value,
            value.startsWith("[") || canonicalHost(value) !== value
              ? "must be a host name in lower case, without port"
              : undefined,
          ),
      }),
      port_redirect: count({
        doc: "Port of the target.",
        unset: "port of the request; the scheme's default port if host or scheme changes",
        min: 1,
        max: 65_535,
      }),
      path_redirect: text({
        doc: "Path of the target. A query in it replaces the request's.",
        unset: "path of the request",
        check: redirectPathProblem,
      }),
      prefix_rewrite: text({
        doc: "Replacement for the route's `prefix`, by whole segments.",
        unset: "none",
        check: sentPathProblem,
      }),
      response_code: count({
        doc: "Response status: 301, 302, 303, 307 or 308.",
        default: 301,
        min: 301,
        max: 308,
      }),
      strip_query: flag({ doc: "Remove the query of the request.", default: false }),
    },
    {
      doc: "Redirect instead of an upstream request. The policy is evaluated first.",
      unset: "none",
    },
  ),
  response: block(
    {
      status: count({ doc: "Response status.", required: true, min: 200, max: 599 }),
      body: text({
        doc: "Response body, up to 65,536 bytes. Plain text, unless `set_response_headers` sets Content-Type.",
        unset: "empty",
        check: (value) => (Buffer.byteLength(value) > 65_536 ? "is longer than 65,536 bytes" : undefined),
      }),
      percentage: count({
        doc: "Percentage of requests that get this response. The others go to `to`.",
        unset: "all, without `to`",
        min: 1,
        max: 99,
      }),
    },
    {
      doc: "Static response instead of an upstream request. The policy is evaluated first.",
      unset: "none",
    },
  ),
};

/**
 * Problem of a route's name: it is part of keys, log lines and records, so it must be printable and without the key's
 * separator.
 */
export function routeNameProblem(name: string): string | undefined {
  if (name.length > 100) return "is longer than 100 characters";
  // Terraform treats names that differ only in this as equal.
  if (name !== name.normalize("NFC")) return "must have its letters composed (Unicode NFC)";
  return /^[\p{L}\p{N}]([\p{L}\p{N} ._:*+()&'-]*[\p{L}\p{N}).*])?$/u.test(name)
    ? undefined
    : 'must begin and end with a letter or digit and have only letters, digits, spaces and "._:-" between';
}

export const addressShape = {
  name: text({
    doc: "Route name, part of its key, shown in lists and pages.",
    unset: "derived from `from` and the path",
    annotation: "name",
    check: routeNameProblem,
  }),
  from: url({
    doc: "Public URL: scheme, host and optional port; `http://` requires `insecure_server`, or `http_redirect_address`, the port and a public route. `https://*.example.com` matches hosts below example.com without a more specific route.",
    required: true,
    read: parseFrom,
  }),
};

export const pathShape = {
  prefix: text({
    doc: "Path prefix to match, by whole segments. On MCP server routes, the base path.",
    unset: "every path",
    check: readable(parseRoutePath),
  }),
  path: text({
    doc: "Exact path to match. Not with `prefix`.",
    unset: "every path",
    check: readable(parseRoutePath),
  }),
};

/** Routing settings of a route. */
export type RoutingDoc = ShapeDoc<typeof addressShape & typeof pathShape & typeof routingShape>;
