/** What the rest of the gateway asks of session/: the interfaces; their implementations are in the files beside. */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { Exchange } from "../http/exchange.ts";
import type { ExternalTokenClaims, TokenAudience } from "./external-token.ts";
import type { IdJagAnswer, WantedIdJag } from "./provider/id-jag-request.ts";
import type { AuthResult, Principal, User } from "./principal.ts";

/** The provider's tokens of a user, for `${gateway.access_token}` and `${gateway.id_token}`. "" when there is none. */
export interface ProviderTokens {
  readonly accessToken: string;
  readonly idToken: string;
}

/** Credentials of a request → principal. Synchronous on a warm cache, a promise when the store must be asked. */
export interface Authenticator {
  /**
   * An External Token.
   * @param audience a resource URL of an MCP route, or "<origin>/.gateway/mcp/routes"
   * @param opened what `ExternalTokens.open` just said of this very token, so that it is not opened again
   */
  bearer(token: string, audience: TokenAudience, opened?: ExternalTokenClaims): AuthResult | Promise<AuthResult>;
  /** The session cookie of this host. `missing` when there is none. */
  cookie(exchange: Exchange): AuthResult | Promise<AuthResult>;
  /** The same from the records as they are now, whatever is remembered: for answers that hang on a step just done. */
  cookieAgain(exchange: Exchange): Promise<AuthResult>;
  providerTokens(principal: Principal): Promise<ProviderTokens>;
}

/** Credentials of programs on ordinary routes. Both answer undefined where the request carries none that is meant for us. */
export interface ProgramCredentials {
  /** Where `bearer_token_format` is the provider's: `Authorization: Bearer`, before any cookie. */
  providerBearer(exchange: Exchange, route: CompiledRoute): AuthResult | Promise<AuthResult> | undefined;
  /** An External Token of a service account or of a programmatic login, for requests without a good cookie. */
  ownBearer(exchange: Exchange): AuthResult | Promise<AuthResult> | undefined;
}

/** The person in front of the browser, on a host that shows our pages. */
export interface BrowserSessions {
  principal(exchange: Exchange, snapshot: Snapshot): Promise<AuthResult>;
  /** Answers the request: sends a navigation to the sign-in and back to the same address, refuses anything else. */
  requireSignIn(exchange: Exchange, snapshot: Snapshot, at?: SignInAt): Promise<void>;
  /** Whether the user's tokens of the provider end with its session, and others can be asked for (`isOffline`). */
  lacksOffline?(userId: string): Promise<boolean>;
}

/**
 * When the person of a session last showed who they are: as the provider says, or else when the session began.
 *
 * @returns epoch seconds; 0 for a session that has ended, and for what is none
 */
export type LastSignIn = (principal: Principal) => Promise<number>;

/** Browser sign-in, D13. */
export interface SignIn {
  /** Answers a GET/HEAD navigation of somebody not signed in with the redirect to the sign-in; anything else with 401. */
  redirect(exchange: Exchange, snapshot: Snapshot, at?: SignInAt): Promise<void>;
}

/** Where somebody should sign in. */
export interface SignInAt {
  /** Names of the providers that help; undefined: any. */
  readonly providers?: readonly string[] | undefined;
  /** They are signed in elsewhere, and stay so until they have come back. */
  readonly isSignedIn?: boolean;
  /** They are signed in, and show anew who they are: their session goes on. */
  readonly isFresh?: boolean;
  /** They are signed in, and tokens that outlive the provider's session are asked for: they see nothing of it. */
  readonly isOffline?: boolean;
}

/** Proof of a device to the session of a browser. */
export interface DeviceProofs {
  /**
   * Where the person proves or registers a device, and comes back from to the address of this request.
   *
   * @param type the only kind of device that helps; absent: any
   * @returns undefined for a host that is none of ours
   */
  addressOf(exchange: Exchange, snapshot: Snapshot, principal: Principal, type?: "enclave_only"): string | undefined;
}

/** Signed identity header, D14. */
export interface Assertions {
  /**
   * The JWT for this principal at this route; synchronous, cached up to 60 s.
   *
   * @param wildcardHost of a wildcard route the host that was asked for, without port
   */
  sign(principal: Principal, route: CompiledRoute, wildcardHost?: string): string;
}

/** External Tokens for MCP client routes' backends. Never has less than 4 minutes left. Synchronous. */
export interface ApplicationTokens {
  mint(principal: Principal, route: CompiledRoute): string;
}

/** Revocation as every process sees it, within 2 s. */
export interface Revocations {
  /** True when any of the keys was revoked. Synchronous. */
  isRevoked(keys: readonly string[]): boolean;
  /** Grows with every revocation learnt; caches compare it. */
  readonly epoch: number;
  /**
   * Ends what the key stands for, its record included. Holds in this process at once; resolves when the store has it.
   *
   * @throws GatewayError `store.unavailable` when the store did not take it: to be told as a failure, and it is tried again
   */
  revoke(key: string): Promise<void>;
  /**
   * What is known of users has changed, such as their groups, and nothing of theirs ends. The next request reads it again.
   * @param tags among their revocation keys @throws GatewayError `store.unavailable`: this process knows, the others read within 20 s
   */
  change(tags: readonly string[]): Promise<void>;
  /** Whether one of these keys has changed since this epoch. */
  hasChanged(keys: readonly string[], since: number): boolean;
  /** In this process alone: for a key that no other one knows. */
  endHere(key: string): void;
  /** Revoked here, and the store has not taken it yet. */
  isOwed(key: string): boolean;
  /** @param listener is called with each key, and with `CHANGED` and the tag of what has changed */
  subscribe(listener: (key: string) => void): () => void;
}

/** Begins what listeners of revocations are called with where nothing ends. */
export const CHANGED = "changed:";

/** Users as the provider has them; refreshes single-flight across replicas. */
export interface Identities {
  find(userId: string): Promise<User | undefined>;
  /**
   * Asks the provider with the stored refresh token whether the user is still good, and stores newer claims and tokens.
   * refused: no or dead refresh token, or account disabled. unavailable: provider or store cannot be reached; nothing was consumed.
   */
  refresh(
    userId: string,
  ): Promise<
    { readonly ok: true; readonly user: User } | { readonly ok: false; readonly reason: "refused" | "unavailable" }
  >;
}

/** Identity assertion authorization grants of users who signed in here, from their identity provider. */
export interface IdJags {
  request(userId: string, wanted: WantedIdJag): Promise<IdJagAnswer>;
  /** How often the user signed in: what a sign-in is needed for is tried again after one. 0: no ID token is known. */
  signIns(userId: string): Promise<number>;
}

/** Anti-CSRF tokens of our own forms, bound to the browser session. */
export interface Csrf {
  token(principal: Principal, form: string): string;
  verify(principal: Principal, form: string, token: string): boolean;
}
