/**
 * Types of stored sign-in and identity records, in one file to show all data at rest.
 *
 * Promise: tokens, codes and nonces are never stored in plain text. Each is sealed (`provider-tokens`,
 * `sign-in-ticket`) or hashed. Times are epoch seconds unless the name says milliseconds.
 */
import type { LeftOut } from "../policy/facts.ts";
import { firstFormats } from "../store/formats.ts";
import { hashSecret } from "../shared/keys.ts";
import type { UserId } from "../shared/user-id.ts";
import type { Json, PutOptions, PutResult, Store, StoredRecord } from "../store/store.ts";

/** `identity:<userId>`: one user at the provider. Outlives everything that can be refreshed through it. */
export interface IdentityRecord {
  readonly userId: UserId;
  /** Name of the issuer; absent: the first provider. Not derived from the user id: ids of older versions are ambiguous. */
  readonly issuer?: string;
  /** URL of the user's provider. A refresh token is never sent to another one. */
  readonly providerUrl: string;
  readonly providerClientId: string;
  /** Epoch milliseconds of the last change of claims. Increases, even if a record is created again after its expiry. */
  readonly version: number;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly claims: { readonly [key: string]: Json };
  /** Claims that the provider omitted; null: none. Absent in records of older versions. */
  readonly leftOut?: LeftOut | null;
  /** Sealed; absent if the provider sent none. */
  readonly refreshToken?: string;
  /**
   * Whether the refresh token outlives the provider's session, if such a token is requested separately. Absent: not
   * requested since the sign-in.
   */
  readonly offline?: boolean;
  readonly accessToken?: string;
  readonly idToken?: string;
  /** Expiry of the provider's access token, if known. */
  readonly accessTokenExpiresAt?: number;
  /** Time of the provider's last confirmation of the user. */
  readonly confirmedAt: number;
  /** Number of confirmations, including sign-ins. Shows a waiting replica that another one's refresh is complete. */
  readonly confirmations: number;
  /** Time of the next provider check; absent without a refresh token. */
  readonly refreshDueAt?: number;
  /** Number of sign-ins: distinguishes a new sign-in from a refresh of an older one. */
  readonly signIns: number;
  /** Proof that the gateway wrote these facts, see `createIdentityProof`. Without it the record is rejected. */
  readonly proof?: string;
  /** Set when the provider rejected the user. The record is unusable until the next sign-in. */
  readonly refusedAt?: number;
}

/** `session:<id>`: one browser, on every host it uses. Expires `cookie_expiration` after sign-in. */
export interface SessionRecord {
  readonly userId: UserId;
  readonly createdAt: number;
  /**
   * Time of the user's last authentication, if the provider reports it or was asked to authenticate again. Absent:
   * `createdAt`.
   */
  readonly authenticatedAt?: number;
  /** Sealed. Tells the provider at sign-out which of its sessions to end. */
  readonly idToken?: string;
  /** Devices that signed a challenge of this session, the newest last. */
  readonly devices?: readonly DeviceProof[];
  /** Last use, within 5 minutes; `browser` from a fixed list of words. */
  readonly used?: { readonly at: number; readonly ip: string; readonly browser: string };
}

/** A device proven by a session. Invalid once the device's record is deleted or belongs to another device. */
export interface DeviceProof {
  /** Part of the record's key after "device:". */
  readonly key: string;
  /** Id of the device. */
  readonly id: string;
}

/** `device:<hash of credential id>`: a registered device of a user. Expires after a year without use. */
export interface DeviceRecord {
  /** Public id for policies and administrators. Random, so that it is never reused. */
  readonly id: string;
  readonly userId: UserId;
  /** The user's name for the device. */
  readonly name: string;
  readonly type: "any" | "enclave_only";
  /** Host name to which the key is bound. */
  readonly rpId: string;
  /** Base64url, as in the browser's API. */
  readonly credentialId: string;
  /** COSE, base64url. */
  readonly publicKey: string;
  /** Signature count, as far as the device counts. */
  readonly counter: number;
  readonly transports: readonly string[];
  /** The key may be copied to other devices of the same account. */
  readonly isSynced: boolean;
  readonly createdAt: number;
  readonly usedAt: number;
  /** Time of an administrator's approval; absent: not approved. */
  readonly approvedAt?: number;
  /** Number of withdrawn approvals: distinguishes older facts, see `deviceKey`. */
  readonly withdrawals: number;
}

/** `device-answer:<hash of challenge>`: marks a challenge as used. Expires with the challenge. */
export interface DeviceAnswerRecord {
  readonly userId: UserId;
}

/** `sign-in:<id>`: return address of a sign-in that is too long for the browser to carry. */
export interface SignInRecord {
  readonly host: string;
  /** Path and query on that host. */
  readonly returnTo: string;
}

/** `sign-in-code:<hash of code>`: one-time code on its way back to the route's host. */
export interface SignInCodeRecord {
  readonly signInId: string;
  readonly sessionId: string;
}

/** `service-account:<id>`: created by an administrator. The record expires with its token. */
export interface ServiceAccountRecord {
  /** Unique among existing accounts. Part of the user id. */
  readonly name: string;
  /** "" if it has none. */
  readonly email: string;
  readonly groups: readonly string[];
  readonly createdAt: number;
  /** The OAuth client that gets tokens for the account (client credentials); absent if its only token was printed. */
  readonly clientId?: string;
  /** Audience of its printed token; absent with `clientId`. */
  readonly audience?: string;
  /** Person or team responsible for it, as its administrator named them. */
  readonly owner?: string;
  /** Last use of its token, within 5 minutes. */
  readonly usedAt?: number;
}

/** Records of one type under one prefix. */
export interface RecordSet<T> {
  get(id: string): Promise<StoredRecord<T> | undefined>;
  take(id: string): Promise<StoredRecord<T> | undefined>;
  put(id: string, value: T, options?: PutOptions): Promise<PutResult>;
  /** @returns true if a live record was removed; with `ifVersion`, only that version */
  delete(id: string, options?: { readonly ifVersion?: number }): Promise<boolean>;
}

export interface SessionRecords {
  readonly identities: RecordSet<IdentityRecord>;
  readonly sessions: RecordSet<SessionRecord>;
  readonly signIns: RecordSet<SignInRecord>;
  readonly signInCodes: RecordSet<SignInCodeRecord>;
  readonly serviceAccounts: RecordSet<ServiceAccountRecord>;
  readonly devices: RecordSet<DeviceRecord>;
  readonly deviceAnswers: RecordSet<DeviceAnswerRecord>;
}

export function createRecords(store: Store): SessionRecords {
  return {
    identities: recordSet(store, "identity:"),
    sessions: recordSet(store, "session:"),
    signIns: recordSet(store, "sign-in:"),
    signInCodes: recordSet(store, "sign-in-code:"),
    serviceAccounts: recordSet(store, "service-account:"),
    devices: recordSet(store, "device:"),
    deviceAnswers: recordSet(store, "device-answer:"),
  };
}

function recordSet<T>(store: Store, prefix: string): RecordSet<T> {
  return {
    get: (id) => store.get<T>(prefix + id),
    take: (id) => store.take<T>(prefix + id),
    put: (id, value, options) => store.put(prefix + id, value, options),
    delete: (id, options) => store.delete(prefix + id, options),
  };
}

/** Schema of each kind of record, and migrations of older ones; see store/formats.ts. */
export const SESSION_FORMATS = firstFormats([
  "identity",
  "session",
  "sign-in",
  "sign-in-code",
  "service-account",
  "device",
  "device-answer",
  "block",
  "signed-out",
  "logout-token",
]);

/** Tag of all sessions. */
export const SESSIONS_TAG = "sessions";

/** Tag of all devices. */
export const DEVICES_TAG = "devices";

/** Tag of everything that belongs to one user, for listing and revoking. */
export function userTag(userId: string): string {
  return `user:${userId}`;
}

/** Tag of users with an email address, ignoring case. */
export function emailTag(email: string): string {
  return `email:${hashSecret(email.toLowerCase())}`;
}

/** Tag of an issuer's users with an Entra object id, which is the same in all applications. */
export function objectIdTag(issuer: string | undefined, objectId: string): string {
  return `oid:${hashSecret(JSON.stringify([issuer ?? null, objectId]))}`;
}

type Tagged = Pick<IdentityRecord, "userId" | "email" | "issuer" | "claims">;

export function identityTags({ userId, email, issuer, claims }: Tagged): readonly string[] {
  return [userTag(userId), ...(email === "" ? [] : [emailTag(email)]), ...objectIdTags(issuer, claims)];
}

/** One or none. */
export function objectIdTags(issuer: string | undefined, { oid }: IdentityRecord["claims"]): readonly string[] {
  return typeof oid === "string" ? [objectIdTag(issuer, oid)] : [];
}
