/** What an error of the identity provider means: did it say no, or could it not be asked? */
import * as openid from "openid-client";

import { GatewayError, errorText } from "../../shared/errors.ts";

/** A code or an answer that is not good, as opposed to a provider that is away or a client that is set up wrongly. */
export function isRefusedCode(status: number, error: string): boolean {
  return status === 0 || error === "invalid_grant" || error === "access_denied";
}

/** The library's word for an answer about somebody else than the ID token (OpenID Connect Core §5.3.2): asking again helps nobody. */
export const OTHER_SUBJECT = "OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED";

/** The errors that speak of this user's token. Others, `invalid_client` among them, are about us: nobody is signed out for them. */
export function isRefusedRefresh(_status: number, error: string): boolean {
  return ["invalid_grant", "access_denied", "login_required", "interaction_required", "consent_required"].includes(
    error,
  );
}

/**
 * The error to throw on, with a text that holds nothing of the request: causes of the library may carry tokens.
 *
 * @param refuses checks a protocol error by status (0 for an answer through the browser, or one that fails its checks) and error code
 */
export function providerError(
  error: unknown,
  action: string,
  refuses: (status: number, code: string) => boolean,
): GatewayError {
  if (error instanceof openid.ResponseBodyError) {
    const code = refuses(error.status, error.error) ? "idp.refused" : "idp.unavailable";
    return new GatewayError(
      code,
      `Cannot ${action}: the provider answered ${error.status} ${JSON.stringify(error.error)}`,
    );
  }
  if (error instanceof openid.AuthorizationResponseError) {
    return new GatewayError(
      "idp.refused",
      `Cannot ${action}: the provider sent the browser back with ${JSON.stringify(error.error)}`,
    );
  }
  if (error instanceof openid.WWWAuthenticateChallengeError) {
    const code = refuses(error.status, "") ? "idp.refused" : "idp.unavailable";
    return new GatewayError(code, `Cannot ${action}: the provider answered ${error.status}`);
  }
  if (error instanceof openid.ClientError && isBadAnswer(error.code)) {
    // An answer that fails its checks is a refusal only where a person can try again; see isRefusedCode.
    const code = refuses(0, error.code ?? "") ? "idp.refused" : "idp.unavailable";
    return new GatewayError(
      code,
      `Cannot ${action}: ${error.message}${error.code === undefined ? "" : ` (${error.code})`}`,
    );
  }
  return new GatewayError("idp.unavailable", `Cannot ${action}: ${detailOf(error)}`);
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

/** The library wraps what our own fetch threw, and then says only that something went wrong. */
export function detailOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof GatewayError ? cause.message : errorText(error);
}
