/**
 * The headers of a route as they will be sent: set, removed, passed on.
 *
 * Promise: no value of `set_request_headers_secret` comes out, nor the text of any other header that carries a credential by
 * its name; only what is substituted in them.
 */
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import { prepareHeaders } from "../../features/headers/prepare.ts";
import type { Template } from "../../features/headers/template.ts";
import type { HeaderLine } from "../../pages/console/servers/route-view.ts";

export interface HeaderLines {
  readonly request: readonly HeaderLine[];
  readonly response: readonly HeaderLine[];
}

/** Instead of a value. */
export const MASK = "••••••";

const CARRIES_CREDENTIALS =
  /auth|cookie|token|secret|key|pass|pwd|credential|session|signature|jwt|assertion|bearer|pin$/;
/** A credential by its own look, whatever the header is called: a scheme before it, a JWT, userinfo of an address. */
const IS_CREDENTIAL = /^\s*(?:Bearer|Basic|Token|Digest|ApiKey)\s+\S|\beyJ[\w-]+\.|:\/\/[^/\s]*@/i;
/** Contains nothing secret. */
const SCHEME = /^(?:Bearer|Basic|Token) $/;

export function headerLines(
  route: CompiledRoute,
  { jwtClaimsHeaders }: Pick<LiveSettings, "jwtClaimsHeaders">,
): HeaderLines {
  const scheme = route.origin.startsWith("https:") ? "https" : "http";
  // Which cookies are ours depends on the process; none of a setting is shown that is one.
  const prepared = prepareHeaders(route, { scheme, jwtClaimsHeaders, setsOwnCookie: () => false });
  const { set, remove } = route.requestHeaders;
  const { sends } = prepared;
  const own = (isSent: boolean, name: string, value: string): readonly HeaderLine[] =>
    isSent ? [{ name, how: "gateway", value }] : [];
  return {
    request: [
      { name: "Host", how: "set", value: hostWords(route) },
      ...set
        .filter(({ lower }) => !remove.has(lower))
        .map(({ name, lower, value, isSecret }) => ({
          name,
          how: "set" as const,
          value: isSecret === true ? MASK : templateText(value, CARRIES_CREDENTIALS.test(lower)),
        })),
      ...own(sends.assertion, "X-Gateway-Assertion", "signed identity JWT"),
      ...own(sends.jwtAssertion, "X-Gateway-Jwt-Assertion", "the same, under another name"),
      ...prepared.claimHeaders.map(({ name, claim }) => ({
        name,
        how: "gateway" as const,
        value: `the user's claim ${claim}; empty when there is none`,
      })),
      ...own(sends.forwardedFor, "X-Forwarded-For", "client and proxy addresses"),
      ...own(sends.forwardedProto, "X-Forwarded-Proto", scheme),
      ...own(sends.forwardedHost, "X-Forwarded-Host", "the requested host"),
      ...own(sends.requestId, "X-Request-Id", "the id of the request in records"),
      ...[...remove].sort().map((name) => ({ name, how: "removed" as const, value: "" })),
      ...own(sends.cookie, "Cookie", "the client's, without the gateway's own"),
      {
        name: "All other headers",
        how: "passed",
        value: "as the client sends them, without the gateway's own credentials and headers of the connection",
      },
    ],
    response: [
      ...pairs(prepared.setResponse).map(([name, value]) => ({
        name,
        how: "set" as const,
        value: CARRIES_CREDENTIALS.test(name.toLowerCase()) || IS_CREDENTIAL.test(value) ? MASK : value,
      })),
      ...route.responseHeaders.rewrite.map(({ lower, prefix, value }) => ({
        name: lower,
        how: "rewritten" as const,
        value:
          prefix === ""
            ? `begins with ${JSON.stringify(value)}`
            : `${JSON.stringify(prefix)} at its beginning becomes ${JSON.stringify(value)}`,
      })),
      {
        name: "All other headers",
        how: "passed",
        value: "as the upstream sends them, without headers of the connection",
      },
    ],
  };
}

function templateText({ parts }: Template, masksText: boolean): string {
  const texts = parts.map((part) => {
    if (part.kind === "text")
      return (masksText && !SCHEME.test(part.text)) || IS_CREDENTIAL.test(part.text) ? MASK : part.text;
    return part.kind === "request.headers"
      ? `\${gateway.request.headers["${part.lowerName}"]}`
      : `\${gateway.${part.kind}}`;
  });
  return texts.join("");
}

function hostWords({ hostRule, to }: CompiledRoute): string {
  switch (hostRule.kind) {
    case "to":
      return to.length === 0 ? "none (no upstream)" : "the host of the upstream";
    case "preserve":
      return "the requested host";
    case "fixed":
      return hostRule.value;
    case "header":
      return `the client's header ${hostRule.name}, else the host of the upstream`;
    case "path-regex":
      return "made from the path by a pattern, else the host of the upstream";
  }
  return hostRule satisfies never;
}

function pairs(flat: readonly string[]): readonly (readonly [name: string, value: string])[] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [[name, flat[index + 1] ?? ""] as const] : []));
}
