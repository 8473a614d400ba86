/**
 * Users of a directory, and what becomes of those who sign in as them.
 *
 * Promises: whoever is not active any more, or is removed, is so in the store before what they have is ended, and all of it
 * has ended when this returns; when something may not have, it fails, and the same asked again ends it. Who becomes active
 * again finds nothing of theirs from before.
 */
import type { Directory } from "../features/sign-in/directories.ts";
import { epochSeconds } from "../shared/clock.ts";
import { providerUserId, type UserId } from "../shared/user-id.ts";
import type { AttributeObject } from "./scim/attributes.ts";
import { objectIdTag, userTag } from "../identity/identity-records.ts";
import { endUser, type EndUserDeps } from "../identity/logout/end-user.ts";
import type { GroupMembers } from "./members.ts";
import type { FindByObjectId } from "./object-ids.ts";
import type { Resource, Resources } from "./resources.ts";

export interface DirectoryPeopleDeps {
  readonly users: Resources;
  readonly members: GroupMembers;
  readonly ending: EndUserDeps;
  readonly findByObjectId: FindByObjectId;
  /** What was known of somebody has ended. */
  readonly onEnded: (directory: Directory, users: readonly UserId[]) => void;
}

export interface People {
  create(directory: Directory, attributes: AttributeObject): Promise<Resource>;
  update(directory: Directory, id: string, change: (attributes: AttributeObject) => AttributeObject): Promise<Resource>;
  /** @returns false when there was none */
  remove(directory: Directory, id: string): Promise<boolean>;
}

export function isActive(attributes: AttributeObject): boolean {
  return attributes["active"] !== false;
}

/** Who a user of the directory is for the provider. */
export function subjectOf({ subjectAttribute }: Directory, attributes: AttributeObject): string | undefined {
  const subject = attributes[subjectAttribute];
  return typeof subject === "string" ? subject : undefined;
}

export function createPeople({ users, members, ending, findByObjectId, onEnded }: DirectoryPeopleDeps): People {
  const { revocations } = ending;

  const end = async (directory: Directory, attributes: AttributeObject): Promise<void> => {
    const { userIssuer, subjectClaim } = directory;
    const subject = subjectOf(directory, attributes);
    if (subject === undefined) return;
    const isObjectId = subjectClaim === "oid";
    const ended: UserId[] = [];
    for (const userId of isObjectId ? await findByObjectId(userIssuer, subject) : userIdsOf(userIssuer, subject)) {
      if (await endUser(ending, userId, epochSeconds(ending.clock))) ended.push(userId);
      // Nothing is known of who only shows the provider's own tokens, and yet their answers may be open.
      else await revocations.revoke(userTag(userId));
    }
    if (isObjectId) await revocations.revoke(objectIdTag(userIssuer, subject));
    if (ended.length > 0) onEnded(directory, ended);
  };

  const update: People["update"] = async (directory, id, change) => {
    const isAnother = (before: AttributeObject, next: AttributeObject): boolean =>
      subjectOf(directory, before) !== subjectOf(directory, next);
    const { earlier, resource } = await users.update(
      directory.name,
      id,
      (before) => {
        const next = change(before);
        // Who is not active becomes so by being said to be, and not by silence.
        return isActive(before) || next["active"] !== undefined ? next : { ...next, active: false };
      },
      async (before, next) => {
        // What came about while they were not active, by whatever race, does not come back with them. And once the record
        // names another person, nobody would know any more whose access was to end.
        if ((!isActive(before) && isActive(next)) || isAnother(before, next)) await end(directory, before);
      },
    );
    if (isAnother(earlier.attributes, resource.attributes)) await end(directory, earlier.attributes);
    if (!isActive(resource.attributes)) await end(directory, resource.attributes);
    return resource;
  };

  return {
    async create(directory, attributes) {
      const resource = await users.create(directory.name, attributes);
      if (!isActive(attributes)) await end(directory, attributes);
      return resource;
    },
    update,
    async remove(directory, id) {
      if ((await users.get(directory.name, id)) === undefined) return false;
      // Ended while they are still there: should that fail, they can be removed again.
      await update(directory, id, (attributes) => ({ ...attributes, active: false }));
      await members.removeUser(directory.name, id);
      return (await users.remove(directory.name, id, (attributes) => !isActive(attributes))) !== undefined;
    },
  };
}

/** Tags of all who are this subject for the gateway. */
export async function userTagsOf(
  { userIssuer, subjectClaim }: Directory,
  subject: string,
  findByObjectId: FindByObjectId,
): Promise<readonly string[]> {
  if (subjectClaim !== "oid") return userIdsOf(userIssuer, subject).map(userTag);
  return [...(await findByObjectId(userIssuer, subject)).map(userTag), objectIdTag(userIssuer, subject)];
}

function userIdsOf(issuer: string | undefined, subject: string): readonly UserId[] {
  const made = providerUserId(issuer, subject);
  return made.ok ? [made.id] : [];
}
