/**
 * `grant_type=authorization_code` (OAuth 2.1 §4.1.3): exchanges a code for a grant and its first tokens, once.
 *
 * Promises: of several requests with one code, one gets tokens. A later request revokes them: "If a second valid token
 * request is made with the same authorization code as a previously successful token request, the authorization server
 * MUST deny the request and SHOULD revoke (when possible) all … tokens previously issued based on that authorization
 * code" (OAuth 2.1 §4.1.3). A concurrent request is rejected and revokes nothing, since none had succeeded.
 */
import { hashSecret } from "../../../shared/keys.ts";
import type { StoredRecord } from "../../../store/store.ts";
import { boundTo, chooseAudience, mintAccessToken } from "./access-token.ts";
import { pass, refuse, refuseBlocked, type StepResult } from "../answer.ts";
import { endGrant, endOf, isAsIssued } from "./grants.ts";
import { isCodeVerifier, matchesChallenge } from "../authorize/pkce.ts";
import { codeKey, findGrant, keeping, storeGrant, type CodeRecord, type GrantRecord } from "../grant-records.ts";
import { mintRefreshToken, type TokenAnswer } from "./refresh-token.ts";
import type { TokenDeps, TokenRequest } from "./token-request.ts";

type StoredCode = StoredRecord<CodeRecord>;

export async function exchangeCode(deps: TokenDeps, request: TokenRequest): Promise<StepResult<TokenAnswer>> {
  // The code must be ours.
  const text = request.form.get("code");
  if (text === undefined) return refuse("invalid_request", "code is missing");
  const code = await deps.store.get<CodeRecord>(codeKey(hashSecret(text)));
  if (!code) return badCode("unknown");
  if (!isAsIssued(deps, text, code.value)) return badCode("its record was changed");

  // It must have been issued here, to this client (OAuth 2.1 §4.1.3).
  if (code.value.issuer !== request.issuer.origin || code.value.clientId !== request.client.id)
    return badCode("of another client");

  // It must be unused: the sender of a second request may be a thief, or a victim.
  if (code.value.used) {
    if (await cameAfter(deps, request, code.value)) await endGrant(deps, code.value.grantId, "code replayed");
    return badCode("used before");
  }

  // It must not be expired.
  if (code.value.expiresAt <= request.now) return badCode("expired");

  // The redirect URI must be the same as in the request (RFC 6749 §4.1.3).
  const redirectUri = request.form.get("redirect_uri");
  if ((redirectUri !== undefined || code.value.redirectUriSent) && redirectUri !== code.value.redirectUri) {
    return badCode("other redirect_uri");
  }

  // The verifier must match the challenge (RFC 7636 §4.6).
  const verifier = request.form.get("code_verifier");
  if (verifier === undefined) return badCode("no code_verifier");
  if (!isCodeVerifier(verifier))
    return refuse("invalid_request", "code_verifier must have 43 to 128 unreserved characters");
  if (!matchesChallenge(verifier, code.value.codeChallenge)) return badCode("wrong code_verifier");

  // The key must be the one that the request named, and then also that of the tokens (RFC 9449 §10).
  const { keyThumbprint = request.keyThumbprint } = code.value;
  if (keyThumbprint !== request.keyThumbprint) return badCode("no DPoP proof by the key that was named");

  // The target must be the approved one, or a part of it.
  const audience = chooseAudience(request, code.value.audience);
  if (!audience.ok) return audience;

  // The user and the session that consented must still exist.
  const user = await deps.session.identities.find(code.value.userId);
  if (!user || code.value.sessionExpiresAt <= request.now) return badCode("user or session gone");

  // A block must not consume the code.
  const block = deps.session.blocks?.find({ user, grantId: code.value.grantId });
  if (block) return refuseBlocked(block);

  // From here on the code is used, by this request only.
  const marked = await deps.store.put(
    codeKey(hashSecret(text)),
    { ...code.value, used: true, usedAtMs: deps.clock.now() } satisfies CodeRecord,
    keeping(code),
  );
  return marked.ok ? createGrant(deps, request, code, audience.value) : badCode("used at the same time");
}

async function createGrant(
  deps: TokenDeps,
  request: TokenRequest,
  code: StoredCode,
  audience: string,
): Promise<StepResult<TokenAnswer>> {
  const { grantId, clientId, userId, scope, sessionExpiresAt, issuer } = code.value;
  const { client, now } = request;
  // "refresh tokens issued to confidential clients … are not bound to the DPoP proof public key" (RFC 9449 §5).
  const bound = client.isPublic ? boundTo(request) : {};
  const { lifetimes } = request.snapshot.settings;
  const refreshToken = client.metadata.grant_types.includes("refresh_token")
    ? mintRefreshToken(deps.keys, { issuer, clientId }, grantId, 1, {
        userId,
        audience: code.value.audience,
        scope,
        ...bound,
      })
    : undefined;
  const grant: GrantRecord = {
    schema: 1,
    issuer,
    clientId,
    clientName: client.metadata.client_name ?? clientId,
    userId,
    audience: code.value.audience,
    scope,
    createdAt: now,
    sessionExpiresAt,
    ...endOf(now, lifetimes),
    ...bound,
    ...(refreshToken === undefined ? {} : { refresh: { generation: 1, hash: hashSecret(refreshToken), rotated: [] } }),
  };
  // Without a refresh token, the grant ends with its session.
  const keptUntil = refreshToken === undefined ? sessionExpiresAt : now + lifetimes.refreshToken;
  await storeGrant(deps.store, grantId, grant, Math.min(keptUntil, grant.endsAt ?? Infinity));
  // The user or client may have been revoked since the code was marked, when no grant existed yet.
  const after = await deps.store.get<CodeRecord>(code.key);
  if (after?.value.replayed !== false) {
    await endGrant(deps, grantId, "revoked at the same time");
    return badCode("revoked at the same time");
  }
  deps.log.info({ grant: grantId, client: clientId, user: userId, audience: grant.audience }, "grant created");
  return pass({
    ...mintAccessToken(deps.session.externalTokens, request, grantId, grant, audience),
    scope,
    ...(refreshToken === undefined ? {} : { refreshToken }),
  });
}

/** Returns true if the code was used successfully before this request arrived. Precise up to clock differences. */
async function cameAfter(deps: TokenDeps, { arrivedMs }: TokenRequest, code: CodeRecord): Promise<boolean> {
  const isDouble = code.usedAtMs !== undefined && arrivedMs < code.usedAtMs;
  return !isDouble && (await findGrant(deps.store, code.grantId)) !== undefined;
}

function badCode(detail: string): ReturnType<typeof refuse> {
  return refuse("invalid_grant", "The authorization code is not valid", `code: ${detail}`);
}
