/**
 * Access and groups of a caller, according to their directory.
 *
 * Checked whenever a credential is confirmed against the records. The cost depends on the user only, not on the size of
 * their groups.
 */
import { hash } from "node:crypto";

import type { LiveSettings } from "../config/compiled.ts";
import { type Directory, findDirectoryOf } from "../features/sign-in/directories.ts";
import type { LeftOut, UserFacts } from "../policy/facts.ts";
import { BoundedCache } from "../shared/cache.ts";
import { steadyClock, type Clock } from "../shared/clock.ts";
import { parseUserId, type UserId } from "../shared/user-id.ts";
import { inParallel, MAX_GROUPS, type GroupMembers } from "./members.ts";
import { isActive, subjectOf } from "./people.ts";
import type { Resource, Resources } from "./resources.ts";

/** Facts about a user that the look-up reads and changes. */
export type LookedUpFacts = Pick<UserFacts, "groups" | "claims" | "leftOut">;

export interface DirectoryLookup {
  /**
   * Returns the user with the groups from the directory; the same object if no directory applies.
   *
   * @returns undefined if the directory denies the user
   * @throws GatewayError `store.unavailable`
   */
  apply<T extends LookedUpFacts & { readonly id: UserId; readonly version: number }>(user: T): Promise<T | undefined>;
}

export interface LookupDeps {
  readonly users: Resources;
  readonly groups: Resources;
  readonly members: GroupMembers;
  readonly snapshots: { current(): { readonly settings: Pick<LiveSettings, "directories"> } };
  readonly clock: Clock;
}

/** A renamed group has its new name after this time at the latest. */
const NAME_MS = 5_000;
const NAMES = 10_000;

interface GroupName {
  readonly name: string | undefined;
  readonly atMs: number;
  visited: boolean;
}

export function createDirectoryLookup({ users, groups, members, snapshots, ...deps }: LookupDeps): DirectoryLookup {
  const clock = steadyClock(deps.clock);
  const names = new BoundedCache<GroupName>(NAMES);

  const nameOf = async ({ name: directory, groupAttribute }: Directory, id: string): Promise<string | undefined> => {
    const key = `${directory}:${groupAttribute}:${id}`;
    const known = names.get(key);
    if (known && clock.now() - known.atMs < NAME_MS) return known.name;
    const group = await groups.get(directory, id);
    const name = group?.attributes[groupAttribute];
    const text = typeof name === "string" ? name : undefined;
    names.set(key, { name: text, atMs: clock.now(), visited: false });
    return text;
  };

  const findListed = async (
    directory: Directory,
    userId: UserId,
    claims: LookedUpFacts["claims"],
  ): Promise<Resource | undefined> => {
    const parts = parseUserId(userId);
    const claimed = directory.subjectClaim === "oid" ? claims["oid"] : parts?.kind === "person" && parts.subject;
    if (typeof claimed !== "string") return undefined;
    const found = await users.find(directory.name, directory.subjectAttribute, claimed);
    // The look-up ignores case, but subjects are case-sensitive.
    return found && subjectOf(directory, found.attributes) === claimed ? found : undefined;
  };

  return {
    async apply(user) {
      const { directories } = snapshots.current().settings;
      const parts = directories.length === 0 ? undefined : parseUserId(user.id);
      const directory = parts?.kind === "person" ? findDirectoryOf(directories, parts.issuer) : undefined;
      if (!directory) return user;
      const listed = await findListed(directory, user.id, user.claims);
      if (!listed) {
        if (directory.refusesUnlisted) return undefined;
        // Membership is unknown, which differs from "no groups".
        return directory.groups === "directory" ? withGroups(user, [], leftOutOf(user, true)) : user;
      }
      if (!isActive(listed.attributes)) return undefined;
      if (directory.groups === "claims") return user;
      const ids = await members.groupsOf(directory.name, listed.id);
      if (ids.length > MAX_GROUPS) return withGroups(user, [], leftOutOf(user, true));
      const named = await inParallel(ids, (id) => nameOf(directory, id));
      const known = named.filter((name) => name !== undefined);
      if (directory.groups === "both")
        return withGroups(user, [...user.groups, ...known], leftOutOf(user, user.leftOut?.groups === true));
      return withGroups(user, known, leftOutOf(user, false));
    },
  };
}

/** Groups from the directory are complete, even if they do not fit into a token. */
function leftOutOf({ leftOut }: LookedUpFacts, areUnknown: boolean): LeftOut {
  const { resolver: _, ...rest } = leftOut ?? { claims: [] };
  return { ...rest, groups: areUnknown, ...(areUnknown ? {} : { resolver: "answered" }) };
}

function withGroups<T extends LookedUpFacts & { readonly version: number }>(
  user: T,
  groups: readonly string[],
  leftOut: LeftOut | undefined,
): T {
  const unique = [...new Set(groups)].sort();
  const { leftOut: _, ...rest } = user;
  // The version changes with the groups: caches by version must not use old ones.
  const text = JSON.stringify([user.version, unique, leftOut ?? null]);
  const version = Number.parseInt(hash("sha256", text).slice(0, 12), 16);
  return { ...rest, groups: unique, version, ...(leftOut && { leftOut }) } as unknown as T;
}
