/**
 * Settings of a route that choose its requests by pattern, change their path on the way, or answer them without an
 * upstream. Rules between them are in rules.ts.
 */
import { quotedProblem, readable, parseErrorOf } from "../../settings/types/checks.ts";
import { block } from "../../settings/types/block.ts";
import { choice, count, flag, text, url } from "../../settings/types/scalar.ts";
import type { ShapeDoc } from "../../settings/types/registry.ts";
import { parseFrom } from "./from.ts";
import { parsePathPattern } from "./path-pattern.ts";
import { checkPathSubstitution, pathTextProblem } from "./path-rewrite.ts";
import { parsePattern } from "../../shared/re2.ts";
import { canonicalHost } from "../../settings/domains.ts";
import { parseRoutePath } from "../../settings/values.ts";

/** A path that is written into requests or redirects as it stands. */
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

export const routingShape = {
  regex: text({
    doc: "The route takes requests whose whole path this RE2 regular expression matches; it goes before every `prefix`. Not together with `prefix` or `path`, and not on MCP routes.",
    unset: "every path of the host",
    check: (value) =>
      quotedProblem(
        value,
        parseErrorOf(() => parsePathPattern(value)),
      ),
  }),
  regex_priority_order: count({
    doc: "Of several `regex` routes of a host that match, the one with the highest number is taken; of equal ones the one with the longest literal beginning.",
    default: 0,
    min: 0,
    max: 1_000_000,
  }),
  prefix_rewrite: text({
    doc: "Takes the place of `prefix` in the path that the upstream sees, by whole segments; with `path` and `regex` of the whole path.",
    unset: "the path is sent as it is",
    annotation: "prefix_rewrite",
    check: sentPathProblem,
  }),
  regex_rewrite_pattern: text({
    doc: "RE2 regular expression; every match of it in the path (without query) is replaced for the upstream. Needs `regex_rewrite_substitution`.",
    unset: "the path is sent as it is",
    annotation: "regex_rewrite_pattern",
    check: (value) =>
      quotedProblem(
        value,
        parseErrorOf(() => parsePattern(value)),
      ),
  }),
  regex_rewrite_substitution: text({
    doc: "What matches of `regex_rewrite_pattern` are replaced by; capture groups are written `\\1` to `\\9`. A result that is no plain path is refused with 400.",
    unset: "the path is sent as it is",
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
        doc: "Send to https, and from port 80 to 443. Not together with `scheme_redirect`.",
        default: false,
      }),
      scheme_redirect: choice(["http", "https"], {
        doc: "Scheme to send to.",
        unset: "the scheme of the route",
      }),
      host_redirect: text({
        doc: "Host to send to, without port.",
        unset: "the host of the request",
        check: (value) =>
          quotedProblem(
            value,
            value.startsWith("[") || canonicalHost(value) !== value
              ? "must be a host name in lower case, without port"
              : undefined,
          ),
      }),
      port_redirect: count({
        doc: "Port to send to.",
        unset: "the port of the request; with another host or scheme the scheme's own",
        min: 1,
        max: 65_535,
      }),
      path_redirect: text({
        doc: "Path to send to. With a query of its own it replaces that of the request. Not together with `prefix_rewrite`.",
        unset: "the path of the request",
        check: redirectPathProblem,
      }),
      prefix_rewrite: text({
        doc: "Takes the place of the route's `prefix` in the path, by whole segments; with `path` and `regex` of the whole path.",
        unset: "the path of the request",
        check: sentPathProblem,
      }),
      response_code: count({
        doc: "Status of the answer: 301, 302, 303, 307 or 308.",
        default: 301,
        min: 301,
        max: 308,
      }),
      strip_query: flag({ doc: "Leave the query of the request out.", default: false }),
    },
    {
      doc: "Answer with a redirect instead of forwarding the request. The route's policy decides first.",
      unset: "the request goes to `to`",
    },
  ),
  response: block(
    {
      status: count({ doc: "Status of the answer.", required: true, min: 200, max: 599 }),
      body: text({
        doc: "Body of the answer, up to 65,536 bytes. Plain text, unless `set_response_headers` has another Content-Type.",
        unset: "an empty body",
        check: (value) => (Buffer.byteLength(value) > 65_536 ? "is longer than 65,536 bytes" : undefined),
      }),
    },
    {
      doc: "Answer with this instead of forwarding the request. The route's policy decides first.",
      unset: "the request goes to `to`",
    },
  ),
};

/** A route's name: part of its key, of log lines and of records, so printable and without the key's separator. */
export function routeNameProblem(name: string): string | undefined {
  if (name.length > 100) return "is longer than 100 characters";
  // Terraform has one name for two that differ in this alone.
  if (name !== name.normalize("NFC")) return "must have its letters composed (Unicode NFC)";
  return /^[\p{L}\p{N}]([\p{L}\p{N} ._:*+()&'-]*[\p{L}\p{N}).*])?$/u.test(name)
    ? undefined
    : 'must begin and end with a letter or digit and have only letters, digits, spaces and "._:-" between';
}

export const addressShape = {
  name: text({
    doc: "Name of the route: part of its key, and what lists and pages show.",
    unset: "made from `from` and the path",
    annotation: "name",
    check: routeNameProblem,
  }),
  from: url({
    doc: "Address users visit: scheme, host and optionally a port. HTTPS unless `insecure_server` or `development` is set. `https://*.example.com` takes every host below example.com that no other route names more exactly; not on MCP routes.",
    required: true,
    read: parseFrom,
  }),
};

export const pathShape = {
  prefix: text({
    doc: "The route takes requests whose path is this one or lies below it, by whole segments. MCP server routes own it as their base.",
    unset: "every path of the host",
    check: readable(parseRoutePath),
  }),
  path: text({
    doc: "The route takes requests with exactly this path. Not together with `prefix`.",
    unset: "every path of the host",
    check: readable(parseRoutePath),
  }),
};

/** What of a route is about which requests it takes and what becomes of them. */
export type RoutingDoc = ShapeDoc<typeof addressShape & typeof pathShape & typeof routingShape>;
