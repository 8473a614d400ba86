/**
 * Users of a directory, and the revocation of their access.
 *
 * Promises: a user who is deactivated or removed is stored as such before their access is revoked, and all of it is
 * revoked when the call returns. If something may remain, the call fails, and repeating it revokes the rest. A
 * reactivated user gets no earlier session or grant back.
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
  /** Called after the access of users was revoked. */
  readonly onEnded: (directory: Directory, users: readonly UserId[]) => void;
}

export interface People {
  create(directory: Directory, attributes: AttributeObject): Promise<Resource>;
  update(directory: Directory, id: string, change: (attributes: AttributeObject) => AttributeObject): Promise<Resource>;
  /** @returns false if the user does not exist */
  remove(directory: Directory, id: string): Promise<boolean>;
}

export function isActive(attributes: AttributeObject): boolean {
  return attributes["active"] !== false;
}

/** Subject of a directory's user at the identity provider. */
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
      // A user who presents only the provider's own tokens has no record, but may have open responses.
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
        // An inactive user becomes active only by an explicit `active`, never by its absence.
        return isActive(before) || next["active"] !== undefined ? next : { ...next, active: false };
      },
      async (before, next) => {
        // Revokes access that a race created while the user was inactive. If the record changes to another person's
        // subject, the earlier person's access must be revoked now: later, no record names them.
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
      // Revoked while the user exists: if this fails, the request can be repeated.
      await update(directory, id, (attributes) => ({ ...attributes, active: false }));
      await members.removeUser(directory.name, id);
      return (await users.remove(directory.name, id, (attributes) => !isActive(attributes))) !== undefined;
    },
  };
}

/** Tags of all users with this subject. */
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
