/** The access token of a grant: its audience and expiry. */
import type { ExternalTokens } from "../../../identity/external-token.ts";
import { pass, refuse, type StepResult } from "../answer.ts";
import { findAudience, routesOfAudience } from "../find-issuer.ts";
import type { GrantRecord } from "../grant-records.ts";
import { toolScopesIn } from "../scope.ts";
import type { TokenAnswer } from "./refresh-token.ts";
import type { TokenRequest } from "./token-request.ts";

export type MintedAccessToken = Pick<TokenAnswer, "accessToken" | "accessExpiresAt" | "audience" | "keyThumbprint">;

/** Issues a token for `audience`, which never outlives the grant or its session. */
export function mintAccessToken(
  externalTokens: ExternalTokens,
  request: TokenRequest,
  grantId: string,
  grant: Pick<GrantRecord, "userId" | "clientId" | "scope" | "sessionExpiresAt" | "endsAt">,
  audience: string,
): MintedAccessToken {
  const accessExpiresAt = Math.min(
    request.now + request.snapshot.settings.lifetimes.accessToken,
    grant.sessionExpiresAt,
    grant.endsAt ?? Infinity,
  );
  const accessToken = externalTokens.mint({
    kind: "grant",
    userId: grant.userId,
    grantId,
    clientId: grant.clientId,
    ...toolScopesIn(grant.scope),
    ...boundTo(request),
    audience,
    expiresAt: accessExpiresAt,
  });
  return { accessToken, accessExpiresAt, audience, ...boundTo(request) };
}

/** The key that new tokens are bound to, to be spread into their claims. */
export function boundTo({ keyThumbprint }: Pick<TokenRequest, "keyThumbprint">): { keyThumbprint?: string } {
  return keyThumbprint === undefined ? {} : { keyThumbprint };
}

/**
 * Returns the audience of a request: the granted one, or a part of it that the client names ("the client … can request
 * a token with a restricted set", RFC 8707 §2.2). Rejects audiences without routes.
 */
export function chooseAudience(request: TokenRequest, granted: string): StepResult<string> {
  if (routesOfAudience(request.issuer, granted).length === 0) {
    return refuse("invalid_target", "The granted resource no longer exists");
  }
  const requested = request.form.get("resource");
  if (requested === undefined) return pass(granted);
  const audience = findAudience(request.issuer, requested);
  const isPart = audience !== undefined && (audience === granted || granted === request.issuer.origin);
  return isPart ? pass(audience) : refuse("invalid_target", "resource must be what was granted");
}
