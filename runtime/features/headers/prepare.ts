/** Header settings of a route, prepared at its first use, so that requests only iterate over lists. */
import { foldHeaderName, headerTraits, HOP_COUNT_HEADER } from "../../shared/http/header-traits.ts";
import { addedHeaders, HTTPS_ONLY_HEADER, type AddedHeaders } from "./apply-added.ts";
import { rewriteValue, type ValueRewrite } from "./apply-response.ts";
import type { HeaderRoute } from "./compiled.ts";
import type { Template, TemplateSource } from "./template.ts";

export type PreparedHeader =
  | { readonly name: string; readonly lower: string; readonly text: string; readonly template?: undefined }
  | { readonly name: string; readonly lower: string; readonly text?: undefined; readonly template: Template };

export interface PreparedHeaders {
  /** Headers of `set_request_headers`, without those in `remove_request_headers` (remove wins). */
  readonly setRequest: readonly PreparedHeader[];
  /** Folded names (see `foldHeaderName`) whose client headers are dropped: set, removed, or about identity. */
  readonly notFromClient: ReadonlySet<string>;
  /** The gateway's own headers that `remove_request_headers` does not name. */
  readonly sends: {
    readonly assertion: boolean;
    readonly jwtAssertion: boolean;
    readonly forwardedFor: boolean;
    readonly forwardedProto: boolean;
    readonly forwardedHost: boolean;
    readonly requestId: boolean;
    readonly hopCount: boolean;
    readonly authorization: boolean;
    readonly cookie: boolean;
  };
  /** Claim headers to send: name as written and claim. */
  readonly claimHeaders: readonly { readonly name: string; readonly claim: string }[];
  /** Whether a template uses the provider's tokens, which may have to be fetched. */
  readonly needsProviderTokens: boolean;
  /** Headers that replace the upstream's, after rewrite rules. Flat: name, value, … */
  readonly setResponse: readonly string[];
  /** The same for the gateway's own responses. */
  readonly addedHeaders: AddedHeaders | undefined;
  /** Lower-case names whose upstream headers are dropped. */
  readonly setResponseNames: ReadonlySet<string>;
  /** Lower-case name → its rules in list order. */
  readonly rewriteResponse: ReadonlyMap<string, readonly ValueRewrite[]>;
}

export interface HeaderCircumstances {
  /** Scheme of the route's public origin. */
  readonly scheme: "http" | "https";
  /** Header name → claim, see `jwt_claims_headers`. */
  readonly jwtClaimsHeaders: ReadonlyMap<string, string>;
  /** Whether a Set-Cookie value has one of the gateway's own names. */
  readonly setsOwnCookie: (setCookie: string) => boolean;
}

const PROVIDER_TOKENS: readonly TemplateSource[] = ["access_token", "id_token"];

export function prepareHeaders(
  { requestHeaders, responseHeaders, passIdentityHeaders }: HeaderRoute,
  { scheme, jwtClaimsHeaders, setsOwnCookie }: HeaderCircumstances,
): PreparedHeaders {
  const removed = requestHeaders.remove;
  const setRequest: PreparedHeader[] = [];
  const notFromClient = new Set<string>();
  for (const { name, lower, value } of requestHeaders.set) {
    notFromClient.add(foldHeaderName(lower));
    if (removed.has(lower)) continue;
    setRequest.push(
      value.needs.size === 0 ? { name, lower, text: plainText(value) } : { name, lower, template: value },
    );
  }
  for (const { name, lower, value } of requestHeaders.add)
    if (!removed.has(lower)) setRequest.push({ name, lower, text: value });
  for (const name of removed) notFromClient.add(foldHeaderName(name));
  // Also if no identity is sent: an upstream must never see a client's claim about its identity.
  for (const name of jwtClaimsHeaders.keys()) notFromClient.add(foldHeaderName(name));

  const isSet = new Set(requestHeaders.set.map(({ lower }) => lower));
  const sends = (lower: string): boolean => !removed.has(lower) && !isSet.has(lower);
  const rewriteResponse = groupRewrites(responseHeaders.rewrite);
  const setResponse = responseHeaders.set
    .filter(({ lower }) => scheme === "https" || lower !== HTTPS_ONLY_HEADER)
    .map(({ name, lower, value }) => ({ name, lower, value: rewriteValue(rewriteResponse.get(lower), value) }))
    // Settings cannot set the gateway's cookies, as upstreams cannot.
    .filter(({ lower, value }) => lower !== "set-cookie" || !setsOwnCookie(value))
    .flatMap(({ name, value }) => [name, value]);
  return {
    setRequest,
    notFromClient,
    sends: {
      assertion: passIdentityHeaders && sends("x-gateway-assertion"),
      jwtAssertion: passIdentityHeaders && sends("x-gateway-jwt-assertion"),
      forwardedFor: sends("x-forwarded-for"),
      forwardedProto: sends("x-forwarded-proto"),
      forwardedHost: sends("x-forwarded-host"),
      requestId: sends("x-request-id"),
      hopCount: sends(HOP_COUNT_HEADER),
      authorization: !removed.has("authorization"),
      cookie: !removed.has("cookie"),
    },
    claimHeaders: passIdentityHeaders
      ? [...jwtClaimsHeaders].filter(([name]) => sends(name.toLowerCase())).map(([name, claim]) => ({ name, claim }))
      : [],
    needsProviderTokens: setRequest.some(
      ({ template }) => template && PROVIDER_TOKENS.some((source) => template.needs.has(source)),
    ),
    setResponse: [
      ...setResponse,
      ...responseHeaders.add
        .filter(({ lower, value }) => lower !== "set-cookie" || !setsOwnCookie(value))
        .flatMap(({ name, value }) => [name, value]),
    ],
    setResponseNames: new Set([
      ...responseHeaders.set.map(({ lower }) => lower),
      ...responseHeaders.remove,
      ...(scheme === "http" ? [HTTPS_ONLY_HEADER] : []),
    ]),
    addedHeaders: addedHeaders(setResponse, scheme),
    rewriteResponse,
  };
}

function groupRewrites(rewrite: HeaderRoute["responseHeaders"]["rewrite"]): Map<string, ValueRewrite[]> {
  const grouped = new Map<string, ValueRewrite[]>();
  for (const { lower, prefix, value } of rewrite) {
    // A connection header is never passed on, so there is nothing to rewrite.
    if (headerTraits(lower).dropFromResponse) continue;
    const rules = grouped.get(lower);
    if (rules) rules.push({ prefix, value });
    else grouped.set(lower, [{ prefix, value }]);
  }
  return grouped;
}

function plainText(template: Template): string {
  return template.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}
