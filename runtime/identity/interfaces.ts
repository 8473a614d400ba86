/** Interfaces of identity for the rest of the gateway. The implementations are in the other files of this folder. */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { Exchange } from "../http/exchange.ts";
import type { ExternalTokenClaims, TokenAudience } from "./external-token.ts";
import type { IdJagAnswer, IdJagRequest } from "./provider/id-jag-request.ts";
import type { AuthResult, Principal, User } from "./principal.ts";

/** The provider's tokens of a user, for `${gateway.access_token}` and `${gateway.id_token}`. "" if there is none. */
export interface ProviderTokens {
  readonly accessToken: string;
  readonly idToken: string;
}

/** Credentials of a request → principal. Synchronous on a warm cache, a promise if the store must be read. */
export interface Authenticator {
  /**
   * Authenticates an External Token.
   * @param audience a resource URL of an MCP route, or "<origin>/.gateway/mcp/routes"
   * @param opened the result of `ExternalTokens.open` for this token, so that it is not opened again
   */
  bearer(token: string, audience: TokenAudience, opened?: ExternalTokenClaims): AuthResult | Promise<AuthResult>;
  /** The session cookie of this host. `missing` if there is none. */
  cookie(exchange: Exchange): AuthResult | Promise<AuthResult>;
  /** Like `cookie`, but bypasses the cache. For responses that depend on a step just completed. */
  cookieAgain(exchange: Exchange): Promise<AuthResult>;
  providerTokens(principal: Principal): Promise<ProviderTokens>;
}

/** Credentials of programs on ordinary routes. Both return undefined if the request has none that is meant for the gateway. */
export interface ProgramCredentials {
  /** `Authorization: Bearer` in the provider's format (`bearer_token_format`), before any cookie. */
  providerBearer(exchange: Exchange, route: CompiledRoute): AuthResult | Promise<AuthResult> | undefined;
  /** An External Token of a service account or a programmatic login, for requests without a valid cookie. */
  ownBearer(exchange: Exchange): AuthResult | Promise<AuthResult> | undefined;
}

/** The user of a browser, on a host with our pages. */
export interface BrowserSessions {
  principal(exchange: Exchange, snapshot: Snapshot): Promise<AuthResult>;
  /** Responds to the request: redirects a navigation to sign-in and back to the same URL, rejects all else. */
  requireSignIn(exchange: Exchange, snapshot: Snapshot, at?: SignInAt): Promise<void>;
  /**
   * Returns true if the user's provider tokens end with the provider's session, and longer-lived ones can be requested
   * (`isOffline`).
   */
  lacksOffline?(userId: string): Promise<boolean>;
}

/**
 * Time of the session's last authentication, as the provider reports it, or else the start of the session.
 *
 * @returns epoch seconds; 0 without a live session
 */
export type LastSignIn = (principal: Principal) => Promise<number>;

/** Browser sign-in, D13. */
export interface SignIn {
  /** Redirects an unauthenticated GET/HEAD navigation to sign-in. Other requests get 401. */
  redirect(exchange: Exchange, snapshot: Snapshot, at?: SignInAt): Promise<void>;
}

/** Options of a sign-in. */
export interface SignInAt {
  /** Names of acceptable providers; undefined: any. */
  readonly providers?: readonly string[] | undefined;
  /** The user is signed in with another provider, and stays so until the new sign-in completes. */
  readonly isSignedIn?: boolean;
  /** The user is signed in and must authenticate again. The session continues. */
  readonly isFresh?: boolean;
  /** The user is signed in, and tokens that outlive the provider's session are requested. The user sees nothing of it. */
  readonly isOffline?: boolean;
}

/** Proof of a device for a browser's session. */
export interface DeviceProofs {
  /**
   * URL where the user proves or registers a device, and returns to the URL of this request.
   *
   * @param type the required kind of device; absent: any
   * @returns undefined if the host is not one of ours
   */
  addressOf(exchange: Exchange, snapshot: Snapshot, principal: Principal, type?: "enclave_only"): string | undefined;
}

/** Signed identity header, D14. */
export interface Assertions {
  /**
   * Returns the JWT for this principal at this route. Synchronous, cached for up to 60 s.
   *
   * @param wildcardHost requested host of a wildcard route, without port
   */
  sign(principal: Principal, route: CompiledRoute, wildcardHost?: string): string;
}

/** External Tokens for back ends of MCP client routes, valid for at least 4 minutes. Synchronous. */
export interface ApplicationTokens {
  mint(principal: Principal, route: CompiledRoute): string;
}

/** Revocations, visible in every process within 2 s. */
export interface Revocations {
  /** True if any of the keys was revoked. Synchronous. */
  isRevoked(keys: readonly string[]): boolean;
  /** Increases with every known revocation. Caches compare it. */
  readonly epoch: number;
  /**
   * Revokes everything with this key, including its record. Effective in this process immediately; resolves once it is
   * stored.
   *
   * @throws GatewayError `store.unavailable` if it is not stored: report a failure. It is retried in the background
   */
  revoke(key: string): Promise<void>;
  /**
   * Announces changed facts about users, such as their groups, without revoking anything. The next request reads them
   * again.
   * @param tags revocation keys of the users @throws GatewayError `store.unavailable`: this process knows, the others
   *   read again within 20 s
   */
  change(tags: readonly string[]): Promise<void>;
  /** Returns true if one of these keys has changed since this epoch. */
  hasChanged(keys: readonly string[], since: number): boolean;
  /** Revokes in this process only, for a key that no other process knows. */
  endHere(key: string): void;
  /** Revoked here, but not stored yet. */
  isPending(key: string): boolean;
  /** @param listener called with each revoked key, and with `CHANGED` plus the tag for changed facts */
  subscribe(listener: (key: string) => void): () => void;
}

/** Prefix of keys that announce a change without a revocation. */
export const CHANGED = "changed:";

/** Users as the provider describes them. One refresh per user at a time, across replicas. */
export interface Identities {
  find(userId: string): Promise<User | undefined>;
  /**
   * Checks with the provider, by the stored refresh token, that the user is still valid, and stores newer claims and
   * tokens.
   * refused: no valid refresh token, or the account is disabled. unavailable: provider or store is unreachable, and
   * nothing was consumed.
   */
  refresh(
    userId: string,
  ): Promise<
    { readonly ok: true; readonly user: User } | { readonly ok: false; readonly reason: "refused" | "unavailable" }
  >;
}

/** Identity assertion authorization grants (ID-JAGs) for signed-in users, from their identity provider. */
export interface IdJags {
  request(userId: string, request: IdJagRequest): Promise<IdJagAnswer>;
  /** Number of sign-ins of the user, for retries after a new sign-in. 0: no ID token is known. */
  signIns(userId: string): Promise<number>;
}

/** CSRF tokens of our own forms, bound to the browser session. */
export interface Csrf {
  token(principal: Principal, form: string): string;
  verify(principal: Principal, form: string, token: string): boolean;
}
