/**
 * Users as the provider has them: the newest claims and the newest provider tokens of each, one record per user.
 *
 * Promises: one refresh per user at a time, in this process and across replicas (many providers rotate refresh tokens
 * and take a second use for theft); what the provider gave is stored before anything is done with it; a provider that
 * cannot be reached ends no access; one that refuses a user (provider/provider-verdicts.ts) ends the user's sessions and grants.
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
import { createTellIdentities } from "./tell-identities.ts";
import { afterWaiting } from "./users/refresh-result.ts";
import { type IdentityDeps, KeptIdentities, UserRefreshes } from "./users/user-refreshes.ts";

export interface IdentityService extends Identities {
  /** Stores what a completed sign-in brought of a user. */
  recordSignIn(tokens: ProviderTokenSet, userId: UserId, profile: ProfileFacts): Promise<User>;
  /**
   * The user for a decision. Asks the provider again when that is due: in the background while the tokens last, first
   * of all when they have ended.
   *
   * @returns undefined when there is no such user any more
   */
  load(userId: string): Promise<User | undefined>;
  /** @returns empty texts when the user has none */
  providerTokens(userId: string): Promise<ProviderTokens>;
  close(): Promise<void>;
}

const MAX_CONFLICTS = 8;

export function createIdentities(deps: IdentityDeps): IdentityService {
  const { records, clock } = deps;
  const kept = new KeptIdentities(deps);
  const tell = createTellIdentities(deps.log);
  const refreshes = new UserRefreshes(deps, kept, tell);

  return {
    async find(userId) {
      const stored = await kept.read(userId);
      if (!stored || stored.value.refusedAt !== undefined) return undefined;
      return hasProvider(stored.value, deps.snapshots.current().settings) ? kept.userOf(stored.value) : undefined;
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
        // What ended with the refusal must not come back with the user, and may not have ended: the store went away.
        if (stored?.value.refusedAt !== undefined || isOfAnother(stored?.value, tokens))
          await deps.revocations.revoke(userTag(userId));
        const value = {
          ...kept.merge({ earlier: stored?.value, userId, tokens, isSignIn: true, profile }),
          signIns: (stored?.value.signIns ?? 0) + 1,
        };
        const result = await kept.put(value, stored?.version ?? 0);
        if (result.ok) {
          refreshes.confirmed(tokens.providerUrl, userId);
          tell.signedIn(stored?.value, value, tokens);
          return kept.userOf(value);
        }
      }
      throw new GatewayError("identity.conflict", "Cannot store a user who signed in: the record keeps changing");
    },
    async load(userId) {
      const stored = await kept.read(userId);
      if (!stored || stored.value.refusedAt !== undefined) return undefined;
      const { refreshDueAt } = stored.value;
      const now = epochSeconds(clock);
      if (refreshDueAt === undefined || now < refreshDueAt) return kept.userOf(stored.value);
      if (refreshes.isPaused(userId)) return kept.userOf(stored.value);
      const asked = refreshes.refresh(userId);
      if (now < refreshDueAt + RENEW_AHEAD_SECONDS) return kept.userOf(stored.value);
      const result = await Promise.race([asked, afterWaiting()]);
      if (result.ok) return result.user;
      // A provider that is away signs nobody out: the session has its own end.
      return result.reason === "unavailable" ? kept.userOf(stored.value) : undefined;
    },
    async providerTokens(userId) {
      const record = (await kept.read(userId))?.value;
      if (!record || record.refusedAt !== undefined) return { accessToken: "", idToken: "" };
      return {
        accessToken: kept.tokenSeal.open(record.userId, "access", record.accessToken) ?? "",
        idToken: kept.tokenSeal.open(record.userId, "id", record.idToken) ?? "",
      };
    },
    close: () => refreshes.close(),
  };
}
