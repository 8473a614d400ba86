/** Settings of sign-in as requests read them. */
import type { ClientKey } from "../../settings/client-key.ts";

export interface IdpSettings {
  /** What its users' ids say of it (shared/user-id.ts); absent: the first provider, `idp_provider_url`. */
  readonly issuerName?: string;
  /** What people choose it by. */
  readonly label: string;
  readonly providerUrl: string;
  readonly clientId: string;
  /** Absent = public client. */
  readonly clientSecret: string | undefined;
  /** For `private_key_jwt`, instead of a secret. */
  readonly clientKey?: ClientKey | undefined;
  /** `kid` of its signatures. */
  readonly clientKeyId?: string | undefined;
  /** How the secret proves the client; undefined = as the provider's metadata has it. */
  readonly clientAuth?: ClientAuth | undefined;
  /** The audience of what the key or secret signs is the token endpoint, not the issuer. */
  readonly provesToEndpoint?: boolean;
  /** Authorization requests are pushed, whatever the metadata say (RFC 9126). */
  readonly pushesRequests?: boolean;
  /** As they are configured; undefined = the usual ones, of which the provider's metadata decides (identity/provider/idp-scopes.ts). */
  readonly scopes: readonly string[] | undefined;
  /** Claim that carries the groups. */
  readonly groupsClaim: string;
  /** An address that the provider does not say is verified counts as none. */
  readonly requireEmailVerified: boolean;
  /** Domains of the addresses that count; undefined: all. */
  readonly emailDomains: ReadonlySet<string> | undefined;
  readonly requestParams: ReadonlyMap<string, string>;
  /** Claims, with their text, without which nobody signs in. */
  readonly requiredClaims: ReadonlyMap<string, string>;
  /** Who is asked for groups that the provider leaves out; undefined: nobody, they are unknown. */
  readonly groupsResolver: EntraSettings | undefined;
}

export type ClientAuth = "client_secret_basic" | "client_secret_post" | "client_secret_jwt";

/** Microsoft Graph, as an application of its own. */
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
  /** Without the `__Host-` prefix, which is added whenever the listener is secure. */
  readonly name: string;
  /** Upper bound of a browser session, seconds. */
  readonly expirationSeconds: number;
  readonly sameSite: "lax" | "strict" | "none";
}
