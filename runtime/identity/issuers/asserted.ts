/** Users whom a trusted issuer vouches for without a sign-in: what is kept of them, and whether that trust still stands. */
import type { LiveSettings } from "../../config/compiled.ts";
import { issuersFor } from "../../features/sign-in/trusted-issuers.ts";
import type { UserId } from "../../shared/user-id.ts";
import { issuerOf } from "../claims-record.ts";
import type { IdentityRecord } from "../identity-records.ts";
import type { AssertedBy } from "../principal.ts";

/** What an assertion says of its user. */
export interface AssertedUser {
  readonly userId: UserId;
  /** `iss`. */
  readonly issuer: string;
  /** "" when there is none that the issuer may vouch for. */
  readonly email: string;
  /** It says so; otherwise it is silent. */
  readonly isEmailVerified: boolean;
  /** Epoch seconds. */
  readonly issuedAt: number;
}

/** Whether what an issuer gave access to would be given today. */
export function isStillTrusted(
  { identityIssuers }: Pick<LiveSettings, "identityIssuers">,
  { name, issuer, origin }: AssertedBy,
  userId: UserId,
  clientId: string | undefined,
): boolean {
  const entry = issuersFor(identityIssuers, "id_jag", origin).find((each) => each.name === name);
  if (entry?.issuer !== issuer || entry.userIssuer !== issuerOf(userId)) return false;
  return entry.allowedClients === undefined || (clientId !== undefined && entry.allowedClients.has(clientId));
}

/** The record of a user who never signed in: no tokens; groups and claims that were not said are unknown. */
export function assertedRecord(
  { userId, issuer, email, isEmailVerified }: AssertedUser,
  nowMs: number,
  earlier: IdentityRecord | undefined,
): IdentityRecord {
  const name = issuerOf(userId);
  return {
    userId,
    ...(name === undefined ? {} : { issuer: name }),
    providerUrl: issuer,
    providerClientId: "",
    version: Math.max(nowMs, (earlier?.version ?? 0) + 1),
    email,
    name: "",
    groups: [],
    claims: { sub: userId, ...(email === "" ? {} : { email, ...(isEmailVerified ? { email_verified: true } : {}) }) },
    leftOut: { groups: true, claims: [], others: true },
    confirmedAt: Math.floor(nowMs / 1000),
    confirmations: (earlier?.confirmations ?? 0) + 1,
    signIns: earlier?.signIns ?? 0,
  };
}

/**
 * Whether a record goes on as it is. What a sign-in brought goes before what an assertion says, but not for ever: without a
 * refresh token nobody hears of changed groups, and the sessions that may still use them have their end.
 */
export function standsBeside(
  record: IdentityRecord,
  asserted: AssertedUser,
  nowMs: number,
  sessionSeconds: number,
): boolean {
  if (record.refusedAt !== undefined) return false;
  if (record.accessToken === undefined)
    return record.providerUrl === asserted.issuer && record.email === asserted.email;
  return record.refreshToken !== undefined || record.confirmedAt + sessionSeconds > Math.floor(nowMs / 1000);
}
