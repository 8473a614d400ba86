/**
 * The identity provider: any OpenID Connect provider, through openid-client.
 *
 * Trusted input: the `idp_*` settings. Untrusted until checked: everything that arrives through the browser. Promises:
 * every sign-in uses state, nonce and PKCE. ID token signatures are verified. Plain http is allowed only in
 * development. Errors distinguish rejection (`idp.refused`), an unreachable provider (`idp.unavailable`) and wrong
 * settings (`idp.misconfigured`), and never contain a token.
 */
import * as openid from "openid-client";

import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { GatewayError } from "../../shared/errors.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { forGrants, pushesRequests, type Discover } from "./idp-discovery.ts";
import {
  detailOf,
  isDeniedRefresh,
  isRefusedCode,
  isRefusedRefresh,
  OTHER_SUBJECT,
  providerError,
} from "./idp-errors.ts";
import { asksOfflineApart, scopesFor } from "./idp-scopes.ts";
import { fitsNoKey, hasPlainClaims } from "../../issuers/compact-jws.ts";
import { isForAnother } from "./idp-tokens.ts";
import { freshSignIn } from "./auth-time.ts";
import type { GroupsResolver } from "./groups-resolver.ts";
import { lacksOnlyName, lacksProfile, readProfile, withOthersLeftOut, type ProfileFacts } from "./provider-claims.ts";
import { hasSharedAlgorithm, type ProviderKeys } from "./provider-keys.ts";
import { parseUserId, providerUserId, type UserId } from "../../shared/user-id.ts";

/** Tokens from the token endpoint. */
export interface ProviderTokenSet {
  /** The settings of the request. */
  readonly providerUrl: string;
  readonly clientId: string;
  readonly accessToken: string;
  readonly accessTokenExpiresAt?: number;
  readonly idToken?: string;
  readonly refreshToken?: string;
  /** Claims of the ID token in this response, if there was one. */
  readonly idClaims?: Readonly<Record<string, unknown>>;
}

export interface SignInChecks {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  readonly codeVerifier: string;
  /** Makes the provider authenticate the user again, whatever session they have there. */
  readonly isFresh?: boolean;
  /** Requests tokens that outlive the provider's session, without user interaction. The user must be signed in there. */
  readonly isOffline?: boolean;
  /** Email address that the user entered, sent to the provider to save typing. */
  readonly loginHint?: string | undefined;
}

export interface IdentityProvider {
  /** URL of the sign-in. Pushes the request if metadata or settings require it (RFC 9126). @throws GatewayError */
  authorizationUrl(settings: IdpSettings, checks: SignInChecks): Promise<string>;
  /**
   * @param query of the callback, as received, with its "?"
   * @throws GatewayError `idp.refused` (also if the user declined), `idp.unavailable`, `idp.misconfigured`
   */
  exchangeCode(settings: IdpSettings, query: string, checks: SignInChecks): Promise<ProviderTokenSet>;
  /** See `asksOfflineApart`. @throws if the provider cannot be reached */
  asksOfflineApart(settings: IdpSettings): Promise<boolean>;
  /** Revokes a refresh token at the provider, if supported (RFC 7009). @throws GatewayError */
  revoke(settings: IdpSettings, refreshToken: string): Promise<void>;
  /** @throws GatewayError `idp.refused` for an invalid refresh token, `idp.denied`, `idp.unavailable`, `idp.misconfigured` */
  exchangeRefreshToken(settings: IdpSettings, refreshToken: string): Promise<ProviderTokenSet>;
  /**
   * Returns the profile of a token set's user, from ID token and userinfo. If only the name is missing and userinfo is
   * unavailable, the sign-in continues, and other userinfo claims count as omitted.
   *
   * @param known the expected user; undefined at sign-in, where the ID token names the user
   * @returns profile undefined if the provider offers neither
   * @throws GatewayError `idp.refused`, `idp.unavailable`, `idp.misconfigured`, `idp.subject` for an unusable subject
   */
  readUser(
    settings: IdpSettings,
    tokens: ProviderTokenSet,
    known: UserId | undefined,
  ): Promise<{ readonly userId: UserId; readonly profile: ProfileFacts | undefined }>;
  /** URL that ends the provider's own session; undefined if it offers none. @throws if the provider cannot be reached */
  endSessionUrl(
    settings: IdpSettings,
    parameters: { readonly idToken: string | undefined; readonly returnTo: string },
  ): Promise<string | undefined>;
}

/** Maximum length of a rejected subject in the log. */
const SHOWN_SUBJECT_CHARACTERS = 100;

export interface IdentityProviderDeps {
  readonly discover: Discover;
  readonly keys: ProviderKeys;
  readonly groups: GroupsResolver;
  readonly clock: Clock;
}

type Answered = openid.TokenEndpointResponse & openid.TokenEndpointResponseHelpers;

export function createIdp(deps: IdentityProviderDeps): IdentityProvider {
  const { discover } = deps;
  return {
    async authorizationUrl(settings, checks) {
      const configuration = await discover(settings);
      const parameters = {
        // Ours last: configured parameters must not replace the ones that the checks rely on.
        ...Object.fromEntries(settings.requestParams),
        redirect_uri: checks.redirectUri,
        scope: scopesFor(settings, configuration.serverMetadata(), checks.isOffline).join(" "),
        state: checks.state,
        nonce: checks.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(checks.codeVerifier),
        code_challenge_method: "S256",
        ...(checks.isFresh === true ? freshSignIn(settings) : {}),
        ...(checks.isOffline === true ? { prompt: "none" } : {}),
        ...(checks.loginHint === undefined ? {} : { login_hint: checks.loginHint }),
      };
      if (!pushesRequests(configuration, settings)) return openid.buildAuthorizationUrl(configuration, parameters).href;
      try {
        return (await openid.buildAuthorizationUrlWithPAR(forGrants(configuration, settings), parameters)).href;
      } catch (error) {
        const about = { settings, sent: [checks.state], redirectUri: checks.redirectUri, refuses: () => false };
        throw providerError(error, { action: "push an authorization request", ...about });
      }
    },

    async exchangeCode(settings, query, checks) {
      const configuration = await discover(settings);
      const url = new URL(checks.redirectUri);
      url.search = query;
      try {
        const answer = await openid.authorizationCodeGrant(forGrants(configuration, settings), url, {
          expectedState: checks.state,
          expectedNonce: checks.nonce,
          pkceCodeVerifier: checks.codeVerifier,
          idTokenExpected: true,
        });
        await checkIdToken(deps.keys, settings, configuration, answer, isRefusedCode);
        return tokenSet(settings, answer, deps.clock);
      } catch (error) {
        throw providerError(error, {
          settings,
          action: "finish the sign-in",
          sent: [url.searchParams.get("code") ?? undefined, checks.codeVerifier, checks.state],
          redirectUri: checks.redirectUri,
          refuses: isRefusedCode,
        });
      }
    },

    asksOfflineApart: async (settings) => asksOfflineApart(settings, (await discover(settings)).serverMetadata()),

    async revoke(settings, refreshToken) {
      const configuration = await discover(settings);
      if (configuration.serverMetadata().revocation_endpoint === undefined) return;
      try {
        await openid.tokenRevocation(forGrants(configuration, settings), refreshToken, {
          token_type_hint: "refresh_token",
        });
      } catch (error) {
        const about = { settings, sent: [refreshToken], refuses: () => false };
        throw providerError(error, { action: "revoke a refresh token", ...about });
      }
    },

    async exchangeRefreshToken(settings, refreshToken) {
      const configuration = await discover(settings);
      try {
        const answer = await openid.refreshTokenGrant(forGrants(configuration, settings), refreshToken);
        await checkIdToken(deps.keys, settings, configuration, answer, isRefusedRefresh);
        return tokenSet(settings, answer, deps.clock);
      } catch (error) {
        const how = { refuses: isRefusedRefresh, denies: isDeniedRefresh };
        throw providerError(error, { settings, action: "refresh a user", sent: [refreshToken], ...how });
      }
    },

    readUser: (settings, tokens, known) => readUser(deps, settings, tokens, known),

    async endSessionUrl(settings, parameters) {
      const configuration = await discover(settings);
      if (configuration.serverMetadata().end_session_endpoint === undefined) return undefined;
      return openid.buildEndSessionUrl(configuration, {
        ...(parameters.idToken === undefined ? {} : { id_token_hint: parameters.idToken }),
        post_logout_redirect_uri: parameters.returnTo,
      }).href;
    },
  };
}

function tokenSet(settings: IdpSettings, answer: Answered, clock: Clock): ProviderTokenSet {
  const expiresIn = answer.expiresIn();
  const idClaims = answer.claims();
  return {
    providerUrl: settings.providerUrl,
    clientId: settings.clientId,
    accessToken: answer.access_token,
    ...(expiresIn === undefined ? {} : { accessTokenExpiresAt: epochSeconds(clock) + expiresIn }),
    ...(answer.id_token === undefined ? {} : { idToken: answer.id_token }),
    ...(answer.refresh_token === undefined ? {} : { refreshToken: answer.refresh_token }),
    ...(idClaims === undefined ? {} : { idClaims }),
  };
}

/** Checks of an ID token that the library does not make. @throws GatewayError */
async function checkIdToken(
  keys: ProviderKeys,
  settings: IdpSettings,
  configuration: openid.Configuration,
  answer: Answered,
  refuses: (status: number, code: string) => boolean,
): Promise<void> {
  if (answer.id_token === undefined) return;
  try {
    await keys.checkSignature(configuration, answer.id_token);
  } catch (error) {
    if (hasSharedAlgorithm(error)) {
      const message = "Cannot use an ID token: set an asymmetric algorithm for its signature at the provider (RS256)";
      throw new GatewayError("idp.misconfigured", message);
    }
    const code = fitsNoKey(error) && refuses(0, "") ? "idp.refused" : "idp.unavailable";
    throw new GatewayError(code, `Cannot check the signature of an ID token: ${detailOf(error)}`);
  }
  const problem = isForAnother(answer.claims() ?? {}, settings)
    ? "its azp is another client"
    : hasPlainClaims(answer.id_token)
      ? undefined
      : "its claims are not JSON";
  if (problem === undefined) return;
  const code = refuses(0, "") ? "idp.refused" : "idp.unavailable";
  throw new GatewayError(code, `Cannot use an ID token: ${problem}`);
}

/** See `IdentityProvider`. */
async function readUser(
  deps: IdentityProviderDeps,
  settings: IdpSettings,
  tokens: ProviderTokenSet,
  known: UserId | undefined,
): ReturnType<IdentityProvider["readUser"]> {
  const idSubject = typeof tokens.idClaims?.["sub"] === "string" ? tokens.idClaims["sub"] : undefined;
  const expected = known === undefined ? idSubject : subjectAt(settings, known);
  // OpenID Connect Core §12.2: the sub of a refreshed ID token MUST be that of the original.
  if (expected === undefined || (idSubject !== undefined && idSubject !== expected)) {
    throw new GatewayError("idp.refused", "Cannot read a user: the provider's ID token names another subject or none");
  }
  // A refresh may return no ID token. The earlier claims stay valid then.
  const missing = known === undefined || tokens.idClaims ? missingClaim(settings, tokens.idClaims ?? {}) : undefined;
  if (missing !== undefined) {
    const name = JSON.stringify(missing);
    throw new GatewayError("idp.refused", `Cannot read a user: the ID token's claim ${name} is not the required one`);
  }
  const made = providerUserId(settings.issuerName, expected);
  if (!made.ok) {
    const subject = JSON.stringify(expected.slice(0, SHOWN_SUBJECT_CHARACTERS));
    throw new GatewayError("idp.subject", `Cannot read a user: the provider's subject ${subject} ${made.problem}`);
  }
  const { id: userId } = made;
  const configuration = await deps.discover(settings);
  const sources: Readonly<Record<string, unknown>>[] = tokens.idClaims ? [tokens.idClaims] : [];
  const hasUserInfo = configuration.serverMetadata().userinfo_endpoint !== undefined;
  if (hasUserInfo && lacksProfile(tokens.idClaims ?? {}, settings)) {
    try {
      sources.push(await openid.fetchUserInfo(configuration, tokens.accessToken, expected));
    } catch (error) {
      const isSignIn = known === undefined;
      const failure = providerError(error, {
        settings,
        action: "read a user",
        sent: [tokens.accessToken],
        refuses: (status, code) => status === 401 || status === 403 || (isSignIn && code === OTHER_SUBJECT),
      });
      // A refresh is postponed: until userinfo is available, its earlier claims stay valid.
      if (failure.code === "idp.refused" || !isSignIn || !lacksOnlyName(tokens.idClaims ?? {}, settings)) {
        throw failure;
      }
      const profile = withOthersLeftOut(readProfile(sources, settings, userId));
      return { userId, profile: await deps.groups.complete(settings, userId, profile) };
    }
  }
  if (sources.length === 0) return { userId, profile: undefined };
  return { userId, profile: await deps.groups.complete(settings, userId, readProfile(sources, settings, userId)) };
}

/** A tenant hint in the request restricts no user. Only the signed claim proves the tenant. */
function missingClaim({ requiredClaims }: IdpSettings, claims: Readonly<Record<string, unknown>>): string | undefined {
  return [...requiredClaims].find(([name, text]) => !Object.hasOwn(claims, name) || claims[name] !== text)?.[0];
}

/** @returns undefined for a user of another issuer */
function subjectAt({ issuerName }: IdpSettings, userId: UserId): string | undefined {
  const parts = parseUserId(userId);
  return parts?.kind === "person" && parts.issuer === issuerName ? parts.subject : undefined;
}
