/** Settings of sign-in, compiled for requests. */
import type { ClientKey } from "../../settings/client-key.ts";

export interface IdpSettings {
  /** Its part of its users' IDs (shared/user-id.ts); absent: the default provider, `idp_provider_url`. */
  readonly issuerName?: string;
  /** Text by which users choose it. */
  readonly label: string;
  readonly providerUrl: string;
  readonly clientId: string;
  /** Absent = public client. */
  readonly clientSecret: string | undefined;
  /** For `private_key_jwt`, instead of a secret. */
  readonly clientKey?: ClientKey | undefined;
  /** `kid` of its signatures. */
  readonly clientKeyId?: string | undefined;
  /** Client authentication with the secret; undefined = as in the provider's metadata. */
  readonly clientAuth?: ClientAuth | undefined;
  /** Audience of client assertions: the token endpoint instead of the issuer. */
  readonly provesToEndpoint?: boolean;
  /** Pushes authorization requests, whatever the metadata states (RFC 9126). */
  readonly pushesRequests?: boolean;
  /**
   * Configured scopes; undefined = the default ones, adapted to the provider's metadata
   * (identity/provider/idp-scopes.ts).
   */
  readonly scopes: readonly string[] | undefined;
  /** Claim that contains the groups. */
  readonly groupsClaim: string;
  /** Ignores an email address that the provider does not report as verified. */
  readonly requireEmailVerified: boolean;
  /** Accepted domains of email addresses; undefined: all. */
  readonly emailDomains: ReadonlySet<string> | undefined;
  readonly requestParams: ReadonlyMap<string, string>;
  /** Claims and their values that are required to sign in. */
  readonly requiredClaims: ReadonlyMap<string, string>;
  /** Source for groups that the provider omits; undefined: such groups are unknown. */
  readonly groupsResolver: EntraSettings | undefined;
}

export type ClientAuth = "client_secret_basic" | "client_secret_post" | "client_secret_jwt";

/** Microsoft Graph, with a separate application. */
export interface EntraSettings {
  /** GUIDs, in lower case. */
  readonly tenant: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly securityEnabledOnly: boolean;
  /** Origins: "https://graph.microsoft.com". */
  readonly loginUrl: string;
  readonly graphUrl: string;
}

export interface CookieSettings {
  /** Without the `__Host-` prefix, which is added if the listener is secure. */
  readonly name: string;
  /** Upper bound of a browser session, seconds. */
  readonly expirationSeconds: number;
  readonly sameSite: "lax" | "strict" | "none";
}
