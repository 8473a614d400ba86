/**
 * Verifies tokens of the identity provider that were issued to another party and presented to the gateway.
 *
 * Untrusted input: the token. Promises:
 * - JWTs are verified with the provider's published keys, by issuer, audience and expiry, with asymmetric algorithms
 *   only.
 * - Other tokens are verified by the provider's introspection (RFC 7662) with an audience check, since an active token
 *   may belong to any application.
 * - An ID token is not accepted as an access token, and vice versa.
 * - An unreachable provider is reported differently from an invalid token.
 * - No thrown text contains a token.
 */
import * as jose from "jose";
import * as openid from "openid-client";

import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { hasPlainClaims } from "../../issuers/compact-jws.ts";
import { forGrants, type Discover } from "./idp-discovery.ts";
import { providerError } from "./idp-errors.ts";
import type { AuthFailureReason } from "../principal.ts";
import type { GroupsResolver } from "./groups-resolver.ts";
import { lacksProfile, readProfile, type ProfileFacts } from "./provider-claims.ts";
import { SIGNING_ALGORITHMS, type ProviderKeys } from "./provider-keys.ts";
import { providerUserId, type UserId } from "../../shared/user-id.ts";

export type IdpTokenFormat = "idp_access_token" | "idp_identity_token";

export type IdpTokenResult =
  | {
      readonly ok: true;
      readonly userId: UserId;
      readonly profile: ProfileFacts;
      /** Epoch seconds. */
      readonly expiresAt: number;
    }
  | { readonly ok: false; readonly reason: AuthFailureReason };

export interface IdpTokens {
  /**
   * @param audiences of access tokens: the token must have one of them
   * @throws GatewayError `idp.unavailable`, `idp.misconfigured`
   */
  verify(
    settings: IdpSettings,
    token: string,
    format: IdpTokenFormat,
    audiences: readonly string[],
  ): Promise<IdpTokenResult>;
}

export interface IdpTokenDeps {
  readonly discover: Discover;
  readonly groups: GroupsResolver;
  readonly keys: Pick<ProviderKeys, "find">;
  readonly clock: Clock;
}

const CLOCK_TOLERANCE_SECONDS = 5;
/** Validity of an opaque token without a known expiry. */
const NO_EXPIRY_SECONDS = 60;

export function createIdpTokens(deps: IdpTokenDeps): IdpTokens {
  const keysOf = (configuration: openid.Configuration): jose.JWTVerifyGetKey => {
    const find = deps.keys.find(configuration);
    if (find === undefined)
      throw new GatewayError("idp.unavailable", "Cannot check a token: the provider publishes no keys");
    return find;
  };

  const verifyJwt = async (
    configuration: openid.Configuration,
    token: string,
    audiences: readonly string[],
  ): Promise<{ readonly payload: jose.JWTPayload; readonly type: string } | { readonly reason: AuthFailureReason }> => {
    try {
      const { payload, protectedHeader } = await jose.jwtVerify(token, keysOf(configuration), {
        issuer: configuration.serverMetadata().issuer,
        audience: [...audiences],
        algorithms: SIGNING_ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ["sub", "exp", "iat"],
        currentDate: new Date(deps.clock.now()),
      });
      if (!hasPlainClaims(token)) return { reason: "malformed" };
      return { payload, type: (protectedHeader.typ ?? "").toLowerCase().replace(/^application\//, "") };
    } catch (error) {
      return { reason: refusalOf(error) };
    }
  };

  /** Userinfo claims of the token's user; [] if the provider denies access. */
  const userInfo = async (
    settings: IdpSettings,
    configuration: openid.Configuration,
    token: string,
    subject: string,
  ): Promise<readonly Readonly<Record<string, unknown>>[]> => {
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return [];
    try {
      return [await openid.fetchUserInfo(configuration, token, subject)];
    } catch (error) {
      const action = "read the user of a token";
      const refused = providerError(error, { settings, action, sent: [token], refuses: (status) => status === 401 });
      // 403: the token is valid, but not for userinfo.
      if (error instanceof openid.WWWAuthenticateChallengeError && error.status === 403) return [];
      throw refused;
    }
  };

  const verifyAccessToken = async (
    settings: IdpSettings,
    token: string,
    audiences: readonly string[],
  ): Promise<IdpTokenResult> => {
    const configuration = await deps.discover(settings);
    let claims: Readonly<Record<string, unknown>>;
    let expiresAt: number;
    if (isJwt(token)) {
      const verified = await verifyJwt(configuration, token, audiences);
      if ("reason" in verified) return { ok: false, reason: verified.reason };
      if (!isAccessToken(verified.type, verified.payload)) return { ok: false, reason: "wrong-kind" };
      claims = verified.payload;
      expiresAt = verified.payload.exp ?? 0;
    } else {
      const introspected = await introspect(deps.clock, settings, configuration, token, audiences);
      if (typeof introspected === "string") return { ok: false, reason: introspected };
      claims = introspected;
      expiresAt = introspected.exp ?? epochSeconds(deps.clock) + NO_EXPIRY_SECONDS;
    }
    const { sub: subject } = claims;
    const made = typeof subject === "string" && providerUserId(settings.issuerName, subject);
    if (!made || !made.ok) return { ok: false, reason: "unknown-user" };
    const sources = [withoutProtocol(claims)];
    const isOpenid = scopesOf(claims).includes("openid");
    if (isOpenid && lacksProfile(claims, settings)) {
      try {
        sources.push(...(await userInfo(settings, configuration, token, subject)));
      } catch (error) {
        if (error instanceof GatewayError && error.code === "idp.refused") return { ok: false, reason: "revoked" };
        throw error;
      }
    }
    const profile = await deps.groups.complete(settings, made.id, readProfile(sources, settings, made.id));
    return { ok: true, userId: made.id, profile, expiresAt };
  };

  const verifyIdToken = async (settings: IdpSettings, token: string): Promise<IdpTokenResult> => {
    if (!isJwt(token)) return { ok: false, reason: "malformed" };
    const configuration = await deps.discover(settings);
    const verified = await verifyJwt(configuration, token, [settings.clientId]);
    if ("reason" in verified) return { ok: false, reason: verified.reason };
    const { payload, type } = verified;
    if (!isIdToken(type, payload)) return { ok: false, reason: "wrong-kind" };
    if (isForAnother(payload, settings)) return { ok: false, reason: "wrong-audience" };
    // A signature does not guarantee the type of `sub`.
    const { sub: subject }: Readonly<Record<string, unknown>> = payload;
    const made = typeof subject === "string" && providerUserId(settings.issuerName, subject);
    if (!made || !made.ok) return { ok: false, reason: "unknown-user" };
    const profile = await deps.groups.complete(settings, made.id, readProfile([payload], settings, made.id));
    return { ok: true, userId: made.id, profile, expiresAt: payload.exp ?? 0 };
  };

  return {
    verify: (settings, token, format, audiences) =>
      format === "idp_access_token" ? verifyAccessToken(settings, token, audiences) : verifyIdToken(settings, token),
  };
}

/** @see RFC 7662 §2.2 */
async function introspect(
  clock: Clock,
  settings: IdpSettings,
  configuration: openid.Configuration,
  token: string,
  audiences: readonly string[],
): Promise<openid.IntrospectionResponse | AuthFailureReason> {
  if (configuration.serverMetadata().introspection_endpoint === undefined) return "malformed";
  let introspected: openid.IntrospectionResponse;
  try {
    introspected = await openid.tokenIntrospection(forGrants(configuration, settings), token);
  } catch (error) {
    throw providerError(error, { settings, action: "ask about a token", sent: [token], refuses: () => false });
  }
  if (!introspected.active) return "revoked";
  if (introspected.exp !== undefined && introspected.exp <= epochSeconds(clock)) return "expired";
  // A refresh token is also active, and lives for months.
  const { token_type: type } = introspected;
  if (type !== undefined && !/^(bearer|dpop|access_token)$/i.test(type)) return "wrong-kind";
  // A key-bound token (RFC 7800) is invalid without a proof of possession, which we cannot check.
  if (introspected.cnf !== undefined) return "wrong-kind";
  const { aud, client_id: client } = introspected;
  const tokenAudiences = typeof aud === "string" ? [aud] : (aud ?? []);
  // A token without an audience was issued to a client for the provider's own endpoints.
  const matches =
    tokenAudiences.length > 0
      ? tokenAudiences.some((each) => audiences.includes(each))
      : audiences.includes(client ?? "");
  return matches ? introspected : "wrong-audience";
}

/** OpenID Connect Core §3.1.3.7: if there are several audiences, or an azp, azp must be the client. */
export function isForAnother(
  { aud, azp }: Readonly<Record<string, unknown>>,
  { clientId }: Pick<IdpSettings, "clientId">,
): boolean {
  return ((Array.isArray(aud) && aud.length > 1) || azp !== undefined) && azp !== clientId;
}

function isJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]+$/.test(token);
}

/**
 * Access tokens have their own type (RFC 9068 §2.1). Older providers mark them by `scope`, `scp` or `client_id`, which
 * ID tokens lack. A key-bound token (`cnf`) is invalid without a proof of possession, which we cannot check.
 */
function isAccessToken(type: string, payload: jose.JWTPayload): boolean {
  const isId = ["nonce", "at_hash", "c_hash", "s_hash"].some((claim) => payload[claim] !== undefined);
  const isAccess = ["scope", "scp", "client_id", "cid"].some((claim) => payload[claim] !== undefined);
  return (type === "at+jwt" || (isAccess && (type === "" || type === "jwt"))) && !isId && payload["cnf"] === undefined;
}

function isIdToken(type: string, payload: jose.JWTPayload): boolean {
  const isAccess = ["scope", "scp", "client_id", "cid"].some((claim) => payload[claim] !== undefined);
  // Logout tokens (typ logout+jwt, claim events) have the same keys and audience.
  return (type === "" || type === "jwt") && !isAccess && payload["events"] === undefined;
}

function scopesOf(claims: Readonly<Record<string, unknown>>): readonly string[] {
  const scope = claims["scope"] ?? claims["scp"];
  if (Array.isArray(scope)) return scope.filter((each) => typeof each === "string");
  return typeof scope === "string" ? scope.split(" ") : [];
}

/** Removes protocol members that readProfile does not know: they are not claims of the user. */
function withoutProtocol(claims: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { active: _a, scope: _s, token_type: _t, client_id: _c, username: _u, ...rest } = claims;
  return rest;
}

function refusalOf(error: unknown): AuthFailureReason {
  if (error instanceof jose.errors.JWTExpired) return "expired";
  if (error instanceof jose.errors.JWTClaimValidationFailed) {
    return error.claim === "aud" ? "wrong-audience" : "malformed";
  }
  const isBad =
    error instanceof jose.errors.JWSSignatureVerificationFailed ||
    error instanceof jose.errors.JWTInvalid ||
    error instanceof jose.errors.JWSInvalid ||
    error instanceof jose.errors.JOSEAlgNotAllowed ||
    error instanceof jose.errors.JOSENotSupported ||
    error instanceof jose.errors.JWKSNoMatchingKey ||
    error instanceof jose.errors.JWKSMultipleMatchingKeys;
  if (isBad) return "malformed";
  throw new GatewayError("idp.unavailable", `Cannot check a token: the provider's keys: ${errorText(error)}`);
}
