/**
 * Users as the provider describes them: current claims and provider tokens, one record per user.
 *
 * Promises: one refresh per user at a time, across all replicas, since many providers rotate refresh tokens and treat a
 * second use as theft. Provider tokens are stored before use. An unreachable provider revokes no access. A provider
 * that rejects a user (provider/provider-verdicts.ts) revokes the user's sessions and grants.
 */
import { epochSeconds } from "../shared/clock.ts";
import { GatewayError } from "../shared/errors.ts";
import type { UserId } from "../shared/user-id.ts";
import { hasProvider, isOfAnother, issuerOf, RENEW_AHEAD_SECONDS } from "./claims-record.ts";
import { userTag } from "./identity-records.ts";
import type { Identities, ProviderTokens } from "./interfaces.ts";
import type { User } from "./principal.ts";
import type { ProviderTokenSet } from "./provider/idp.ts";
import type { ProfileFacts } from "./provider/provider-claims.ts";
import { createIdentityLog } from "./identity-log.ts";
import { afterWaiting } from "./users/refresh-result.ts";
import { type IdentityDeps, StoredUsers, UserRefreshes } from "./users/user-refreshes.ts";

export interface IdentityService extends Identities {
  /** Stores the result of a completed sign-in. */
  recordSignIn(tokens: ProviderTokenSet, userId: UserId, profile: ProfileFacts): Promise<User>;
  /**
   * Returns the user for a decision. Checks with the provider when that is due: in the background while the tokens are
   * valid, otherwise before returning.
   *
   * @param isWanted asked once the record is read. If false, the provider is not asked, and the user is undefined
   * @returns undefined if the user no longer exists
   */
  load(userId: string, isWanted?: () => Promise<boolean>): Promise<User | undefined>;
  /** @returns empty texts if the user has none */
  providerTokens(userId: string): Promise<ProviderTokens>;
  close(): Promise<void>;
}

const MAX_CONFLICTS = 8;

export function createIdentities(deps: IdentityDeps): IdentityService {
  const { records, clock } = deps;
  const users = new StoredUsers(deps);
  const tell = createIdentityLog(deps.log);
  const refreshes = new UserRefreshes(deps, users, tell);

  return {
    async find(userId) {
      const stored = await users.read(userId);
      if (!stored || stored.value.refusedAt !== undefined) return undefined;
      return hasProvider(stored.value, deps.snapshots.current().settings) ? users.userOf(stored.value) : undefined;
    },
    refresh: (userId) => refreshes.refresh(userId),
    async recordSignIn(tokens, userId, profile) {
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = await records.identities.get(userId);
        if (stored && stored.value.issuer !== issuerOf(userId)) {
          throw new GatewayError(
            "idp.subject",
            `Cannot store user ${JSON.stringify(userId)}: another issuer's user has this id`,
          );
        }
        // The revocation after the refusal may have failed. Repeat it, so that nothing old becomes valid again with the user.
        if (stored?.value.refusedAt !== undefined || isOfAnother(stored?.value, tokens))
          await deps.revocations.revoke(userTag(userId));
        const value = {
          ...users.merge({ earlier: stored?.value, userId, tokens, isSignIn: true, profile }),
          signIns: (stored?.value.signIns ?? 0) + 1,
        };
        const result = await users.put(value, stored?.version ?? 0);
        if (result.ok) {
          refreshes.confirmed(tokens.providerUrl, userId);
          tell.signedIn(stored?.value, value, tokens);
          return users.userOf(value);
        }
      }
      throw new GatewayError("identity.conflict", "Cannot store a user who signed in: the record keeps changing");
    },
    async load(userId, isWanted) {
      const stored = await users.read(userId);
      if (isWanted && !(await isWanted())) return undefined;
      if (!stored || stored.value.refusedAt !== undefined) return undefined;
      const { refreshDueAt } = stored.value;
      const now = epochSeconds(clock);
      if (refreshDueAt === undefined || now < refreshDueAt) return users.userOf(stored.value);
      if (refreshes.isPaused(userId)) return users.userOf(stored.value);
      const refresh = refreshes.refresh(userId);
      if (now < refreshDueAt + RENEW_AHEAD_SECONDS) return users.userOf(stored.value);
      const result = await Promise.race([refresh, afterWaiting()]);
      if (result.ok) return result.user;
      // An unreachable provider signs no user out: the session has its own expiry.
      return result.reason === "unavailable" ? users.userOf(stored.value) : undefined;
    },
    async providerTokens(userId) {
      const record = (await users.read(userId))?.value;
      if (!record || record.refusedAt !== undefined) return { accessToken: "", idToken: "" };
      return {
        accessToken: users.tokenSeal.open(record.userId, "access", record.accessToken) ?? "",
        idToken: users.tokenSeal.open(record.userId, "id", record.idToken) ?? "",
      };
    },
    close: () => refreshes.close(),
  };
}
