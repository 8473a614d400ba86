/** Identity service that applies the user's directory: access, and groups. */
import { GatewayError } from "../shared/errors.ts";
import type { IdentityService } from "../identity/identities.ts";
import type { AssertedUsers } from "../identity/users/asserted-users.ts";
import type { User } from "../identity/principal.ts";
import type { IdpTokens } from "../identity/provider/idp-tokens.ts";
import type { DirectoryLookup } from "./lookup.ts";

/** @throws GatewayError `directory.refused` from `recordSignIn`, in addition to the errors of `identities` */
export function identitiesWithDirectories(identities: IdentityService, lookup: DirectoryLookup): IdentityService {
  const applied = async (user: User | undefined): Promise<User | undefined> => user && lookup.apply(user);
  return {
    ...identities,
    find: async (userId) => applied(await identities.find(userId)),
    load: async (...of) => applied(await identities.load(...of)),
    async refresh(userId) {
      const result = await identities.refresh(userId);
      const user = result.ok ? await applied(result.user) : undefined;
      if (!result.ok) return result;
      return user ? { ok: true, user } : { ok: false, reason: "refused" };
    },
    async recordSignIn(tokens, userId, profile) {
      // Nothing is stored about a denied user.
      const user =
        (await lookup.apply({ ...profile, id: userId, version: 1 })) &&
        (await identities.recordSignIn(tokens, userId, profile));
      const admitted = await applied(user);
      if (admitted) return admitted;
      throw new GatewayError(
        "directory.refused",
        `Cannot sign in ${JSON.stringify(userId)}: not active in the directory`,
      );
    },
  };
}

export function assertedUsersWithDirectories(assertedUsers: AssertedUsers, lookup: DirectoryLookup): AssertedUsers {
  return {
    async record(asserted) {
      const user = await assertedUsers.record(asserted);
      return user && lookup.apply(user);
    },
  };
}

/** Tokens of the provider itself, for which the gateway has no record. */
export function idpTokensWithDirectories(idpTokens: IdpTokens, lookup: DirectoryLookup): IdpTokens {
  return {
    ...idpTokens,
    async verify(...of) {
      const result = await idpTokens.verify(...of);
      if (!result.ok) return result;
      const known = await lookup.apply({ ...result.profile, id: result.userId, version: 1 });
      if (!known) return { ok: false, reason: "unknown-user" };
      const { id: _, version: __, ...profile } = known;
      return { ...result, profile: { ...result.profile, ...profile } };
    },
  };
}
