/** Composition of the directories: their records, the look-up of callers, and the SCIM endpoints. */
import type { Directory } from "../features/sign-in/directories.ts";
import type { Snapshots } from "../config/snapshot.ts";
import type { Clock } from "../shared/clock.ts";
import type { Log } from "../shared/log.ts";
import type { UserId } from "../shared/user-id.ts";
import type { Store } from "../store/store.ts";
import type { Revocations } from "../identity/interfaces.ts";
import type { EndUserDeps } from "../identity/logout/end-user.ts";
import { GROUP_SHAPE, USER_SHAPE } from "./scim/attributes.ts";
import { type Allowance, createAllowance } from "./allowance.ts";
import { createFindByObjectId } from "./object-ids.ts";
import { createListing, type Listing } from "./listing.ts";
import { createDirectoryLookup, type DirectoryLookup } from "./lookup.ts";
import { createMembers, inParallel, type GroupMembers } from "./members.ts";
import { createPeople, type People, subjectOf, userTagsOf } from "./people.ts";
import { createResources, type Resources } from "./resources.ts";
import { userTags } from "./records.ts";

export interface DirectoryParts {
  readonly users: Resources;
  readonly groups: Resources;
  readonly members: GroupMembers;
  readonly people: People;
  readonly listing: Listing;
  readonly allowance: Allowance;
}

export function createDirectoryRecords(deps: {
  readonly store: Store;
  readonly clock: Clock;
  /** Parameter of `createMembers`. */
  readonly onRemoved?: Parameters<typeof createMembers>[1];
}): Pick<DirectoryParts, "users" | "groups" | "members" | "listing" | "allowance"> {
  return {
    users: createResources(deps, { kind: "user", shape: USER_SHAPE, tagsOf: userTags }),
    groups: createResources(deps, { kind: "group", shape: GROUP_SHAPE }),
    members: createMembers(deps.store, deps.onRemoved),
    listing: createListing(deps),
    allowance: createAllowance(deps),
  };
}

export function createDirectories(
  deps: EndUserDeps & {
    readonly revocations: Pick<Revocations, "change">;
    readonly snapshots: Pick<Snapshots, "current">;
    readonly log: Log;
    readonly onEnded?: ((directory: string, userId: UserId) => void) | undefined;
  },
): { readonly parts: DirectoryParts; readonly lookup: DirectoryLookup } {
  const findByObjectId = createFindByObjectId(deps);
  const tagsOf = async (directory: Directory, id: string): Promise<readonly string[]> => {
    const user = await records.users.get(directory.name, id);
    const subject = user && subjectOf(directory, user.attributes);
    return subject === undefined ? [] : userTagsOf(directory, subject, findByObjectId);
  };
  const records = createDirectoryRecords({
    ...deps,
    // Their sessions stay valid, without these groups.
    async onRemoved(name, users) {
      const directory = deps.snapshots.current().settings.directories.find((each) => each.name === name);
      if (!directory) return;
      const tags = await inParallel(users, (id) => tagsOf(directory, id));
      await deps.revocations.change(tags.flat());
    },
  });
  const people = createPeople({
    ...records,
    ending: deps,
    findByObjectId,
    onEnded({ name }, users) {
      deps.log.info({ directory: name, users }, "access of user ended by directory");
      for (const user of users) deps.onEnded?.(name, user);
    },
  });
  return { parts: { ...records, people }, lookup: createDirectoryLookup({ ...records, ...deps }) };
}
