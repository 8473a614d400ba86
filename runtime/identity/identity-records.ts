/**
 * The records of sign-in and identity as the store keeps them, typed. One place, so that a reader sees what is at rest.
 *
 * Promise: no token, code or nonce stands here in the clear; each is sealed (`provider-tokens`, `sign-in-ticket`) or
 * hashed. Times are epoch seconds unless the name says milliseconds.
 */
import type { LeftOut } from "../policy/facts.ts";
import { firstFormats } from "../store/formats.ts";
import { hashSecret } from "../shared/keys.ts";
import type { UserId } from "../shared/user-id.ts";
import type { Json, PutOptions, PutResult, Store, StoredRecord } from "../store/store.ts";

/** `identity:<userId>`: one user at the provider. Lives as long as anything that may be refreshed through it. */
export interface IdentityRecord {
  readonly userId: UserId;
  /** Name of the issuer; absent: the first provider. The id says it too, but an older program's may only look so. */
  readonly issuer?: string;
  /** Which provider vouches; a refresh token is never sent to another one. */
  readonly providerUrl: string;
  readonly providerClientId: string;
  /** Epoch milliseconds of the newest change of claims: grows, also when a record is made anew after its end. */
  readonly version: number;
  readonly email: string;
  readonly name: string;
  readonly groups: readonly string[];
  readonly claims: { readonly [key: string]: Json };
  /** What the provider has for the user and did not send; null: nothing. Absent in what older programs wrote. */
  readonly leftOut?: LeftOut | null;
  /** Sealed; absent when the provider gave none. */
  readonly refreshToken?: string;
  /** Whether it outlives the provider's session, where that is asked for apart; absent: not asked for since the sign-in. */
  readonly offline?: boolean;
  readonly accessToken?: string;
  readonly idToken?: string;
  /** End of the provider's access token, when it said so. */
  readonly accessTokenExpiresAt?: number;
  /** When the provider last confirmed the user. */
  readonly confirmedAt: number;
  /** How often it did, sign-ins included: tells who waits for another replica's refresh that it is done. */
  readonly confirmations: number;
  /** When the provider should be asked again; absent without a refresh token. */
  readonly refreshDueAt?: number;
  /** How often the user signed in: tells a new sign-in from a refresh of an older one. */
  readonly signIns: number;
  /** That this program wrote what decisions read here: see `createIdentityProof`. Without it nobody is this user. */
  readonly proof?: string;
  /** Set when the provider refused the user: dead until the next sign-in. */
  readonly refusedAt?: number;
}

/** `session:<id>`: one browser, on every host it visits. The record's own end is `cookie_expiration` after sign-in. */
export interface SessionRecord {
  readonly userId: UserId;
  readonly createdAt: number;
  /** When the user last showed who they are, as far as the provider says so or was asked for it; absent: `createdAt`. */
  readonly authenticatedAt?: number;
  /** Sealed; tells the provider at sign-out which of its sessions ends. */
  readonly idToken?: string;
  /** Devices whose keys signed a challenge of this session, the newest last. */
  readonly devices?: readonly DeviceProof[];
}

/** A device that a session has proven; worth nothing once the device's record is gone, or is another's. */
export interface DeviceProof {
  /** What follows "device:" in the key of its record. */
  readonly key: string;
  /** Id of the device. */
  readonly id: string;
}

/** `device:<hash of credential id>`: a registered device of a user. Ends when it was not used for a year. */
export interface DeviceRecord {
  /** Public: what policies and administrators call it. Random, so that it never comes back. */
  readonly id: string;
  readonly userId: UserId;
  /** As the user calls it. */
  readonly name: string;
  readonly type: "any" | "enclave_only";
  /** The host name that its key is bound to. */
  readonly rpId: string;
  /** Base64url, as the browser has it. */
  readonly credentialId: string;
  /** COSE, base64url. */
  readonly publicKey: string;
  /** Signatures so far, as far as the device counts them. */
  readonly counter: number;
  readonly transports: readonly string[];
  /** Its key may be copied to other devices of the same account. */
  readonly isSynced: boolean;
  readonly createdAt: number;
  readonly usedAt: number;
  /** When an administrator vouched for it; absent: nobody does. */
  readonly approvedAt?: number;
  /** How often that was taken back: tells facts from before, see `deviceKey`. */
  readonly withdrawals: number;
}

/** `device-answer:<hash of challenge>`: this challenge was answered. Ends with the challenge. */
export interface DeviceAnswerRecord {
  readonly userId: UserId;
}

/** `sign-in:<id>`: where a sign-in goes back to, when that is too long for the browser to carry. */
export interface SignInRecord {
  readonly host: string;
  /** Path and query on that host. */
  readonly returnTo: string;
}

/** `sign-in-code:<hash of code>`: the one-time code on its way back to the route's host. */
export interface SignInCodeRecord {
  readonly signInId: string;
  readonly sessionId: string;
}

/** `service-account:<id>`: a machine that calls by itself. Made by an administrator; the record ends with its token. */
export interface ServiceAccountRecord {
  /** Unique among the living; the user id is made of it. */
  readonly name: string;
  /** "" when it has none. */
  readonly email: string;
  readonly groups: readonly string[];
  readonly createdAt: number;
  /** The OAuth client that gets tokens for it (client credentials); absent when its one token was printed. */
  readonly clientId?: string;
  /** What its printed token is good for; absent with `clientId`. */
  readonly audience?: string;
}

/** Records of one type under one prefix. */
export interface RecordSet<T> {
  get(id: string): Promise<StoredRecord<T> | undefined>;
  take(id: string): Promise<StoredRecord<T> | undefined>;
  put(id: string, value: T, options?: PutOptions): Promise<PutResult>;
  /** @returns true when a live record was removed; with `ifVersion`, only that version */
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

/** The schema that each kind is written in, and how older ones are brought up to date; see store/formats.ts. */
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

/** Lists all sessions. */
export const SESSIONS_TAG = "sessions";

/** Lists all devices. */
export const DEVICES_TAG = "devices";

/** Lists and ends everything of one user. */
export function userTag(userId: string): string {
  return `user:${userId}`;
}

/** Lists the users of an e-mail address, in whatever case it is written. */
export function emailTag(email: string): string {
  return `email:${hashSecret(email.toLowerCase())}`;
}

/** Lists the users of an issuer by what Entra calls them in all of its applications. */
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
