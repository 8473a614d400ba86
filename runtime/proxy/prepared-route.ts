/** What a route asks of headers, worked out once so that requests only walk over lists. */
import type { CompiledRoute, LiveSettings } from "../config/compiled.ts";
import type { Template, TemplateSource } from "../features/headers/template.ts";
import { addedHeaders, HTTPS_ONLY_HEADER, type AddedHeaders } from "../features/headers/apply-added.ts";
import { foldHeaderName, headerTraits } from "../shared/http/header-traits.ts";
import { setsOwnCookie } from "../identity/cookie.ts";
import { createBalancer, type Balancer } from "../features/balancing/apply-balance.ts";
import { createMcpPaths, type McpPaths } from "./mcp-paths.ts";
import { PASSES_HEADER } from "./forwarding/hop-count.ts";

export type PlannedHeader =
  | { readonly name: string; readonly lower: string; readonly text: string; readonly template?: undefined }
  | { readonly name: string; readonly lower: string; readonly text?: undefined; readonly template: Template };

export interface RoutePlan {
  readonly route: CompiledRoute;
  readonly settings: LiveSettings;
  readonly balancer: Balancer;
  /** Of `set_request_headers`, without what `remove_request_headers` takes away again (remove wins). */
  readonly setRequest: readonly PlannedHeader[];
  /** Folded names (see `foldHeaderName`) that are not taken from the client: set anew, removed, or about identity. */
  readonly notFromClient: ReadonlySet<string>;
  /** Of our own headers, the ones `remove_request_headers` leaves. */
  readonly sends: {
    readonly assertion: boolean;
    readonly jwtAssertion: boolean;
    readonly forwardedFor: boolean;
    readonly forwardedProto: boolean;
    readonly forwardedHost: boolean;
    readonly requestId: boolean;
    readonly passes: boolean;
    readonly authorization: boolean;
    readonly cookie: boolean;
  };
  /** Claim headers to send: name as written and claim. */
  readonly claimHeaders: readonly { readonly name: string; readonly claim: string }[];
  /** Some template asks for the provider's tokens, which may have to be fetched. */
  readonly needsProviderTokens: boolean;
  /** Response headers put in place of the upstream's, rewrite rules already applied. Flat: name, value, … */
  readonly setResponse: readonly string[];
  /** The same on the gateway's own answers. */
  readonly addedHeaders: AddedHeaders | undefined;
  /** Lower-case names that are not taken from the upstream. */
  readonly setResponseNames: ReadonlySet<string>;
  /** Lower-case name → its rules in list order. */
  readonly rewriteResponse: ReadonlyMap<string, readonly { readonly prefix: string; readonly value: string }[]>;
  /** Scheme of the route's public origin, for X-Forwarded-Proto. */
  readonly scheme: "http" | "https";
  /** "host[:port]" of the assertion-free default Host. */
  readonly isMcpServer: boolean;
  /** Set on MCP server routes. */
  readonly mcpPaths: McpPaths | undefined;
  readonly isMcpClient: boolean;
}

const PROVIDER_TOKENS: readonly TemplateSource[] = ["access_token", "id_token"];

export function planRoute(route: CompiledRoute, settings: LiveSettings): RoutePlan {
  const removed = route.requestHeaders.remove;
  const setRequest: PlannedHeader[] = [];
  const notFromClient = new Set<string>();
  for (const { name, lower, value } of route.requestHeaders.set) {
    notFromClient.add(foldHeaderName(lower));
    if (removed.has(lower)) continue;
    setRequest.push(
      value.needs.size === 0 ? { name, lower, text: plainText(value) } : { name, lower, template: value },
    );
  }
  for (const name of removed) notFromClient.add(foldHeaderName(name));
  // Also when no identity is sent: an upstream must never see a client's word about who it is.
  for (const name of settings.jwtClaimsHeaders.keys()) notFromClient.add(foldHeaderName(name));

  const isSet = new Set(setRequest.map(({ lower }) => lower));
  const sends = (lower: string): boolean => !removed.has(lower) && !isSet.has(lower);
  const rewriteResponse = groupRewrites(route);
  const scheme = route.origin.startsWith("https:") ? "https" : "http";
  const setResponse = route.responseHeaders.set
    .filter(({ lower }) => scheme === "https" || lower !== HTTPS_ONLY_HEADER)
    .map(({ name, lower, value }) => ({ name, lower, value: rewriteValue(rewriteResponse.get(lower), value) }))
    // A cookie of ours is no more a setting's to set than an upstream's.
    .filter(({ lower, value }) => lower !== "set-cookie" || !setsOwnCookie(value, settings.cookie))
    .flatMap(({ name, value }) => [name, value]);
  return {
    route,
    settings,
    balancer: createBalancer(route),
    setRequest,
    notFromClient,
    sends: {
      assertion: route.passIdentityHeaders && sends("x-gateway-assertion"),
      jwtAssertion: route.passIdentityHeaders && sends("x-gateway-jwt-assertion"),
      forwardedFor: sends("x-forwarded-for"),
      forwardedProto: sends("x-forwarded-proto"),
      forwardedHost: sends("x-forwarded-host"),
      requestId: sends("x-request-id"),
      passes: sends(PASSES_HEADER),
      authorization: !removed.has("authorization"),
      cookie: !removed.has("cookie"),
    },
    claimHeaders: route.passIdentityHeaders
      ? [...settings.jwtClaimsHeaders]
          .filter(([name]) => sends(name.toLowerCase()))
          .map(([name, claim]) => ({ name, claim }))
      : [],
    needsProviderTokens: setRequest.some(
      ({ template }) => template && PROVIDER_TOKENS.some((source) => template.needs.has(source)),
    ),
    setResponse,
    setResponseNames: new Set([
      ...route.responseHeaders.set.map(({ lower }) => lower),
      ...(scheme === "http" ? [HTTPS_ONLY_HEADER] : []),
    ]),
    addedHeaders: addedHeaders(setResponse, scheme),
    rewriteResponse,
    scheme,
    isMcpServer: route.mcp?.kind === "server",
    mcpPaths: route.mcp?.kind === "server" ? createMcpPaths(route, route.mcp) : undefined,
    isMcpClient: route.mcp?.kind === "client",
  };
}

/** Each rule acts on what the one before it left; a prefix that does not match changes nothing. */
export function rewriteValue(
  rules: readonly { readonly prefix: string; readonly value: string }[] | undefined,
  value: string,
): string {
  if (rules === undefined) return value;
  let current = value;
  for (const rule of rules)
    if (current.startsWith(rule.prefix)) current = rule.value + current.slice(rule.prefix.length);
  return current;
}

function groupRewrites(route: CompiledRoute): Map<string, { prefix: string; value: string }[]> {
  const grouped = new Map<string, { prefix: string; value: string }[]>();
  for (const { lower, prefix, value } of route.responseHeaders.rewrite) {
    // A header of the connection is never sent on, so there is nothing to rewrite.
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
