/** Memberships: which users are in which groups of a directory. */
import { createLimiter } from "../shared/limiter.ts";
import { everyKey, everyPage } from "../store/page-of.ts";
import type { Store } from "../store/store.ts";
import type { MemberChanges } from "./scim/members.ts";
import { type MemberRecord, memberPrefix, membershipsTag, resourcePrefix } from "./records.ts";

export interface GroupMembers {
  /** Ignores unknown users and members that do not exist: providers repeat themselves. */
  apply(directory: string, group: string, changes: MemberChanges): Promise<void>;
  /** Ids of a group's members. */
  of(directory: string, group: string): Promise<readonly string[]>;
  has(directory: string, group: string, user: string): Promise<boolean>;
  /** Ids of a user's groups, some of which may be deleted. Slightly more than `MAX_GROUPS` if the user is in too many. */
  groupsOf(directory: string, user: string): Promise<readonly string[]>;
  removeUser(directory: string, user: string): Promise<void>;
  removeGroup(directory: string, group: string): Promise<void>;
}

/** Groups of one user that are shown and used in decisions. More would be too slow to check at every request. */
export const MAX_GROUPS = 1000;
const PAGE = 500;
/** Per request. */
const PARALLEL = 16;
/**
 * For all requests together: store responses that arrive together are handled in one turn of the event loop, which
 * blocks others.
 */
const AT_ONCE = 8;

/** @param onRemoved called for users who are no longer in a group, after the change is stored */
export function createMembers(
  store: Store,
  onRemoved: (directory: string, users: readonly string[]) => Promise<void> = async () => {},
): GroupMembers {
  const limiter = createLimiter(AT_ONCE);
  const each = async (users: Iterable<string>, work: (user: string) => Promise<void>): Promise<void> =>
    void (await inParallel(users, (user) => limiter.take(() => work(user))));

  async function* pages(directory: string, group: string): AsyncIterable<readonly string[]> {
    const prefix = memberPrefix(directory, group);
    for await (const keys of everyKey(store, prefix, PAGE)) yield keys.map((key) => key.slice(prefix.length));
  }

  /** In pages, since a user may be in every group and every request of the user reads this. */
  const memberships = (directory: string, user: string) =>
    everyPage<MemberRecord>(store, `directory-member:${directory}:`, PAGE, membershipsTag(directory, user));

  const remove = async (directory: string, group: string, users: readonly string[]): Promise<void> => {
    await each(users, async (user) => void (await store.delete(memberPrefix(directory, group) + user)));
    if (users.length > 0) await onRemoved(directory, users);
  };

  return {
    async apply(directory, group, { isReplaced, added, removed }) {
      const missing = new Set(added);
      if (isReplaced) {
        for await (const users of pages(directory, group)) {
          await remove(
            directory,
            group,
            users.filter((user) => !added.has(user)),
          );
          for (const user of users) missing.delete(user);
        }
      }
      await remove(directory, group, [...removed]);
      await each(missing, async (user) => {
        if ((await store.get(resourcePrefix("user", directory) + user)) === undefined) return;
        const value: MemberRecord = { group };
        await store.put(memberPrefix(directory, group) + user, value, { tags: [membershipsTag(directory, user)] });
      });
    },
    async of(directory, group) {
      const users: string[] = [];
      for await (const page of pages(directory, group)) users.push(...page);
      return users;
    },
    has: async (directory, group, user) => (await store.get(memberPrefix(directory, group) + user)) !== undefined,
    async groupsOf(directory, user) {
      const groups: string[] = [];
      for await (const records of memberships(directory, user)) {
        for (const { value } of records) groups.push(value.group);
        if (groups.length > MAX_GROUPS) break;
      }
      return groups;
    },
    async removeUser(directory, user) {
      for await (const records of memberships(directory, user))
        await each(
          records.map(({ key }) => key),
          async (key) => void (await store.delete(key)),
        );
    },
    async removeGroup(directory, group) {
      for await (const users of pages(directory, group)) await remove(directory, group, users);
    },
  };
}

/** Runs `work` for a few items at a time. @returns the results in the order of the items @throws the first error of `work` */
export async function inParallel<T, R>(items: Iterable<T>, work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const left = items[Symbol.iterator]();
  let begun = 0;
  const run = async (): Promise<void> => {
    for (let next = left.next(); next.done !== true; next = left.next()) {
      const at = begun++;
      results[at] = await work(next.value);
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, run));
  return results;
}
