/** Membership changes of one request, summed up over its operations without reading the current members. */
import { isRecord } from "../../shared/is-record.ts";
import { GROUP_SHAPE, memberOf } from "./attributes.ts";
import { type AttributeChange, changesOf, type PatchOperation } from "./patch.ts";
import { ScimRefusal } from "./refusal.ts";

export interface MemberChanges {
  /** Removes all current members that are not in `added`. */
  readonly isReplaced: boolean;
  /** User ids, disjoint from `removed`. */
  readonly added: ReadonlySet<string>;
  readonly removed: ReadonlySet<string>;
}

export const NO_CHANGES: MemberChanges = { isReplaced: false, added: new Set(), removed: new Set() };

/** Okta sends a large group in one request. */
const MAX_MEMBERS = 100_000;
/** Our ids are short. Any other id belongs to no user. */
const ID = /^[\w-]{1,64}$/;

/** Membership changes of a whole group. Absent `members` changes nothing. @throws ScimRefusal */
export function readMembers(body: unknown): MemberChanges {
  const value = isRecord(body) ? memberOf(body, "members") : undefined;
  if (value === undefined || value === null) return NO_CHANGES;
  return { isReplaced: true, added: new Set(idsOf(value)), removed: new Set() };
}

/** Splits operations on members from operations on the group itself. @throws ScimRefusal */
export function readGroupPatch(operations: readonly PatchOperation[]): {
  readonly members: MemberChanges;
  readonly others: readonly AttributeChange[];
} {
  const others: AttributeChange[] = [];
  const added = new Set<string>();
  const removed = new Set<string>();
  let isReplaced = false;
  const clear = (): void => {
    isReplaced = true;
    added.clear();
    removed.clear();
  };
  for (const change of changesOf(GROUP_SHAPE, operations)) {
    const { path, op } = change;
    if (path.attribute?.name !== "members") {
      others.push(change);
      continue;
    }
    const ids = change.path.where ? idsWhere(change) : idsOf(change.value);
    if (op === "remove") {
      // Without filter and value, all members are removed. With an empty list, none are.
      if (!path.where && (change.value === undefined || change.value === null)) clear();
      for (const id of ids) {
        added.delete(id);
        if (!isReplaced) removed.add(id);
      }
    } else {
      if (op === "replace" && !path.where) clear();
      for (const id of ids) {
        added.add(id);
        removed.delete(id);
      }
    }
    if (added.size + removed.size > MAX_MEMBERS) throw new ScimRefusal(400, "Too many members", "invalidValue");
  }
  return { members: { isReplaced, added, removed }, others };
}

/** `members[value eq "…"]` */
function idsWhere({ path: { where = [] } }: AttributeChange): readonly string[] {
  const [only, ...more] = where;
  if (only === undefined || more.length > 0 || only.name.toLowerCase() !== "value" || typeof only.value !== "string")
    throw new ScimRefusal(400, 'Members are identified only by "value"', "invalidPath");
  return idsOf(only.value);
}

/** Parses a list of members, one member, or plain ids. Ignores texts that cannot be our ids. @throws ScimRefusal */
function idsOf(value: unknown): readonly string[] {
  if (value === undefined || value === null || value === "") return [];
  const items = Array.isArray(value) ? (value as readonly unknown[]) : [value];
  if (items.length > MAX_MEMBERS) throw new ScimRefusal(400, "Too many members", "invalidValue");
  return items.flatMap((item) => {
    const id = isRecord(item) ? memberOf(item, "value") : item;
    if (typeof id !== "string") throw new ScimRefusal(400, 'A member must have a "value"', "invalidValue");
    return ID.test(id) ? [id] : [];
  });
}
