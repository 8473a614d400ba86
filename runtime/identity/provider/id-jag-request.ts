/**
 * Requests an identity assertion authorization grant (ID-JAG) from the identity provider in exchange for a user's ID
 * token.
 *
 * Untrusted until checked: the response. Promises: a returned token was issued as an ID-JAG for this authorization
 * server and resource, and has not expired. No returned text contains a token.
 *
 * @see draft-ietf-oauth-identity-assertion-authz-grant §4.3; MCP enterprise-managed authorization §4
 */
import * as jose from "jose";
import * as openid from "openid-client";

import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { GatewayError } from "../../shared/errors.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { forGrants, type Discover } from "./idp-discovery.ts";
import { isPassingError, oauthErrorText } from "../../shared/http/oauth-error.ts";
import { detailOf } from "./idp-errors.ts";

/** Target of the requested grant. */
export interface IdJagRequest {
  /** Issuer identifier of the authorization server that receives it. */
  readonly audience: string;
  readonly resource: string;
  /** Empty: the provider decides. */
  readonly scopes: readonly string[];
  /** Our client id at that server. */
  readonly clientId: string;
}

export type IdJagAnswer =
  | { readonly ok: true; readonly idJag: string }
  /**
   * denied: the user has no permission. sign-in: may succeed after a new sign-in. unavailable: the provider is
   * unreachable. misconfigured: the response concerns the gateway, or is not what was requested. `detail` is for the
   * log.
   */
  | {
      readonly ok: false;
      readonly reason: "denied" | "sign-in" | "unavailable" | "misconfigured";
      readonly detail: string;
    };

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";
/** Token endpoints accept forms of about 16 KiB. */
const MAX_CHARACTERS = 16_384;

/** @see RFC 6749 §5.2, OpenID Connect Core §3.1.2.6, draft §4.3.4 */
const DENIED = new Set(["invalid_grant", "access_denied"]);
const SIGN_IN = new Set(["insufficient_user_authentication", "login_required", "interaction_required"]);

export async function requestIdJag(
  deps: { readonly discover: Discover; readonly clock: Clock },
  settings: IdpSettings,
  idToken: string,
  request: IdJagRequest,
): Promise<IdJagAnswer> {
  let answer: openid.TokenEndpointResponse;
  try {
    const configuration = await deps.discover(settings);
    answer = await openid.genericGrantRequest(forGrants(configuration, settings), TOKEN_EXCHANGE, {
      requested_token_type: ID_JAG,
      subject_token: idToken,
      subject_token_type: ID_TOKEN,
      audience: request.audience,
      resource: request.resource,
      ...(request.scopes.length === 0 ? {} : { scope: request.scopes.join(" ") }),
    });
  } catch (error) {
    return failure(error, [idToken, settings.clientSecret]);
  }
  const problem = problemOf(answer, request, epochSeconds(deps.clock));
  if (problem !== undefined) return refuse("misconfigured", `the provider's token ${problem}`);
  return { ok: true, idJag: answer.access_token };
}

/** @returns the problem; undefined: the token may be presented */
function problemOf(answer: openid.TokenEndpointResponse, request: IdJagRequest, now: number): string | undefined {
  // "N_A" means that it is not an access token. The library lower-cases it.
  if (answer["issued_token_type"] !== ID_JAG) return "is not issued as an ID-JAG";
  if (answer.token_type.toLowerCase() !== "n_a") return "is issued as an access token";
  const { access_token: text } = answer;
  if (text.length > MAX_CHARACTERS) return "is too long";
  let claims: jose.JWTPayload;
  let type: string | undefined;
  try {
    claims = jose.decodeJwt(text);
    type = jose.decodeProtectedHeader(text).typ;
  } catch {
    return "is not a JWT";
  }
  if (type?.toLowerCase() !== "oauth-id-jag+jwt") return "has another type of JWT";
  // Any server in `aud` could use the token, so it must name exactly this one. That server verifies the signature.
  const { aud, exp, resource } = claims;
  const [audience, ...more] = typeof aud === "string" ? [aud] : (aud ?? []);
  if (audience !== request.audience || more.length > 0) return "is for another audience";
  if (exp === undefined || exp <= now) return "has ended";
  if (claims["client_id"] !== request.clientId) return "is for another client";
  // Without the claim, the request's own parameter binds the token.
  const resources: readonly unknown[] = Array.isArray(resource) ? resource : [resource];
  if (resource !== undefined && !resources.includes(request.resource)) return "is for another resource";
  return undefined;
}

/** @param sent secrets in the request */
function failure(error: unknown, sent: readonly (string | undefined)[]): IdJagAnswer {
  if (error instanceof openid.ResponseBodyError) {
    const detail = `the provider answered ${error.status} ${oauthErrorText(error, sent)}`;
    if (isPassingError(error.error, error.status)) return refuse("unavailable", detail);
    if (DENIED.has(error.error)) return refuse("denied", detail);
    return refuse(SIGN_IN.has(error.error) ? "sign-in" : "misconfigured", detail);
  }
  if (error instanceof openid.WWWAuthenticateChallengeError)
    return refuse("misconfigured", `the provider answered ${error.status}`);
  if (error instanceof GatewayError) return refuse("unavailable", error.message);
  // The library's own message, which never quotes the response.
  const code = error instanceof openid.ClientError ? error.code : undefined;
  const isAnswer = code !== undefined && BAD_ANSWER.has(code);
  return refuse(isAnswer ? "misconfigured" : "unavailable", `the provider: ${detailOf(error)}`);
}

const BAD_ANSWER = new Set(["OAUTH_INVALID_RESPONSE", "OAUTH_UNSUPPORTED_OPERATION", "OAUTH_PARSE_ERROR"]);

function refuse(reason: Extract<IdJagAnswer, { ok: false }>["reason"], detail: string): IdJagAnswer {
  return { ok: false, reason, detail };
}
