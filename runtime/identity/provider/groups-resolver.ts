/**
 * Fetches groups that the provider omitted because there are too many, as configured.
 *
 * Promise: without a complete response the groups stay unknown, which no rule treats as "none". The cause is logged.
 * Never throws.
 */
import type { EntraSettings, IdpSettings } from "../../features/sign-in/compiled.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { UserId } from "../../shared/user-id.ts";
import type { ProfileFacts } from "./provider-claims.ts";

export interface GroupsResolver {
  /** @returns the facts unchanged if the provider omitted no groups, or no resolver is configured */
  complete(settings: IdpSettings, userId: UserId, facts: ProfileFacts): Promise<ProfileFacts>;
}

/** @throws GatewayError `groups.unavailable`, without secrets in its text */
export type AskGroups = (settings: EntraSettings, claims: ProfileFacts["claims"]) => Promise<readonly string[]>;

export interface GroupsResolverDeps {
  readonly entra: AskGroups;
  readonly log: Log;
}

export function createGroupsResolver({ entra, log }: GroupsResolverDeps): GroupsResolver {
  return {
    async complete({ groupsResolver }, userId, facts) {
      const { leftOut, claims } = facts;
      if (leftOut?.groups !== true || groupsResolver === undefined) return facts;
      try {
        const groups = [...new Set(await entra(groupsResolver, claims))].sort();
        return { ...facts, groups, leftOut: { ...leftOut, groups: false, resolver: "answered" } };
      } catch (error) {
        log.warn({ user: userId, reason: errorText(error) }, "cannot resolve groups of user");
        return { ...facts, leftOut: { ...leftOut, resolver: "failed" } };
      }
    },
  };
}
