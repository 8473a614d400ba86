/**
 * `grant_type=client_credentials` (OAuth 2.1 §4.2): a service gets an access token for its own service account.
 *
 * Promise: only for clients that an administrator created for this. There is no refresh token, since the client can
 * request another token. Policy limits the token like a user's.
 */
import { createRecords } from "../../../identity/identity-records.ts";
import { mintServiceAccountToken, serviceAccountUser } from "../../../identity/tokens/service-accounts.ts";
import { pass, refuse, refuseBlocked, type StepResult } from "../answer.ts";
import { findAudience, routesOfAudience } from "../find-issuer.ts";
import { boundTo } from "./access-token.ts";
import type { TokenAnswer } from "./refresh-token.ts";
import { grantedScope, toolScopesIn } from "../scope.ts";
import type { TokenDeps, TokenRequest } from "./token-request.ts";

export async function grantToClient(deps: TokenDeps, request: TokenRequest): Promise<StepResult<TokenAnswer>> {
  const { client, form, issuer, now, snapshot } = request;

  // "The client credentials grant type MUST only be used by confidential clients" (OAuth 2.1 §4.2).
  if (client.isPublic || client.accountId === undefined)
    return refuse("unauthorized_client", "The client is not registered for this grant type");

  // The account must still exist.
  const id = client.accountId;
  const account = await createRecords(deps.store).serviceAccounts.get(id);
  if (!account || deps.session.revocations.isRevoked([`service-account:${id}`]))
    return refuse("invalid_grant", "The service account of this client ended", "service account ended");

  const block = deps.session.blocks?.find({ user: serviceAccountUser(account.value) });
  if (block) return refuseBlocked(block);

  // RFC 8707 §2: unknown targets are rejected; a missing one has a default.
  const audience = findAudience(issuer, form.get("resource"));
  if (audience === undefined) return refuse("invalid_target", "resource must be an MCP server of this issuer");

  const scope = grantedScope(form.get("scope"), routesOfAudience(issuer, audience));
  const accessExpiresAt = Math.min(now + snapshot.settings.lifetimes.accessToken, account.expiresAt ?? Infinity);
  const accessToken = mintServiceAccountToken(
    deps.session.externalTokens,
    { id, record: account.value },
    audience,
    accessExpiresAt,
    { clientId: client.id, ...toolScopesIn(scope), ...boundTo(request) },
  );
  deps.log.info({ client: client.id, account: account.value.name, audience }, "token issued to service account");
  return pass({ accessToken, accessExpiresAt, audience, scope, ...boundTo(request) });
}
