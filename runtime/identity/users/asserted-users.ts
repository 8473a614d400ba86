/** Stores users asserted by a trusted issuer. */
import type { Snapshots } from "../../config/snapshot.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { Keys } from "../../shared/keys.ts";
import { createIdentityProof } from "./identity-proof.ts";
import { identityEnd, issuerOf, toUser } from "../claims-record.ts";
import { identityTags, userTag, type IdentityRecord, type SessionRecords } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";
import type { User } from "../principal.ts";
import { assertedRecord, takesPrecedence, type AssertedUser } from "./asserted.ts";

export interface AssertedUsers {
  /**
   * Returns the user, stored if new. Facts from a sign-in stay unchanged.
   *
   * @returns undefined if the provider rejected the user after the assertion, or the id belongs to another issuer's
   *   user
   * @throws GatewayError `store.unavailable`, or `identity.conflict` if the record keeps changing
   */
  record(asserted: AssertedUser): Promise<User | undefined>;
}

export interface AssertedUsersDeps {
  readonly records: Pick<SessionRecords, "identities">;
  readonly snapshots: Pick<Snapshots, "current">;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly keys: Keys;
  readonly clock: Clock;
}

const MAX_CONFLICTS = 8;

export function createAssertedUsers({
  records,
  snapshots,
  revocations,
  keys,
  clock,
}: AssertedUsersDeps): AssertedUsers {
  const proof = createIdentityProof(keys);
  return {
    async record(asserted) {
      const { userId } = asserted;
      const { settings } = snapshots.current();
      const userOf = (record: IdentityRecord): User => toUser(record, settings);
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = await records.identities.get(userId);
        const earlier = stored?.value;
        const now = epochSeconds(clock);
        if (earlier && earlier.issuer !== issuerOf(userId)) return undefined;
        if (earlier?.refusedAt !== undefined && earlier.refusedAt >= asserted.issuedAt) return undefined;
        const stays =
          earlier !== undefined &&
          proof.holds(userId, earlier) &&
          takesPrecedence(earlier, asserted, clock.now(), settings.cookie.expirationSeconds);
        // The record must outlive the token to be issued.
        const livesOn = (stored?.expiresAt ?? Infinity) > now + settings.lifetimes.accessToken;
        if (stays && livesOn) return userOf(earlier);
        if (earlier && !stays && mustRevokeFirst(earlier, asserted)) await revocations.revoke(userTag(userId));
        const value = stays ? earlier : assertedRecord(asserted, clock.now(), earlier);
        const put = await records.identities.put(userId, proof.add(value), {
          ifVersion: stored?.version ?? 0,
          expiresAt: identityEnd(settings, now),
          tags: identityTags(value),
        });
        if (put.ok) return userOf(value);
      }
      throw new GatewayError("identity.conflict", "Cannot store an asserted user: the record keeps changing");
    },
  };
}

/** Access that ended with a rejection must not return with the user, and an issuer's user must not inherit another's access. */
function mustRevokeFirst({ refusedAt, accessToken, providerUrl }: IdentityRecord, { issuer }: AssertedUser): boolean {
  return refusedAt !== undefined || (accessToken === undefined && providerUrl !== issuer);
}
