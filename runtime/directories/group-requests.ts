/** SCIM requests about groups. Members appear in the response for one group, never in lists. */
import { GROUP_SCHEMA, GROUP_SHAPE, readResource } from "./scim/attributes.ts";
import { isSelected, listBody, readListQuery, readSelection, select } from "./scim/list-query.ts";
import { type MemberChanges, readGroupPatch, readMembers } from "./scim/members.ts";
import { patchResource, readOperations } from "./scim/patch.ts";
import { matches, type Term } from "./scim/path.ts";
import { ScimRefusal } from "./scim/refusal.ts";
import { noteChange, readJson, respondNothing, respondScim, type ScimRequest } from "./body.ts";
import { isResourceId, notFound, type Resource } from "./resources.ts";

/** Okta sends all members of a group in one request. */
const MAX_BYTES = 8_388_608;

export async function handleGroups(request: ScimRequest): Promise<void> {
  const { exchange, id, directory, groups, members, listing, allowance } = request;
  if (id === undefined) {
    if (exchange.method !== "POST") return listGroups(request);
    const body = await readJson(exchange, MAX_BYTES);
    const changes = readMembers(body);
    const attributes = readResource(GROUP_SHAPE, body);
    const group = await allowance.spend(directory, "group", () => groups.create(directory.name, attributes));
    listing.forget(directory.name, "group");
    await applyMembers(request, group.id, "created", changes);
    return respondGroup(request, group, 201);
  }
  switch (exchange.method) {
    case "PUT": {
      const body = await readJson(exchange, MAX_BYTES);
      const next = readResource(GROUP_SHAPE, body);
      const changes = readMembers(body);
      const { earlier, resource } = await groups.update(directory.name, id, () => next);
      noteRename(request, earlier, resource);
      await applyMembers(request, id, "changed", changes);
      return respondGroup(request, resource, 200);
    }
    case "PATCH": {
      const { members: changes, others } = readGroupPatch(readOperations(await readJson(exchange, MAX_BYTES)));
      const { earlier, resource } = await groups.update(directory.name, id, (attributes) =>
        patchResource(GROUP_SHAPE, attributes, others),
      );
      noteRename(request, earlier, resource);
      await applyMembers(request, id, "changed", changes);
      // Entra requires a response without a body.
      return respondNothing(exchange);
    }
    case "DELETE": {
      if ((await groups.get(directory.name, id)) === undefined) throw notFound(id);
      // While the group exists: if this fails, the request can be repeated.
      await members.removeGroup(directory.name, id);
      if (await groups.remove(directory.name, id)) allowance.giveBack(directory, "group");
      listing.forget(directory.name, "group");
      noteChange(request, { did: "deleted", group: id });
      return respondNothing(exchange);
    }
    default: {
      const group = await groups.get(directory.name, id);
      if (!group) throw notFound(id);
      return respondGroup(request, group, 200);
    }
  }
}

async function applyMembers(
  request: ScimRequest,
  group: string,
  did: "created" | "changed",
  changes: MemberChanges,
): Promise<void> {
  const { isReplaced, added, removed } = changes;
  // Logged before the change: an aborted change is done in part.
  const counts = { added: added.size, removed: isReplaced ? ("others" as const) : removed.size };
  noteChange(request, { did, group, members: counts });
  await request.members.apply(request.directory.name, group, changes);
}

/** Logs a rename, since policies use the name. */
function noteRename({ log, directory, exchange }: ScimRequest, earlier: Resource, now: Resource): void {
  const before = earlier.attributes["displayName"];
  const after = now.attributes["displayName"];
  if (before === after) return;
  log.warn(
    { request: exchange.id, directory: directory.name, group: now.id, before, after },
    "directory group renamed",
  );
}

async function respondGroup(request: ScimRequest, group: Resource, status: 200 | 201): Promise<void> {
  const { exchange, directory, members, parameters } = request;
  const selection = readSelection(parameters);
  // A response to a creation includes the members that it was created with.
  const ids = isSelected(selection, "members") ? await members.of(directory.name, group.id) : undefined;
  if (ids) await request.turn();
  const resource = { ...groupResource(request, group), ...(ids && { members: ids.map((value) => ({ value })) }) };
  const headers = status === 201 ? ["location", locationOf(request, group)] : [];
  respondScim(exchange, status, select(resource, selection), headers);
}

async function listGroups(request: ScimRequest): Promise<void> {
  const { exchange, directory, listing, parameters } = request;
  const { filter, startIndex, count } = readListQuery(GROUP_SHAPE, parameters);
  const selection = readSelection(parameters);
  const toBody = (group: Resource): object => select(groupResource(request, group), selection);
  if (!filter) {
    const { total, resources } = await listing.page(directory.name, "group", startIndex, count);
    await request.turn();
    return respondScim(exchange, 200, listBody(resources.map(toBody), total, startIndex));
  }
  const found = await findGroups(request, filter);
  const shown = found.slice(startIndex - 1, startIndex - 1 + count);
  respondScim(exchange, 200, listBody(shown.map(toBody), found.length, startIndex));
}

async function findGroups(request: ScimRequest, filter: readonly Term[]): Promise<readonly Resource[]> {
  const { directory, groups, members } = request;
  const texts = (name: string): readonly string[] =>
    filter.flatMap(({ path, value }) => (path.attribute?.name === name && typeof value === "string" ? [value] : []));
  const [id] = texts("id");
  const [name] = texts("displayName");
  const [externalId] = texts("externalId");
  if (id === undefined && name === undefined && externalId === undefined)
    throw new ScimRefusal(400, "A filter must name id, displayName or externalId", "invalidFilter");
  const group =
    id !== undefined
      ? await groups.get(directory.name, id)
      : name !== undefined
        ? await groups.find(directory.name, "displayName", name)
        : await groups.find(directory.name, "externalId", externalId as string);
  if (!group) return [];
  const ofGroup = filter.filter(({ path }) => path.attribute?.name !== "members");
  if (!matches({ ...group.attributes, id: group.id }, ofGroup, GROUP_SHAPE)) return [];
  // Entra queries memberships as `id eq "…" and members eq "…"`.
  if (ofGroup.length === filter.length) return [group];
  const users = texts("members");
  if (users.length !== filter.length - ofGroup.length) return [];
  for (const user of users) if (!isResourceId(user) || !(await members.has(directory.name, group.id, user))) return [];
  return [group];
}

function groupResource(request: ScimRequest, group: Resource): object {
  const { attributes, id, createdAt, changedAt } = group;
  return {
    schemas: [GROUP_SCHEMA],
    id,
    ...attributes,
    meta: {
      resourceType: "Group",
      created: new Date(createdAt).toISOString(),
      lastModified: new Date(changedAt).toISOString(),
      location: locationOf(request, group),
    },
  };
}

function locationOf({ base }: ScimRequest, { id }: Resource): string {
  return `${base}/Groups/${id}`;
}
