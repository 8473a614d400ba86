/**
 * The headers of the upstream request.
 *
 * Untrusted input: the client's headers. Promises: no credential of ours, and no identity, address or method that a client
 * claims, reaches the upstream, in any spelling; headers that the Connection header names are removed before ours are added.
 * Order (D6): client's, forwarding, identity, `set_request_headers`; `remove_request_headers` wins over all of them.
 */
import type { Principal } from "../../identity/principal.ts";
import type { Upstream } from "../../features/connection/compiled.ts";
import type { TemplateValues } from "../../features/headers/template.ts";
import { withoutCookies } from "../../http/cookies.ts";
import {
  HOP_COUNT_HEADER,
  type HeaderTraits,
  connectionTokens,
  foldHeaderName,
  headerTraits,
  isHeaderText,
} from "../../shared/http/header-traits.ts";
import { isOwnCookieName } from "../../identity/cookie.ts";
import { EXTERNAL_TOKEN_PREFIX } from "../../identity/external-token.ts";
import type { ApplicationTokens, Assertions } from "../../identity/interfaces.ts";
import { encodeMirror } from "../../mcp/message-headers.ts";
import type { RequestTrace } from "../../tracing/tracing.ts";
import { upstreamHost } from "../../features/headers/apply-host.ts";
import { OMITTED, upstreamClaim } from "../../features/headers/upstream-claims.ts";
import { addConfiguredHeaders } from "../../features/headers/apply-request.ts";
import type { HopCounter } from "./hop-count.ts";
import type { RequestContext } from "../request-context.ts";
import { upstreamEventId } from "../answers/stream-end-id.ts";
import { withoutPort } from "../../shared/http/target.ts";
import { asksForTrailers } from "../../shared/http/trailers.ts";
import { mayTrail } from "./trailers.ts";

export interface RequestHeaderDeps {
  readonly assertions: Assertions;
  readonly applicationTokens: ApplicationTokens;
  readonly hopCounter: HopCounter;
  /** Prefixes of our cookies' values (`cookieSealBeginnings`). */
  readonly cookieSeals: readonly string[];
  /** Names of proxy headers that are forwarded, lower case; absent = none. */
  readonly trustedProxyHeaders?: ReadonlySet<string> | undefined;
}

/** Flat: name, value, …; Host is the first pair. Without body framing, which the transport adds. @throws RequestLoop */
export function requestHeaders(deps: RequestHeaderDeps, context: RequestContext, upstream: Upstream): string[] {
  const headers = ["host", upstreamHost(context.exchange, context.prepared.route.hostRule, upstream)];
  const own = addClientHeaders(headers, deps, context);
  // Before our own headers: a client may list them in Connection and have them dropped.
  if (own.length > 0) dropNamed(headers, own);
  if (context.takesTrailers) headers.push("te", "trailers");
  addForwarding(headers, deps, context);
  if (context.trace !== undefined) addTrace(headers, context.trace, context);
  addIdentity(headers, deps, context);
  if (context.prepared.isMcpServer) addMcp(headers, context);
  addConfiguredHeaders(headers, context.prepared, context.internalToken !== undefined, () =>
    templateValues(deps, context),
  );
  return headers;
}

/** @returns names that the Connection header lists, lower case */
function addClientHeaders(headers: string[], deps: RequestHeaderDeps, context: RequestContext): readonly string[] {
  const { prepared } = context;
  const raw = context.exchange.rawHeaders;
  const known = context.exchange.headerTraits;
  let listed: string[] | undefined;
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] as string;
    const value = raw[index + 1] as string;
    const traits = known?.[index >> 1] ?? headerTraits(name);
    if (traits.special === "none") {
      if (traits.dropFromRequest && !isTrusted(deps, traits)) continue;
      if (!prepared.notFromClient.has(traits.folded)) headers.push(traits.name, value);
      continue;
    }
    if (traits.special === "connection") {
      if (!isUsualConnection(value)) (listed ??= []).push(...connectionTokens(value));
      continue;
    }
    if (traits.special === HOP_COUNT_HEADER) {
      context.hopCount = deps.hopCounter.next(context.exchange.headerValues(HOP_COUNT_HEADER).join(","));
      continue;
    }
    if (traits.special === "te") {
      context.takesTrailers ||= mayTrail(context) && asksForTrailers(value);
      continue;
    }
    if (traits.dropFromRequest || prepared.notFromClient.has(traits.folded)) continue;
    const kept = specialValue(deps, context, traits.lower, value);
    if (kept !== undefined) headers.push(traits.name, kept);
  }
  return listed ?? NOTHING;
}

/** Headers about the client from a proxy in front of us, if the settings trust them. */
function isTrusted({ trustedProxyHeaders }: RequestHeaderDeps, { isProxyClaim, lower }: HeaderTraits): boolean {
  return isProxyClaim && trustedProxyHeaders?.has(lower) === true;
}

/** True if the request carries a token of another issuer: on ordinary routes a workload's token is its platform's. */
function isWithOthersToken(principal: Principal | undefined): boolean {
  return principal?.kind === "provider-token" || principal?.kind === "workload";
}

/** The forwarded value of a header that may carry a credential or belongs to the gateway on some routes. */
function specialValue(
  deps: Pick<RequestHeaderDeps, "cookieSeals">,
  context: RequestContext,
  lower: string,
  value: string,
): string | undefined {
  const { prepared } = context;
  switch (lower) {
    case "cookie":
      return withoutOwnCookies(deps, context, value);
    case "authorization":
      if (prepared.isMcpServer || prepared.isMcpClient || isWithOthersToken(context.principal)) return undefined;
      return value.includes(EXTERNAL_TOKEN_PREFIX) ? undefined : value;
    case "dpop":
    case "mcp-session-id":
    case "accept-encoding":
    case "content-type":
      return prepared.isMcpServer ? undefined : value;
    case "last-event-id":
      // Event stores of upstreams may be shared by all users: forward the ID only within a session of this caller.
      if (!prepared.isMcpServer) return value;
      return context.upstreamSession === undefined ? undefined : upstreamEventId(value);
    default:
      return value;
  }
}

/** Removes our cookies by name and by value: browsers keep cookies under a former `cookie_name`. */
function withoutOwnCookies(
  { cookieSeals }: Pick<RequestHeaderDeps, "cookieSeals">,
  { prepared }: RequestContext,
  header: string,
): string | undefined {
  const { cookie } = prepared.settings;
  const hasSeal = (text: string): boolean => cookieSeals.some((beginning) => text.includes(beginning));
  // Cheap search first: most requests carry no cookie of ours.
  if (!header.includes(cookie.name) && !hasSeal(header)) return header;
  return withoutCookies(header, (name, value) => isOwnCookieName(name, cookie) || hasSeal(name) || hasSeal(value));
}

/** Replaces the client's values, which were dropped. Lower case: the transport need not fold the names. */
function addForwarding(headers: string[], deps: RequestHeaderDeps, context: RequestContext): void {
  const { exchange, prepared } = context;
  const { sends } = prepared;
  if (sends.forwardedFor) {
    if (exchange.forwardedFor === undefined)
      headers.push("x-forwarded-for", context.facts?.http.ip ?? exchange.remoteAddress);
    else if (exchange.forwardedFor.chain !== "") headers.push("x-forwarded-for", exchange.forwardedFor.chain);
  }
  if (sends.forwardedProto) headers.push("x-forwarded-proto", prepared.scheme);
  if (sends.forwardedHost) headers.push("x-forwarded-host", exchange.host);
  if (sends.requestId) headers.push("x-request-id", exchange.id);
  if (sends.hopCount) headers.push(HOP_COUNT_HEADER, context.hopCount ?? deps.hopCounter.first);
}

/** Replaces the client's trace headers: its trace either ends here or continues under our own span. */
function addTrace(headers: string[], { traceparent, tracestate }: RequestTrace, { prepared }: RequestContext): void {
  dropNamed(headers, TRACE_HEADERS);
  if (!prepared.notFromClient.has("traceparent")) headers.push("traceparent", traceparent);
  if (tracestate !== "" && !prepared.notFromClient.has("tracestate")) headers.push("tracestate", tracestate);
}

const TRACE_HEADERS = ["traceparent", "tracestate"];

const MAX_REPEATED_ASSERTION = 2048;

function addIdentity(headers: string[], deps: RequestHeaderDeps, context: RequestContext): void {
  const { prepared, principal } = context;
  const { sends } = prepared;
  if (principal && (sends.assertion || sends.jwtAssertion)) {
    const assertion = deps.assertions.sign(principal, prepared.route, wildcardHost(context));
    if (sends.assertion) headers.push("x-gateway-assertion", assertion);
    // Repeat it only if it is short, or the only copy: servers reject heads of more than 16 KiB.
    if (sends.jwtAssertion && (!sends.assertion || assertion.length <= MAX_REPEATED_ASSERTION))
      headers.push("x-gateway-jwt-assertion", assertion);
  }
  // Sent empty when the user lacks the claim: an intermediary might fill in an absent header.
  for (const { name, claim } of prepared.claimHeaders) {
    const value = principal && upstreamClaim(principal.user, principal.sid, claim);
    // An empty value would mean that there is no claim. The client's own header of this name is dropped either way.
    if (value !== OMITTED) headers.push(name, claimText(value));
  }
  if (prepared.isMcpClient && principal && sends.authorization) {
    headers.push("Authorization", `Bearer ${deps.applicationTokens.mint(principal, prepared.route)}`);
  }
}

/** The message is forwarded as inspected, so its type and coding are known and not taken from the client. */
function addMcp(headers: string[], context: RequestContext): void {
  if (context.message !== undefined) headers.push("Content-Type", "application/json");
  // A compressor would delay an event stream, and the gateway could not read it on its way.
  headers.push("Accept-Encoding", "identity");
  const { task } = context.tasks ?? {};
  if (task !== undefined && context.exchange.header("mcp-name") !== undefined) {
    dropNamed(headers, ["mcp-name"]);
    headers.push("Mcp-Name", encodeMirror(task.id));
  }
  if (context.upstreamSession !== undefined) headers.push("Mcp-Session-Id", context.upstreamSession);
  if (context.internalToken !== undefined) headers.push("Authorization", context.internalToken.authorization);
}

function templateValues(deps: RequestHeaderDeps, context: RequestContext): TemplateValues {
  const { principal, prepared, providerTokens } = context;
  const { clientCertificate } = context.exchange;
  return {
    accessToken: providerTokens.accessToken,
    idToken: providerTokens.idToken,
    // A certificate that is not valid identifies no client.
    clientCertFingerprint: clientCertificate?.isValid === true ? clientCertificate.fingerprint : "",
    // Also with identity headers off: the settings request it by name.
    jwt: () => (principal ? deps.assertions.sign(principal, prepared.route, wildcardHost(context)) : ""),
    requestHeader: (lowerName) => visibleHeader(deps, context, lowerName),
  };
}

/** On wildcard routes the requested host, without port. */
function wildcardHost({ exchange, prepared }: RequestContext): string | undefined {
  return prepared.route.isWildcard ? withoutPort(exchange.host) : undefined;
}

/** A client's header as substitutions see it: without our credentials and without claims about identity. */
function visibleHeader(deps: RequestHeaderDeps, context: RequestContext, lowerName: string): string {
  const { exchange, prepared } = context;
  if (lowerName === "host") return exchange.host;
  const traits = headerTraits(lowerName);
  if (
    (traits.dropFromRequest && !traits.isProxyClaim) ||
    (prepared.settings.jwtClaimsHeaders.size > 0 && isClaimHeader(prepared.settings.jwtClaimsHeaders, traits.folded))
  )
    return "";
  const values = exchange.headerValues(lowerName);
  if (values.length === 0) return "";
  const listed = exchange.headerValues("connection").flatMap(connectionTokens);
  if (listed.includes(lowerName)) return "";
  if (traits.special === "none") return values.join(", ");
  return values.map((value) => specialValue(deps, context, lowerName, value) ?? "").join(", ");
}

function isClaimHeader(names: ReadonlyMap<string, string>, folded: string): boolean {
  for (const name of names.keys()) if (foldHeaderName(name) === folded) return true;
  return false;
}

function claimText(claim: unknown): string {
  let text = "";
  if (typeof claim === "string") text = claim;
  else if (typeof claim === "number" || typeof claim === "boolean") text = String(claim);
  else if (Array.isArray(claim)) text = claim.filter(isListElement).join(",");
  return isHeaderText(text) ? text : "";
}

/**
 * An upstream would read an element with a comma as two, of which the user may have neither. The signed assertion contains
 * it.
 */
function isListElement(item: unknown): boolean {
  return typeof item === "number" || (typeof item === "string" && !item.includes(","));
}

function dropNamed(headers: string[], lowerNames: readonly string[]): void {
  let kept = 2;
  for (let index = 2; index < headers.length; index += 2) {
    const name = headers[index] as string;
    if (lowerNames.includes(name.toLowerCase())) continue;
    headers[kept] = name;
    headers[kept + 1] = headers[index + 1] as string;
    kept += 2;
  }
  headers.length = kept;
}

/** True for values that list no other header. */
function isUsualConnection(value: string): boolean {
  return value === "keep-alive" || value === "close" || value === "Keep-Alive";
}

const NOTHING: readonly string[] = [];
