/**
 * Stored records of the authorization server, with their keys and lifetimes.
 *
 * Promise: no code, token or client secret is stored in a usable form. Codes, refresh tokens and secrets are SHA-256
 * hashes of 256 random bits. The replay response is sealed with a key derived from the old token.
 */
import type { JSONWebKeySet } from "jose";

import { userTag } from "../../identity/identity-records.ts";
import type { AssertedBy } from "../../identity/principal.ts";
import type { UserId } from "../../shared/user-id.ts";
import { firstFormats } from "../../store/formats.ts";
import type { PutOptions, StoredRecord, Store } from "../../store/store.ts";

/** Client authentication method at the token endpoint (RFC 7591 §2). */
export type AuthMethod = "none" | "client_secret_basic" | "client_secret_post" | "private_key_jwt";

/** Registered client metadata: wire names, normalised (client-metadata.ts). */
export interface ClientMetadata {
  readonly redirect_uris: readonly string[];
  readonly token_endpoint_auth_method: AuthMethod;
  readonly grant_types: readonly string[];
  readonly response_types: readonly string[];
  readonly scope: string;
  /** Token requests without a DPoP proof are rejected (RFC 9449 §5.2). */
  readonly dpop_bound_access_tokens?: true;
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
 * `client:<id>`: one registered client. A dynamic registration without consent expires after a day, otherwise a week
 * after its last grant could end. A client created by an administrator must be revoked.
 */
export interface ClientRecord {
  readonly schema: 1;
  /** Its issuer. Other issuers do not know the client. */
  readonly issuer: string;
  readonly metadata: ClientMetadata;
  /** For confidential clients only. */
  readonly secretHash?: string;
  /** Epoch seconds. */
  readonly issuedAt: number;
  /** Epoch seconds of the last consent or token; absent if never used. */
  readonly usedAt?: number;
  /** Created and trusted by an administrator. */
  readonly preRegistered?: true;
  /** Service account for which the client may get tokens (client credentials). */
  readonly accountId?: string;
}

/**
 * A validated authorization request that waits for the user, for ten minutes: sealed in a URL (request-state.ts), or in
 * a record if it is too long.
 */
export interface AuthorizationRequestRecord {
  readonly schema: 1;
  readonly issuer: string;
  readonly clientId: string;
  readonly metadataHash: string;
  /** Destination of the response. */
  readonly redirectUri: string;
  /** True if the client sent it, and so must repeat it at the token endpoint. */
  readonly redirectUriSent: boolean;
  readonly state?: string;
  /** S256. */
  readonly codeChallenge: string;
  /** A route's resource, or the issuer's origin. */
  readonly audience: string;
  readonly scope: string;
  /** `dpop_jkt`: the code is valid only with a proof by this key (RFC 9449 §10). */
  readonly keyThumbprint?: string;
  /** `prompt=consent`: ask again, even if a consent is remembered. */
  readonly askAgain: boolean;
  /** The user has consented and went to connect the upstream. After the return they are not asked again. */
  readonly approvedBy?: { readonly userId: UserId; readonly sid: string };
}

/** `authz-request:<id>`: a request too long for a URL. */
export interface StoredRequestRecord {
  readonly schema: 1;
  /** Absent in records of earlier versions, none of which is still pending. */
  readonly sealed?: string;
}

/** `authz-answer:<hash>`: marks a sealed authorization request as answered. Lives as long as its text could come back. */
export interface AnsweredRecord {
  readonly schema: 1;
}

/** `code:<hash>`: an authorization code. Valid for `lifetimes.authorizationCode`, stored longer to detect a replay. */
export interface CodeRecord extends Omit<
  AuthorizationRequestRecord,
  "metadataHash" | "state" | "askAgain" | "approvedBy"
> {
  readonly userId: UserId;
  /** Id of the future grant, chosen in advance so that a replay can revoke it. */
  readonly grantId: string;
  /** Epoch seconds. */
  readonly expiresAt: number;
  /** End of the browser session that consented. The grant's session initially has the same end. */
  readonly sessionExpiresAt: number;
  readonly used: boolean;
  /** Epoch milliseconds. */
  readonly usedAtMs?: number;
  /** Set by versions before 2026-11-23 for a replayed code, and read by them. */
  readonly replayed: boolean;
}

/**
 * `grant:<id>`: one user's authorization of one client, with its refresh tokens. Tags: `grants`, `user:<id>`,
 * `client:<id>`.
 */
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
  /** Epoch seconds. After it, the session is re-created from the provider before new tokens are issued. */
  readonly sessionExpiresAt: number;
  /** Epoch seconds; the end despite refreshes, by `refresh_token_absolute_lifetime` at the time of the last token. */
  readonly endsAt?: number;
  /** A trusted issuer's assertion replaced sign-in and consent. Such a grant is never refreshed. */
  readonly assertedBy?: AssertedBy & { readonly jtiHash: string };
  /** Public clients with DPoP: refresh tokens are valid only with proofs by this key (RFC 9449 §5). */
  readonly keyThumbprint?: string;
  /** Absent if the client cannot refresh. */
  readonly refresh?: RefreshFamily;
}

/** The active refresh token and the recently rotated ones. */
export interface RefreshFamily {
  /** Number of the active token. */
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
  /** The response at the rotation, sealed with a key derived from the old token. */
  readonly answer: string;
}

/** `consent:<hash>`: a user's remembered consent. Tags: `user:<id>`, `client:<id>`. */
export interface ConsentRecord {
  readonly schema: 1;
  readonly userId: UserId;
  readonly clientId: string;
  /** Name shown on the consent page, for the page that withdraws it. */
  readonly clientName?: string;
  readonly audience: string;
  readonly metadataHash: string;
  readonly scope: string;
  /** Proof that the gateway wrote the scope. Records of earlier versions have none and are invalid. */
  readonly proof?: string;
  /** Epoch seconds. */
  readonly grantedAt: number;
}

/** Schema of each kind of record, and migrations of older ones; see store/formats.ts. */
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

/** From registration to first consent. Any caller may register, and most unused registrations never return. */
export const CLIENT_NEVER_USED_SECONDS = 24 * 3600;
export const CLIENT_UNUSED_SECONDS = 7 * 24 * 3600;
export const AUTHORIZATION_REQUEST_SECONDS = 600;
/** Time for which a used or expired code is stored to detect its replay. */
export const CODE_REMEMBERED_SECONDS = 900;
export const CONSENT_SECONDS = 365 * 24 * 3600;
/** A repeated refresh within this window gets the same response; after it, the repeat revokes the tokens (OAuth 2.1 §4.3.1). */
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

/** Tag of all registrations. */
export const CLIENTS_TAG = "clients";

export function clientTags(clientId: string): readonly string[] {
  return [CLIENTS_TAG, `client:${clientId}`];
}

/** Tag of all grants. */
export const GRANTS_TAG = "grants";

/** Tags of everything that is revoked with its user or client. */
export function ownerTags(record: { readonly userId: string; readonly clientId: string }): readonly string[] {
  return [userTag(record.userId), `client:${record.clientId}`];
}

/** Put options that change only the value, and only if the record is unchanged. */
export function keeping(record: StoredRecord<unknown>): PutOptions {
  const { version, tags, expiresAt } = record;
  return { ifVersion: version, tags, ...(expiresAt === undefined ? {} : { expiresAt }) };
}

/** Stores a new grant. @param expiresAt epoch seconds */
export async function storeGrant(store: Store, id: string, grant: GrantRecord, expiresAt: number): Promise<void> {
  await store.put(grantKey(id), grant, { ifVersion: 0, expiresAt, tags: [GRANTS_TAG, ...ownerTags(grant)] });
}

/** Returns the grant, or undefined after its end. */
export function findGrant(store: Store, id: string): Promise<StoredRecord<GrantRecord> | undefined> {
  return store.get<GrantRecord>(grantKey(id));
}
