/**
 * `grant_type=…:jwt-bearer` with an identity assertion authorization grant (ID-JAG): a company's identity provider
 * decides which client may reach which MCP server for which user. Its signed assertion replaces sign-in and consent.
 *
 * Untrusted input: the assertion, until its issuer's signature is verified. Promises: it works once, for one client and
 * one MCP server, and only while its issuer is configured for this. There is no refresh token, since the client asks
 * the provider again. Policy limits the token. Only accepted claims are logged.
 *
 * @see MCP enterprise-managed authorization, draft-ietf-oauth-identity-assertion-authz-grant
 */
import type { TrustedIssuer } from "../../../features/sign-in/trusted-issuers.ts";
import type { IssuerKeys } from "../../../issuers/issuer-keys.ts";
import { CLOCK_SKEW_SECONDS } from "../../../issuers/assertion-times.ts";
import { MAX_ASSERTION_CHARACTERS, readUnverified } from "../../../issuers/read-unverified.ts";
import { isSignedOut } from "../../../identity/logout/signed-out.ts";
import { hashSecret, randomHandle } from "../../../shared/keys.ts";
import { networkOf } from "../../../shared/rate-limit.ts";
import { pass, refuse, refuseBlocked, tooMany, type StepResult } from "../answer.ts";
import { scopesSupported } from "../scope.ts";
import { idJagIssuers, routesOfAudience } from "../find-issuer.ts";
import { grantKey, idJagKey, storeGrant, type GrantRecord } from "../grant-records.ts";
import { mintAccessToken } from "./access-token.ts";
import {
  badAssertion,
  checkAudience,
  checkClient,
  checkExtensions,
  checkTimes,
  chooseResource,
  chooseScope,
  readAuthentication,
  readId,
  readSubject,
  type AssertedAuthentication,
  type AssertedSubject,
  type IdJagClaims,
} from "./id-jag-claims.ts";
import type { TokenAnswer } from "./refresh-token.ts";
import type { TokenDeps, TokenRequest } from "./token-request.ts";

type IdJagDeps = TokenDeps & { readonly issuerKeys: IssuerKeys };

/** Other statements of the issuer are not grants: the draft requires this type. */
export const ID_JAG_TYPE = "oauth-id-jag+jwt";

/** Rights from a valid assertion. */
interface Allowed extends AssertedSubject {
  readonly entry: TrustedIssuer;
  readonly audience: string;
  readonly scope: string;
  readonly jti: string;
  readonly issuedAt: number;
  /** Epoch seconds; after it the assertion is rejected as expired. */
  readonly rememberUntil: number;
  readonly authentication: AssertedAuthentication;
}

export async function exchangeIdJag(deps: IdJagDeps, request: TokenRequest): Promise<StepResult<TokenAnswer>> {
  const assertion = request.form.get("assertion");
  if (assertion === undefined) return refuse("invalid_request", "assertion is missing");

  // Public clients are allowed only by an issuer's entry, which only the assertion names.
  const entries = idJagIssuers(request.snapshot, request.issuer);
  if (request.client.isPublic && !entries.some((entry) => entry.allowsPublicClients))
    return refuse("invalid_client", "Client authentication failed", "id-jag of a public client");

  // Invalid assertions count against peer and client, since verifying costs more than sending.
  const sender = `${networkOf(request.peer)} id-jag ${hashSecret(request.client.id)}`;
  const waitSeconds = deps.failedProofs.take(sender);
  if (waitSeconds > 0) return tooMany(waitSeconds, "too many invalid assertions from one peer");
  const allowed = await verify(deps, request, assertion, entries);
  if (allowed.ok || allowed.refusal.error !== "invalid_grant") deps.failedProofs.giveBack(sender);
  return allowed.ok ? createGrant(deps, request, allowed.value) : allowed;
}

async function verify(
  deps: IdJagDeps,
  request: TokenRequest,
  assertion: string,
  entries: readonly TrustedIssuer[],
): Promise<StepResult<Allowed>> {
  if (assertion.length > MAX_ASSERTION_CHARACTERS) return badAssertion("too long");

  // Check the type before using any claim.
  const claimed = readUnverified(assertion);
  if (claimed === undefined) return badAssertion("not a compact JWS");
  if (claimed.type !== ID_JAG_TYPE) return badAssertion("typ is not that of an ID-JAG");

  // For the look-up only: the issuer is not verified yet.
  const entry = entries.find(({ issuer }) => issuer === claimed.issuer);
  if (!entry) return badAssertion("iss is not an issuer with the use id_jag here");
  if (request.client.isPublic && !entry.allowsPublicClients)
    return badAssertion(`${entry.name} allows no public clients`);

  // One of this issuer's keys must have signed it.
  const signed = await deps.issuerKeys.verify(entry, assertion);
  if (!signed.ok && signed.reason === "unavailable")
    return refuse("temporarily_unavailable", "Please try again later", `id-jag: ${signed.detail}`);
  if (!signed.ok) return badAssertion(signed.detail);
  return checkClaims(signed.claims, entry, request);
}

function checkClaims(claims: IdJagClaims, entry: TrustedIssuer, request: TokenRequest): StepResult<Allowed> {
  const { form, issuer, client, now } = request;
  const audienceCheck = checkAudience(claims, issuer);
  if (!audienceCheck.ok) return audienceCheck;
  const times = checkTimes(claims, now, entry.maxAssertionAgeSeconds.id_jag);
  if (!times.ok) return times;
  const ours = checkClient(claims, client.id, entry);
  if (!ours.ok) return ours;
  const audience = chooseResource(claims, form.get("resource"), issuer);
  if (!audience.ok) return audience;
  const plain = checkExtensions(claims);
  if (!plain.ok) return plain;
  const scope = chooseScope(claims, form.get("scope"), scopesSupported(routesOfAudience(issuer, audience.value)));
  if (!scope.ok) return scope;
  const subject = readSubject(claims, entry);
  if (!subject.ok) return subject;
  const jti = readId(claims);
  if (!jti.ok) return jti;
  return pass({
    ...subject.value,
    entry,
    audience: audience.value,
    scope: scope.value,
    jti: jti.value,
    issuedAt: times.value.iat,
    // `exp` may have a fraction (RFC 7519 §2, NumericDate).
    rememberUntil: Math.ceil(times.value.exp) + CLOCK_SKEW_SECONDS + 1,
    authentication: readAuthentication(claims),
  });
}

async function createGrant(deps: IdJagDeps, request: TokenRequest, allowed: Allowed): Promise<StepResult<TokenAnswer>> {
  const { client, issuer, now, snapshot } = request;
  const { entry, userId, audience, scope, jti, issuedAt, email, isEmailVerified } = allowed;

  // A block must not consume the assertion.
  const grantId = randomHandle(16);
  const { blocks } = deps.session;
  if (blocks && blocks.size > 0) {
    const known = (await deps.session.identities.find(userId)) ?? { id: userId, email };
    const block = blocks.find({ user: known, clientId: client.id, grantId });
    if (block) return refuseBlocked(block);
  }

  // It must be new: a reused assertion may have been intercepted.
  const jtiHash = hashSecret(JSON.stringify([entry.issuer, jti]));
  const noted = await deps.store.put(
    idJagKey(jtiHash),
    { schema: 1 },
    { ifVersion: 0, expiresAt: allowed.rememberUntil },
  );
  if (!noted.ok) return badAssertion("jti used before");

  // From here on it is used, whatever the result.
  const user = await deps.session.assertedUsers.record({
    userId,
    issuer: entry.issuer,
    email,
    isEmailVerified,
    issuedAt,
  });
  if (!user) return badAssertion("its user was refused since, or is another issuer's");

  const { accessToken } = snapshot.settings.lifetimes;
  const endsAt = now + Math.min(accessToken, entry.maxTokenLifetimeSeconds ?? accessToken);
  const grant: GrantRecord = {
    schema: 1,
    issuer: issuer.origin,
    clientId: client.id,
    clientName: client.metadata.client_name ?? client.id,
    userId,
    audience,
    scope,
    createdAt: now,
    sessionExpiresAt: endsAt,
    endsAt,
    assertedBy: { name: entry.name, issuer: entry.issuer, origin: issuer.origin, jtiHash },
  };
  await storeGrant(deps.store, grantId, grant, endsAt);
  // Check again now that a sign-out can find the grant: one of the two must see the other.
  if (await isSignedOut(deps.store, { kind: "grants", userId }, issuedAt)) {
    await deps.store.delete(grantKey(grantId));
    return badAssertion("its user was signed out since");
  }
  deps.log.info(
    {
      grant: grantId,
      client: client.id,
      user: userId,
      audience,
      issuer: entry.name,
      assertion: jtiHash,
      ...allowed.authentication,
    },
    "grant created from issuer assertion",
  );
  return pass({ ...mintAccessToken(deps.session.externalTokens, request, grantId, grant, audience), scope });
}
