/** Classifies errors of the identity provider: rejected, unavailable or misconfigured. */
import * as openid from "openid-client";

import type { IdpSettings } from "../../features/sign-in/compiled.ts";
import { GatewayError, errorText } from "../../shared/errors.ts";
import { isRecord } from "../../shared/is-record.ts";
import {
  isPassingError,
  oauthErrorText,
  oauthRefusalText,
  quoteAnswer,
  type OAuthErrorBody,
  type OAuthSettings,
} from "../../shared/http/oauth-error.ts";

/** Returns true for an invalid code or response, as opposed to an unavailable provider or a misconfigured client. */
export function isRefusedCode(status: number, error: string): boolean {
  return status === 0 || error === "invalid_grant" || error === "access_denied";
}

/**
 * The library's error code for a userinfo response about another user than the ID token (OpenID Connect Core §5.3.2).
 * Retrying is useless.
 */
export const OTHER_SUBJECT = "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED";

/** Errors about this user's token. */
export function isRefusedRefresh(_status: number, error: string): boolean {
  return ["invalid_grant", "login_required", "interaction_required", "consent_required"].includes(error);
}

/** Errors about the gateway. They sign no user out. */
const ABOUT_GATEWAY = new Set(["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"]);

/**
 * Other errors that are not temporary: mostly about the user (Dex: 400 `invalid_request` for a revoked token), see
 * provider-verdicts.ts.
 */
export function isDeniedRefresh(status: number, error: string): boolean {
  return status >= 400 && !isPassingError(error, status) && !ABOUT_GATEWAY.has(error);
}

/**
 * Errors of the authorization endpoint that only a change of settings, here or at the provider, can fix (RFC 6749
 * §4.1.2.1, RFC 9101, RFC 9126).
 */
const ABOUT_SETTINGS = new Set([
  "invalid_request",
  "unauthorized_client",
  "unsupported_response_type",
  "invalid_scope",
  "invalid_target",
  "request_not_supported",
  "request_uri_not_supported",
  "registration_not_supported",
]);

/** Context of a failed request. */
export interface FailedRequest {
  readonly settings: IdpSettings;
  /** "finish the sign-in" */
  readonly action: string;
  /** Secrets in the request, which some providers quote. */
  readonly sent?: readonly (string | undefined)[];
  /** Redirect URI of the sign-in. */
  readonly redirectUri?: string;
  /** Classifies a protocol error as `idp.refused`, by status (0: the response failed its checks) and error code. */
  readonly refuses: (status: number, code: string) => boolean;
  /** Likewise for `idp.denied`, which may also be a fault of the provider. */
  readonly denies?: (status: number, code: string) => boolean;
}

/**
 * Returns the error to throw. Its text contains nothing of the request: the library's causes may contain tokens.
 *
 * Code: `idp.refused`, `idp.denied`, `idp.unavailable`, or `idp.misconfigured` for a problem of the gateway that
 * neither user nor time can fix.
 */
export function providerError(error: unknown, failed: FailedRequest): GatewayError {
  if (error instanceof GatewayError && error.code.startsWith("idp.")) return error;
  const { action, refuses, denies } = failed;
  if (error instanceof openid.ResponseBodyError) {
    const code = refuses(error.status, error.error)
      ? "idp.refused"
      : denies?.(error.status, error.error) === true
        ? "idp.denied"
        : isPassingError(error.error, error.status)
          ? "idp.unavailable"
          : "idp.misconfigured";
    return new GatewayError(code, `Cannot ${action}: the provider answered ${error.status} ${saidText(error, failed)}`);
  }
  if (error instanceof openid.AuthorizationResponseError) {
    const code = ABOUT_SETTINGS.has(error.error)
      ? "idp.misconfigured"
      : isPassingError(error.error)
        ? "idp.unavailable"
        : "idp.refused";
    return new GatewayError(
      code,
      `Cannot ${action}: the provider sent the browser back with ${saidText(error, failed)}`,
    );
  }
  if (error instanceof openid.WWWAuthenticateChallengeError) {
    const code = refuses(error.status, "") ? "idp.refused" : "idp.unavailable";
    return new GatewayError(
      code,
      `Cannot ${action}: the provider answered ${error.status}${challengeText(error, failed)}`,
    );
  }
  if (error instanceof openid.ClientError && isBadAnswer(error.code)) {
    // A response that fails its checks is a rejection only if a user can try again; see isRefusedCode.
    const code = refuses(0, error.code ?? "") ? "idp.refused" : "idp.unavailable";
    return new GatewayError(
      code,
      `Cannot ${action}: ${error.message}${error.code === undefined ? "" : ` (${error.code})`}`,
    );
  }
  return new GatewayError("idp.unavailable", `Cannot ${action}: ${detailOf(error)}`);
}

/** The provider's error, and the settings to check. */
function saidText(body: OAuthErrorBody, { settings, sent = [], redirectUri }: FailedRequest): string {
  return oauthRefusalText(body, settingsOf(settings, redirectUri), [...sent, settings.clientSecret]);
}

/** Error in the challenge of a protected resource (RFC 6750 §3). */
function challengeText({ cause }: openid.WWWAuthenticateChallengeError, { sent }: FailedRequest): string {
  const { error, error_description } = cause.find(({ parameters }) => "error" in parameters)?.parameters ?? {};
  return error === undefined ? "" : ` ${oauthErrorText({ error, error_description }, sent)}`;
}

interface ProviderSettings extends OAuthSettings {
  /** Setting for the `aud` of the client's proof. */
  readonly audience: string;
}

/** Names of this provider's settings. */
export function settingsOf({ issuerName, clientKey }: IdpSettings, redirectUri?: string): ProviderSettings {
  const prefix = issuerName === undefined ? "idp_" : `identity_issuers.${issuerName}.sign_in.`;
  const audience = `${prefix}client_proof_audience`;
  return {
    client: clientKey
      ? `${prefix}client_id, ${prefix}client_key, ${prefix}client_key_id and ${audience}`
      : `${prefix}client_id, ${prefix}client_secret and ${prefix}client_auth`,
    method: clientKey ? `${prefix}client_secret instead of ${prefix}client_key` : `${prefix}client_auth`,
    audience,
    scopes: `${prefix}scopes`,
    push: `${prefix}push_requests`,
    parameters: `${prefix}request_params`,
    redirectUri: redirectUri ?? "the redirect URI of the gateway",
  };
}

function isBadAnswer(code: string | undefined): boolean {
  return (
    code !== undefined &&
    code !== "OAUTH_TIMEOUT" &&
    code !== "OAUTH_ABORT" &&
    code !== "OAUTH_RESPONSE_IS_NOT_CONFORM" &&
    code !== "OAUTH_RESPONSE_IS_NOT_JSON"
  );
}

/** Returns the message of an error from our own fetch, which the library wraps in a generic one. */
export function detailOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  if (
    error instanceof openid.ClientError &&
    error.code === OTHER_ISSUER &&
    isRecord(cause) &&
    isRecord(cause["body"])
  ) {
    const { issuer } = cause["body"];
    if (typeof issuer === "string") return `the provider's metadata have the issuer ${quoteAnswer(issuer, [])}`;
  }
  if (cause instanceof Response) return `${errorText(error)} (status ${cause.status})`;
  return cause instanceof GatewayError ? cause.message : errorText(error);
}

/**
 * Returns true if the metadata cannot be read because the URL is wrong: not found, or another provider's.
 * @param error error of the library
 */
export function isWrongAddress(error: unknown): boolean {
  if (!(error instanceof openid.ClientError)) return false;
  const { cause, code } = error;
  if (cause instanceof Response) return cause.status >= 400 && !isPassingError(undefined, cause.status);
  return code === OTHER_ISSUER;
}

/** The library's error code for a document that names another issuer (OpenID Connect Discovery §4.3). */
const OTHER_ISSUER = "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED";
