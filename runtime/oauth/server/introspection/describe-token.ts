/**
 * Describes a token to a caller: whether it is active, and its user.
 *
 * An access token is checked like a request with it: by the same authenticator, for the same route, including blocks. A
 * refresh token is checked like at a refresh, but without changes.
 */
import { createRecords } from "../../../identity/identity-records.ts";
import { type ExternalTokenClaims } from "../../../identity/external-token.ts";
import type { Principal } from "../../../identity/principal.ts";
import { serviceAccountUser } from "../../../identity/tokens/service-accounts.ts";
import { hashSecret } from "../../../shared/keys.ts";
import type { Snapshot } from "../../../config/snapshot.ts";
import { pass, refuse, type StepResult } from "../answer.ts";
import type { Client } from "../clients/client.ts";
import type { IssuerSession } from "../deps.ts";
import { routesOfAudience, type Issuer, type McpServerRoute } from "../find-issuer.ts";
import { findGrant } from "../grant-records.ts";
import { endOf, type GrantDeps } from "../grants/grants.ts";
import { isBoundTo, isCurrentToken, openRefreshToken, REFRESH_TOKEN_PREFIX } from "../grants/refresh-token.ts";
import { DEFAULT_SCOPE } from "../scope.ts";

export interface DescribeDeps extends GrantDeps {
  readonly session: IssuerSession;
}

/** Request of an authenticated client. */
export interface IntrospectionContext {
  readonly issuer: Issuer;
  readonly client: Client;
  readonly snapshot: Snapshot;
  /** Epoch seconds. */
  readonly now: number;
}

/**
 * Members of RFC 7662 §2.2 that our tokens have. JSON omits undefined ones.
 *
 * `sub` is for all callers: it distinguishes users. `username` is an email address, which no user has agreed to share
 * with clients, so it is only for callers that represent the resource. Groups, other claims and the session are never
 * included: policy is evaluated here.
 */
export interface ActiveToken {
  readonly active: true;
  readonly scope: string;
  readonly client_id?: string | undefined;
  readonly username?: string | undefined;
  readonly token_type?: "Bearer" | "DPoP";
  /** RFC 9449 §6.2 */
  readonly cnf?: { readonly jkt: string } | undefined;
  readonly exp?: number | undefined;
  readonly iat?: number | undefined;
  readonly sub: string;
  readonly aud: string | readonly string[];
  readonly iss: string;
  readonly jti: string;
  /** The workload of an agent run (RFC 8693 §4.1). */
  readonly act?: { readonly sub: string } | undefined;
}

/** @returns undefined if the token is inactive, or does not concern the caller */
export async function describeToken(
  deps: DescribeDeps,
  context: IntrospectionContext,
  token: string,
): Promise<StepResult<ActiveToken | undefined>> {
  if (token.startsWith(REFRESH_TOKEN_PREFIX)) return pass(await describeRefreshToken(deps, context, token));
  const opened = deps.session.externalTokens.open(token);
  if (!opened.ok) return pass(undefined);
  const { claims } = opened;
  return claims.clientId === context.client.id
    ? describeOwn(deps, context, token, claims)
    : describeForResource(deps, context, token, claims);
}

/** A token issued to the caller. */
async function describeOwn(
  deps: DescribeDeps,
  context: IntrospectionContext,
  token: string,
  claims: ExternalTokenClaims,
): Promise<StepResult<ActiveToken | undefined>> {
  // Without routes, it was issued at another host, or its resource was removed.
  for (const route of routesOfAudience(context.issuer, claims.audience)) {
    const principal = await findPrincipal(deps, token, claims, route);
    if (!principal.ok) return principal;
    if (principal.value) return pass(membersOf(context, token, claims, principal.value, claims.audience));
  }
  return pass(undefined);
}

/** A token presented to the caller's resource by another client. */
async function describeForResource(
  deps: DescribeDeps,
  context: IntrospectionContext,
  token: string,
  claims: ExternalTokenClaims,
): Promise<StepResult<ActiveToken | undefined>> {
  const resources: string[] = [];
  let found: Principal | undefined;
  for (const route of await findOwnedRoutes(deps, context)) {
    const principal = await findPrincipal(deps, token, claims, route);
    if (!principal.ok) return principal;
    if (!principal.value) continue;
    found = principal.value;
    resources.push(route.mcp.resource);
  }
  if (!found) return pass(undefined);
  // Without its other audiences: "to prevent a protected resource from learning more about the larger network than is
  // necessary for its operation" (RFC 7662 §2.2).
  const [only = ""] = resources;
  const username = found.user.email === "" ? found.user.name : found.user.email;
  return pass({
    ...membersOf(context, token, claims, found, resources.length === 1 ? only : resources),
    username: username === "" ? undefined : username,
  });
}

/** Returns the principal of a token at a route, like for a request; undefined if the request would be denied. */
async function findPrincipal(
  { session: { callers, blocks } }: DescribeDeps,
  token: string,
  claims: ExternalTokenClaims,
  route: McpServerRoute,
): Promise<StepResult<Principal | undefined>> {
  const { origin, key: routeKey } = route;
  // Without a proof: the resource that asks checks the proof of its request itself, with `cnf`.
  const audience = { resource: route.mcp.resource, origin, server: route, checksProof: true };
  const result = await callers.bearer(token, audience, claims);
  if (!result.ok && result.reason === "unavailable")
    return refuse("temporarily_unavailable", "Please try again later", "the token cannot be verified now");
  if (!result.ok) return pass(undefined);
  const { user, clientId, grantId } = result.principal;
  return pass(blocks?.find({ user, clientId, grantId, routeKey }) ? undefined : result.principal);
}

/** Routes that the caller's service account represents, while it exists. */
async function findOwnedRoutes(
  deps: DescribeDeps,
  { issuer, client }: IntrospectionContext,
): Promise<readonly McpServerRoute[]> {
  const { accountId } = client;
  if (accountId === undefined || issuer.routes.every(({ mcp }) => mcp.introspectionAccounts.length === 0)) return [];
  const account = await createRecords(deps.store).serviceAccounts.get(accountId);
  if (!account || deps.session.revocations.isRevoked([`service-account:${accountId}`])) return [];
  const user = serviceAccountUser(account.value);
  if (deps.session.blocks?.find({ user })) return [];
  return issuer.routes.filter(({ mcp }) => mcp.introspectionAccounts.includes(account.value.name));
}

/** Same checks as a refresh, except that a rotated token is inactive even within the replay window. */
async function describeRefreshToken(
  deps: DescribeDeps,
  { issuer, client, snapshot, now }: IntrospectionContext,
  token: string,
): Promise<ActiveToken | undefined> {
  // The seal opens only for the client and issuer of the token.
  const opened = openRefreshToken(deps.keys, { issuer: issuer.origin, clientId: client.id }, token);
  if (!opened) return undefined;
  const { grantId } = opened;
  const { identities, revocations, blocks } = deps.session;
  const grant = await findGrant(deps.store, grantId);
  if (!grant || revocations.isRevoked([`grant:${grantId}`])) return undefined;
  const { value } = grant;
  const { endsAt = Infinity } = endOf(value.createdAt, snapshot.settings.lifetimes);
  if (endsAt <= now || !isCurrentToken(value.refresh, opened) || !isBoundTo(opened, value)) return undefined;
  if (routesOfAudience(issuer, value.audience).length === 0) return undefined;
  const user = await identities.find(value.userId);
  if (!user || blocks?.find({ user, clientId: client.id, grantId })) return undefined;
  const exp = Math.min(grant.expiresAt ?? Infinity, endsAt);
  return {
    active: true,
    scope: value.scope,
    client_id: client.id,
    exp: exp === Infinity ? undefined : exp,
    sub: user.id,
    aud: value.audience,
    iss: issuer.origin,
    jti: idOf(token),
  };
}

function membersOf(
  { issuer }: IntrospectionContext,
  token: string,
  { clientId, issuedAt, scopes = [], keyThumbprint }: ExternalTokenClaims,
  { user, expiresAt }: Principal,
  aud: string | readonly string[],
): ActiveToken {
  return {
    active: true,
    scope: [DEFAULT_SCOPE, ...scopes].join(" "),
    client_id: clientId,
    token_type: keyThumbprint === undefined ? "Bearer" : "DPoP",
    cnf: keyThumbprint === undefined ? undefined : { jkt: keyThumbprint },
    exp: expiresAt,
    iat: issuedAt,
    sub: user.id,
    aud,
    iss: issuer.origin,
    jti: idOf(token),
    act: user.actor && { sub: user.actor.id },
  };
}

/** A name for the token, with its own purpose, so that it equals no stored hash. */
function idOf(token: string): string {
  return hashSecret(`jti ${token}`);
}
