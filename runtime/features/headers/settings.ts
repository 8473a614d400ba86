/**
 * The header settings of a route: the nine of the requirements, and `set_request_headers_secret`. Rules between them are
 * in rules.ts.
 *
 * @see test/requirements.ts, "Header settings (per route)" and "Header behavior on proxied requests"
 */
import { quotedProblem, parseErrorOf } from "../../settings/types/checks.ts";
import { headerValueProblem } from "../../shared/http/header-syntax.ts";
import {
  hostSourceProblem,
  removeRequestHeaderProblem,
  responseHeaderProblem,
  setRequestHeaderProblem,
} from "./names.ts";
import { HEADERS } from "../../settings/groups.ts";
import { parsePattern, parseSubstitution } from "../../shared/re2.ts";
import { blockList, labelled } from "../../settings/types/block.ts";
import { flag, text } from "../../settings/types/scalar.ts";
import { grouped, type ShapeDoc } from "../../settings/types/registry.ts";
import { secret } from "../../settings/types/secret.ts";
import { templateMap, textMap } from "../../settings/types/map.ts";
import { textList } from "../../settings/types/list.ts";
import { parseStaticValue, parseTemplate } from "./template.ts";
import { parseHostHeader } from "../../settings/values.ts";

/** Static response headers; the same setting exists globally and per route. */
export const responseHeaderMap = {
  checkName: responseHeaderProblem,
  checkValue: (value: string): string | undefined =>
    headerValueProblem(value) ?? parseErrorOf(() => parseStaticValue(value)),
};

export const headerShape = {
  preserve_host_header: flag({
    doc: "Pass the incoming Host header upstream instead of the host of the route's `to` URL.",
    default: false,
    annotation: "preserve_host_header",
  }),
  host_rewrite: text({
    doc: "Set the Host header to this fixed `host` or `host:port`.",
    unset: "the host of `to`",
    annotation: "host_rewrite",
    check: (value) =>
      quotedProblem(value, parseHostHeader(value) === undefined ? 'must be "host" or "host:port"' : undefined),
  }),
  ...grouped(HEADERS, {
    host_rewrite_header: text({
      doc: "Set the Host header from the value of the named incoming request header. When the header is missing, empty or no valid host, the host of `to` is used.",
      unset: "the host of `to`",
      annotation: "host_rewrite_header",
      check: (value) => quotedProblem(value, hostSourceProblem(value)),
    }),
    host_path_regex_rewrite_pattern: text({
      doc: "RE2 regular expression applied to the request path (without query) to derive the Host header; the first match is replaced. Needs `host_path_regex_rewrite_substitution`.",
      unset: "the host of `to`",
      annotation: "host_path_regex_rewrite_pattern",
      check: (value) =>
        quotedProblem(
          value,
          parseErrorOf(() => parsePattern(value)),
        ),
    }),
    host_path_regex_rewrite_substitution: text({
      doc: "What the match of `host_path_regex_rewrite_pattern` is replaced by; capture groups are written `\\1` to `\\9`.",
      unset: "the host of `to`",
      annotation: "host_path_regex_rewrite_substitution",
      check: (value) =>
        quotedProblem(
          value,
          parseErrorOf(() => parseSubstitution(value)),
        ),
    }),
  }),
  set_request_headers: templateMap({
    doc: 'Headers set on the upstream request, replacing what the client sent. Values may hold `${gateway.access_token}`, `${gateway.id_token}`, `${gateway.client_cert_fingerprint}`, `${gateway.jwt}` and `${gateway.request.headers["Name"]}`; a literal `$` is written `$$`.',
    unset: "no headers are set",
    annotation: "set_request_headers",
    checkName: setRequestHeaderProblem,
    parse: parseTemplate,
  }),
  ...grouped(HEADERS, {
    set_request_headers_secret: labelled(
      {
        ...secret("secret", {
          doc: "Value of the header, sent as it is: a `$` in it means itself.",
          unset: "required, in one of its spellings",
        }),
      },
      {
        doc: "Headers set on the upstream request like `set_request_headers`, whose values are secrets: by reference or sealed. By header name.",
        unset: "no headers are set",
        checkName: setRequestHeaderProblem,
      },
    ),
  }),
  remove_request_headers: textList({
    doc: "Names of request headers removed before the request goes upstream. Applied after `set_request_headers`: a header named in both is removed.",
    unset: "no headers are removed",
    annotation: "remove_request_headers",
    check: quotingName(removeRequestHeaderProblem),
  }),
  set_response_headers: textMap({
    doc: "Static response headers. They replace headers of the upstream and those of the global `set_response_headers`. A literal `$` may be written `$$`; `${` is refused.",
    unset: "only the global `set_response_headers`",
    annotation: "set_response_headers",
    ...responseHeaderMap,
  }),
  ...grouped(HEADERS, {
    rewrite_response_headers: blockList(
      {
        header: text({
          doc: "Name of the response header, such as `Location`.",
          required: true,
          check: quotingName(responseHeaderProblem),
        }),
        prefix: text({
          doc: "Literal text the value must begin with to be rewritten. Empty text matches every value.",
          required: true,
          check: headerValueProblem,
        }),
        value: text({
          doc: "What the prefix is replaced by. A literal `$` may be written `$$`.",
          required: true,
          check: responseHeaderMap.checkValue,
        }),
      },
      {
        doc: "Rules that replace the beginning of response header values, applied in list order after `set_response_headers`.",
        unset: "nothing is rewritten",
        annotation: "rewrite_response_headers",
      },
    ),
  }),
};

function quotingName(problem: (name: string) => string | undefined): (name: string) => string | undefined {
  return (name) => quotedProblem(name, problem(name));
}

export const identityShape = {
  pass_identity_headers: flag({
    doc: "Send the signed identity header and claim headers to the upstream.",
    unset: "the global `pass_identity_headers`",
    annotation: "pass_identity_headers",
  }),
};

/** What of a route is about headers. */
export type HeaderDoc = ShapeDoc<typeof headerShape & typeof identityShape>;

export const headerSettingsShape = {
  pass_identity_headers: flag({
    doc: "Send the signed identity header and claim headers to upstreams.",
    default: true,
  }),
  jwt_claims_headers: textMap({
    doc: "Extra identity headers: header name to claim. Sent empty when the user lacks the claim, so that nobody can forge them, and not at all when the provider left the claim out. Lists are joined by commas, without elements that have one. `sub`, `user`, `email`, `name`, `groups` and `sid` are what the signed identity header says; the other claims stand in it too (4 KiB in all). User names of `identity_issuers` (`preferred_username`, `upn` and the like) have the form of user ids: `issuer:<name>/<value>`.",
    unset: "none",
    checkName: setRequestHeaderProblem,
    checkValue: (claim) => (claim === "" ? "is empty, must be the name of a claim" : undefined),
  }),
  set_response_headers: textMap({
    doc: "Static response headers of all routes; a route's own `set_response_headers` take precedence.",
    unset: "none",
    ...responseHeaderMap,
  }),
};
