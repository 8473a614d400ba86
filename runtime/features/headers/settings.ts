/**
 * Header settings of a route: the nine of the requirements, and `set_request_headers_secret`. For rules between them,
 * see rules.ts.
 *
 * @see test/requirements.ts, "Header settings (per route)" and "Header behavior on proxied requests"
 */
import { quotedProblem, parseErrorOf } from "../../settings/types/checks.ts";
import { headerValueProblem } from "../../shared/http/header-syntax.ts";
import {
  addRequestHeaderProblem,
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
    doc: "Forward the incoming Host header instead of the host of `to`.",
    default: false,
    annotation: "preserve_host_header",
  }),
  host_rewrite: text({
    doc: "Host header to send: `host` or `host:port`.",
    unset: "the host of `to`",
    annotation: "host_rewrite",
    check: (value) =>
      quotedProblem(value, parseHostHeader(value) === undefined ? 'must be "host" or "host:port"' : undefined),
  }),
  ...grouped(HEADERS, {
    host_rewrite_header: text({
      doc: "Request header whose value is sent as Host header.",
      unset: "the host of `to`",
      annotation: "host_rewrite_header",
      check: (value) => quotedProblem(value, hostSourceProblem(value)),
    }),
    host_path_regex_rewrite_pattern: text({
      doc: "RE2 regular expression on the request path that derives the Host header. Requires `host_path_regex_rewrite_substitution`.",
      unset: "the host of `to`",
      annotation: "host_path_regex_rewrite_pattern",
      check: (value) =>
        quotedProblem(
          value,
          parseErrorOf(() => parsePattern(value)),
        ),
    }),
    host_path_regex_rewrite_substitution: text({
      doc: "Replacement for the first match of `host_path_regex_rewrite_pattern`. Capture groups are `\\1` to `\\9`.",
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
    doc: 'Request headers to set for the upstream, with `${gateway.access_token}`, `${gateway.id_token}`, `${gateway.client_cert_fingerprint}`, `${gateway.jwt}` and `${gateway.request.headers["Name"]}`. Write `$$` for a literal `$`.',
    unset: "none",
    annotation: "set_request_headers",
    checkName: setRequestHeaderProblem,
    parse: parseTemplate,
  }),
  ...grouped(HEADERS, {
    set_request_headers_secret: labelled(
      {
        ...secret("secret", {
          doc: "Header value, sent literally, including `$`.",
          unset: "required, in one of its forms",
        }),
      },
      {
        doc: "Request headers with secret values, by header name. By reference or sealed.",
        unset: "none",
        checkName: setRequestHeaderProblem,
      },
    ),
  }),
  remove_request_headers: textList({
    doc: "Request headers to remove, after `set_request_headers` is applied.",
    unset: "none",
    annotation: "remove_request_headers",
    check: quotingName(removeRequestHeaderProblem),
  }),
  ...grouped(HEADERS, {
    add_request_headers: textMap({
      doc: "Request headers to send next to the client's. Write `$$` for a literal `$`.",
      unset: "none",
      annotation: "add_request_headers",
      checkName: addRequestHeaderProblem,
      checkValue: responseHeaderMap.checkValue,
    }),
    add_response_headers: textMap({
      doc: "Response headers to send next to the upstream's. Write `$$` for a literal `$`.",
      unset: "none",
      annotation: "add_response_headers",
      ...responseHeaderMap,
    }),
    remove_response_headers: textList({
      doc: "Response headers of the upstream to remove.",
      unset: "none",
      annotation: "remove_response_headers",
      check: quotingName(responseHeaderProblem),
    }),
  }),
  set_response_headers: textMap({
    doc: "Static response headers, instead of those of the upstream. Write `$$` for a literal `$`.",
    unset: "none",
    annotation: "set_response_headers",
    ...responseHeaderMap,
  }),
  ...grouped(HEADERS, {
    rewrite_response_headers: blockList(
      {
        header: text({
          doc: "Response header, such as `Location`.",
          required: true,
          check: quotingName(responseHeaderProblem),
        }),
        prefix: text({
          doc: "Literal prefix to match. Empty matches every value.",
          required: true,
          check: headerValueProblem,
        }),
        value: text({
          doc: "Replacement for the prefix. Write `$$` for a literal `$`.",
          required: true,
          check: responseHeaderMap.checkValue,
        }),
      },
      {
        doc: "Rules that replace prefixes of response header values, in list order.",
        unset: "none",
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

/** Header settings of a route. */
export type HeaderDoc = ShapeDoc<typeof headerShape & typeof identityShape>;

export const headerSettingsShape = {
  pass_identity_headers: flag({
    doc: "Send the signed identity header and claim headers to upstreams.",
    default: true,
  }),
  jwt_claims_headers: textMap({
    doc: "Additional identity headers: header name to claim. Lists are joined by commas.",
    unset: "none",
    checkName: setRequestHeaderProblem,
    checkValue: (claim) => (claim === "" ? "is empty, must be the name of a claim" : undefined),
  }),
  set_response_headers: textMap({
    doc: "Static response headers of all routes. Those of a route take precedence.",
    unset: "none",
    ...responseHeaderMap,
  }),
};
