/**
 * What the authorization server keeps, under which keys, for how long.
 *
 * Promise: no code, token or client secret is stored in a form that could be used; codes, refresh tokens and secrets are
 * SHA-256 hashes of 256 random bits, the replay answer is sealed with a key that only the old token gives.
 */
import type { JSONWebKeySet } from "jose";

import { userTag } from "../../identity/identity-records.ts";
import type { AssertedBy } from "../../identity/principal.ts";
import type { UserId } from "../../shared/user-id.ts";
import { firstFormats } from "../../store/formats.ts";
import type { PutOptions, StoredRecord, Store } from "../../store/store.ts";

/** How a client proves itself at the token endpoint (RFC 7591 §2). */
export type AuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** A client's metadata as we registered it: wire spelling, normalised (client-metadata.ts). */
export interface ClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: AuthMethod;
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly scope: string;
  readonly application_type?: "native" | "web";
  readonly client_name?: string;
  readonly client_uri?: string;
  readonly logo_uri?: string;
  readonly tos_uri?: string;
  readonly policy_uri?: string;
  readonly contacts?: readonly string[];
  readonly software_id?: string;
  readonly software_version?: string;
  /** Public keys for `private_key_jwt`; never both. */
  readonly jwks?: JSONWebKeySet;
  readonly jwks_uri?: string;
}

/**
 * `client:<id>`: one registered client. A dynamic registration that nobody approved ends after a day, else a week after its last
 * grant could end; one that an administrator made ends only by being revoked.
 */
export interface ClientRecord {
  readonly schema: 1;
  /** The issuer it registered with; it is nobody's client elsewhere. */
  readonly issuer: string;
  readonly metadata: ClientMetadata;
  /** Only of confidential clients. */
  readonly secretHash?: string;
  /** Epoch seconds. */
  readonly issuedAt: number;
  /** Epoch seconds of the last approval or token; absent while it never was used. */
  readonly usedAt?: number;
  /** An administrator made it, and vouches for it. */
  readonly preRegistered?: true;
  /** The service account that it may get tokens for by itself (client credentials). */
  readonly accountId?: string;
}

/**
 * A validated authorization request that waits for the user, for ten minutes: sealed in an address (request-state.ts), or
 * in a record when it is too long for that.
 */
export interface AuthorizationRequestRecord {
  readonly schema: 1;
  readonly issuer: string;
  readonly clientId: string;
  readonly metadataHash: string;
  /** Where the answer goes. */
  readonly redirectUri: string;
  /** Whether the client named it, in which case it must repeat it at the token endpoint. */
  readonly redirectUriSent: boolean;
  readonly state?: string;
  /** S256. */
  readonly codeChallenge: string;
  /** A route's resource, or the issuer's origin. */
  readonly audience: string;
  readonly scope: string;
  /** `prompt=consent`: ask again even when an earlier approval is remembered. */
  readonly askAgain: boolean;
  /** Somebody approved and was sent to connect the upstream; when they come back they are not asked again. */
  readonly approvedBy?: { readonly userId: UserId; readonly sid: string };
}

/** `authz-request:<id>`: a request that is too long for an address. */
export interface StoredRequestRecord {
  readonly schema: 1;
  /** Absent in what earlier versions wrote: none of those is waited for. */
  readonly sealed?: string;
}

/** `authz-answer:<hash>`: a sealed authorization request that was answered; lives as long as its text could come back. */
export interface AnsweredRecord {
  readonly schema: 1;
}

/** `code:<hash>`: an authorization code. Good for `lifetimes.authorizationCode`, kept longer to notice a replay. */
export interface CodeRecord extends Omit<
  AuthorizationRequestRecord,
  "metadataHash" | "state" | "askAgain" | "approvedBy"
> {
  readonly userId: UserId;
  /** The grant that the exchange creates; chosen beforehand so that a replay knows what to end. */
  readonly grantId: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** End of the browser session that approved; the grant's session begins with it. */
  readonly sessionExpiresAt: number;
  readonly used: boolean;
  /** Epoch milliseconds. */
  readonly usedAtMs?: number;
  /** Set by programs of before 2026-11-23 that saw it a second time, and read by them. */
  readonly replayed: boolean;
}

/** `grant:<id>`: one user's authorization of one client, with its refresh family. Tags `grants`, `user:<id>`, `client:<id>`. */
export interface GrantRecord {
  readonly schema: 1;
  readonly issuer: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly userId: UserId;
  readonly audience: string;
  readonly scope: string;
  /** Epoch seconds. */
  readonly createdAt: number;
  /** Epoch seconds. Past it the session is re-created from the provider before new tokens are given. */
  readonly sessionExpiresAt: number;
  /** Epoch seconds; end whatever is refreshed, by `refresh_token_absolute_lifetime` as it was at the last token. */
  readonly endsAt?: number;
  /** A trusted issuer's assertion stood in the place of sign-in and consent; such a grant is never refreshed. */
  readonly assertedBy?: AssertedBy & { readonly jtiHash: string };
  /** Absent when the client may not refresh. */
  readonly refresh?: RefreshFamily;
}

/** The one refresh token in force and the few just rotated. */
export interface RefreshFamily {
  /** Number of the token in force. */
  readonly generation: number;
  readonly hash: string;
  /** Rotated within the replay window, oldest first. */
  readonly rotated: readonly RotatedToken[];
}

export interface RotatedToken {
  readonly generation: number;
  readonly hash: string;
  /** Epoch seconds by the store's clock. */
  readonly rotatedAt: number;
  /** The answer that was given, sealed with a key derived from the old token. */
  readonly answer: string;
}

/** `consent:<hash>`: a user's remembered approval. Tags `user:<id>`, `client:<id>`. */
export interface ConsentRecord {
  readonly schema: 1;
  readonly userId: UserId;
  readonly clientId: string;
  /** As the page called it; for the page where it can be withdrawn. */
  readonly clientName?: string;
  readonly audience: string;
  readonly metadataHash: string;
  readonly scope: string;
  /** That this program wrote the scope; absent in what earlier versions wrote, which approves nothing. */
  readonly proof?: string;
  /** Epoch seconds. */
  readonly grantedAt: number;
}

/** The schema that each kind is written in, and how older ones are brought up to date; see store/formats.ts. */
export const ISSUER_FORMATS = firstFormats([
  "client",
  "authz-request",
  "authz-answer",
  "code",
  "grant",
  "consent",
  "client-assertion",
  "id-jag",
  "workload-assertion",
]);

/** From its registration to its first approval: strangers may register, and most who do for nothing never come back. */
export const CLIENT_NEVER_USED_SECONDS = 24 * 3600;
export const CLIENT_UNUSED_SECONDS = 7 * 24 * 3600;
export const AUTHORIZATION_REQUEST_SECONDS = 600;
/** How long a used or expired code is remembered, so that its replay is noticed. */
export const CODE_REMEMBERED_SECONDS = 900;
export const CONSENT_SECONDS = 365 * 24 * 3600;
/** Within it a repeated refresh gets the same answer; after it the repeat ends the family (OAuth 2.1 §4.3.1). */
export const REPLAY_WINDOW_SECONDS = 30;

export const clientKey = (id: string): string => `client:${id}`;
export const authorizationRequestKey = (id: string): string => `authz-request:${id}`;
export const answeredKey = (hash: string): string => `authz-answer:${hash}`;
export const codeKey = (hash: string): string => `code:${hash}`;
export const grantKey = (id: string): string => `grant:${id}`;
export const assertionKey = (hash: string): string => `client-assertion:${hash}`;
export const idJagKey = (hash: string): string => `id-jag:${hash}`;
export const workloadAssertionKey = (hash: string): string => `workload-assertion:${hash}`;
export const consentKey = (hash: string): string => `consent:${hash}`;

/** Lists all registrations. */
export const CLIENTS_TAG = "clients";

export function clientTags(clientId: string): readonly string[] {
  return [CLIENTS_TAG, `client:${clientId}`];
}

/** Lists all grants. */
export const GRANTS_TAG = "grants";

/** Everything that ends with a user or a client carries their tags. */
export function ownerTags(record: { readonly userId: string; readonly clientId: string }): readonly string[] {
  return [userTag(record.userId), `client:${record.clientId}`];
}

/** Put options that change the value only, and only when nobody else did. */
export function keeping(record: StoredRecord<unknown>): PutOptions {
  const { version, tags, expiresAt } = record;
  return { ifVersion: version, tags, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

/** A new one. @param expiresAt epoch seconds; from then on it is nobody's */
export async function storeGrant(store: Store, id: string, grant: GrantRecord, expiresAt: number): Promise<void> {
  await store.put(grantKey(id), grant, { ifVersion: 0, expiresAt, tags: [GRANTS_TAG, ...ownerTags(grant)] });
}

/** The grant, or undefined once it ended. */
export function findGrant(store: Store, id: string): Promise<StoredRecord<GrantRecord> | undefined> {
  return store.get<GrantRecord>(grantKey(id));
}
