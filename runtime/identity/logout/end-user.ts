/** Revokes everything of a user: sessions, grants of MCP clients, and the provider's tokens. The user must sign in again. */
import type { Snapshots } from "../../config/snapshot.ts";
import { epochSeconds } from "../../shared/clock.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { UserId } from "../../shared/user-id.ts";
import type { Keys } from "../../shared/keys.ts";
import { identityEnd, issuerOf, refusedRecord } from "../claims-record.ts";
import { listByPages } from "../../store/page-of.ts";
import { createIdentityProof } from "../users/identity-proof.ts";
import {
  emailTag,
  identityTags,
  SESSIONS_TAG,
  userTag,
  type IdentityRecord,
  type SessionRecord,
  type SessionRecords,
} from "../identity-records.ts";
import type { EndDeps } from "./end-access.ts";
import { recordSignOut } from "./signed-out.ts";

export interface EndUserDeps extends EndDeps {
  readonly records: Pick<SessionRecords, "identities">;
  readonly snapshots: Pick<Snapshots, "current">;
  readonly keys: Keys;
}

const MAX_CONFLICTS = 8;

/**
 * @param issuedAt epoch seconds, by the issuer's clock: earlier sign-ins and assertions become invalid
 * @returns false if nothing is known about the user
 * @throws GatewayError `store.unavailable`: revocation may be incomplete, and the request must be repeated
 */
export async function endUser(deps: EndUserDeps, userId: UserId, issuedAt: number): Promise<boolean> {
  await recordSignOut(deps, { kind: "user", userId }, issuedAt);
  await recordSignOut(deps, { kind: "grants", userId }, issuedAt);
  const isKnown = await forgetProvider(deps, userId);
  if (!isKnown && (await deps.store.list(userTag(userId))).length === 0) return false;
  await deps.revocations.revoke(userTag(userId));
  return true;
}

/**
 * Same effect as a rejection by the provider: the tokens are unusable until the next sign-in. @returns true if the user
 * is known
 */
async function forgetProvider({ records, snapshots, clock, keys }: EndUserDeps, userId: UserId): Promise<boolean> {
  const proof = createIdentityProof(keys);
  for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
    const stored = await records.identities.get(userId);
    if (stored?.value.issuer !== issuerOf(userId) || stored === undefined) return false;
    const now = epochSeconds(clock);
    const refused = refusedRecord(stored.value, now);
    // A record that was modified outside the gateway gets no proof.
    const value = proof.holds(userId, stored.value) ? proof.add(refused) : refused;
    const put = await records.identities.put(userId, value, {
      ifVersion: stored.version,
      expiresAt: identityEnd(snapshots.current().settings, now),
      tags: identityTags(stored.value),
    });
    if (put.ok) return true;
  }
  throw new GatewayError("identity.conflict", "Cannot end a user: the record keeps changing");
}

/** Finds users of all issuers by email address, ignoring case. */
export async function findUsersByEmail(deps: EndUserDeps, email: string): Promise<readonly UserId[]> {
  const hasEmail = (record: IdentityRecord): boolean => record.email.toLowerCase() === email.toLowerCase();
  const tagged = await deps.store.list<IdentityRecord>(emailTag(email));
  const found = tagged.filter(({ key, value }) => key.startsWith("identity:") && hasEmail(value));
  if (found.length > 0) return found.map(({ value }) => value.userId);
  // Older versions wrote no such tag: search the signed-in users.
  const sessions = await listByPages<SessionRecord>(deps.store, "session:", SESSIONS_TAG);
  const users: UserId[] = [];
  for (const userId of new Set(sessions.map(({ value }) => value.userId))) {
    const identity = await deps.records.identities.get(userId);
    if (identity && hasEmail(identity.value)) users.push(userId);
  }
  return users;
}
