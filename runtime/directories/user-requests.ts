/** SCIM requests about users. */
import { type AttributeObject, ENTERPRISE_SCHEMA, readResource, USER_SCHEMA, USER_SHAPE } from "./scim/attributes.ts";
import { listBody, readListQuery, readSelection, select } from "./scim/list-query.ts";
import { changesOf, patchResource, readOperations } from "./scim/patch.ts";
import { matches, type Term } from "./scim/path.ts";
import { ScimRefusal } from "./scim/refusal.ts";
import { noteChange, readJson, respondNothing, respondScim, type ScimRequest } from "./body.ts";
import { addressTag } from "./records.ts";
import { inParallel, MAX_GROUPS } from "./members.ts";
import { isActive, subjectOf } from "./people.ts";
import { notFound, type Resource } from "./resources.ts";

const MAX_BYTES = 131_072;
/** Users with the same address. */
const MAX_CANDIDATES = 1000;

export async function handleUsers(request: ScimRequest): Promise<void> {
  const { exchange, id, directory, people, listing, allowance } = request;
  if (id === undefined) {
    if (exchange.method === "POST") {
      const attributes = readResource(USER_SHAPE, await readJson(exchange, MAX_BYTES));
      const user = await allowance.spend(directory, "user", () => people.create(directory, attributes));
      listing.forget(directory.name, "user");
      noteChange(request, { did: "created", user: user.id, active: isActive(user.attributes) });
      return respondUser(request, user, 201);
    }
    return listUsers(request);
  }
  switch (exchange.method) {
    case "PUT": {
      const next = readResource(USER_SHAPE, await readJson(exchange, MAX_BYTES));
      // If a PUT omits the client's own id, it stays unchanged. Without the id, the record would match no user.
      const change = ({ externalId }: AttributeObject): AttributeObject =>
        externalId === undefined ? next : { externalId, ...next };
      return respondChanged(request, await people.update(directory, id, change));
    }
    case "PATCH": {
      const operations = readOperations(await readJson(exchange, MAX_BYTES));
      const change = (earlier: AttributeObject): AttributeObject =>
        patchResource(USER_SHAPE, earlier, changesOf(USER_SHAPE, operations));
      return respondChanged(request, await people.update(directory, id, change));
    }
    case "DELETE": {
      if (!(await people.remove(directory, id))) throw notFound(id);
      allowance.giveBack(directory, "user");
      noteChange(request, { did: "deleted", user: id });
      listing.forget(directory.name, "user");
      return respondNothing(exchange);
    }
    default: {
      const user = await request.users.get(directory.name, id);
      if (!user) throw notFound(id);
      return respondUser(request, user, 200);
    }
  }
}

function respondChanged(request: ScimRequest, user: Resource): Promise<void> {
  const { log, directory } = request;
  const active = isActive(user.attributes);
  noteChange(request, { did: "changed", user: user.id, active });
  if (!active && subjectOf(directory, user.attributes) === undefined) {
    const attribute = directory.subjectAttribute;
    log.warn({ directory: directory.name, user: user.id, attribute }, "cannot identify deactivated directory user");
  }
  return respondUser(request, user, 200);
}

async function respondUser(request: ScimRequest, user: Resource, status: 200 | 201): Promise<void> {
  const { exchange, directory, members, groups, parameters } = request;
  // A new user is in no group: nothing could refer to the id.
  const ids = status === 201 ? [] : await members.groupsOf(directory.name, user.id);
  const found = await inParallel(ids.slice(0, MAX_GROUPS), (group) => groups.get(directory.name, group));
  const memberships = found.flatMap((group) =>
    group ? [{ value: group.id, display: group.attributes["displayName"], type: "direct" }] : [],
  );
  const resource = { ...userResource(request, user), groups: memberships };
  const body = select(resource, readSelection(parameters));
  respondScim(exchange, status, body, status === 201 ? ["location", locationOf(request, user)] : []);
}

async function listUsers(request: ScimRequest): Promise<void> {
  const { exchange, directory, listing, parameters } = request;
  const { filter, startIndex, count } = readListQuery(USER_SHAPE, parameters);
  const selection = readSelection(parameters);
  const toBody = (user: Resource): object => select(userResource(request, user), selection);
  if (!filter) {
    const { total, resources } = await listing.page(directory.name, "user", startIndex, count);
    await request.turn();
    return respondScim(exchange, 200, listBody(resources.map(toBody), total, startIndex));
  }
  let total = 0;
  const shown: object[] = [];
  // Count all matches, but build only those on the page.
  for await (const found of findUsers(request, filter)) {
    for (const user of found) {
      total += 1;
      if (total >= startIndex && shown.length < count) shown.push(toBody(user));
    }
  }
  await request.turn();
  respondScim(exchange, 200, listBody(shown, total, startIndex));
}

/** Uses an indexed term if there is one, to avoid reading all users. */
async function* findUsers(request: ScimRequest, filter: readonly Term[]): AsyncIterable<readonly Resource[]> {
  const { directory, users, listing } = request;
  const named = (name: string): string | undefined => {
    const term = filter.find(({ path }) => path.attribute?.name === name && !path.isExtension);
    return typeof term?.value === "string" ? term.value : undefined;
  };
  const holds = (user: Resource): boolean => matches({ ...user.attributes, id: user.id }, filter, USER_SHAPE);
  const of = (user: Resource | undefined): readonly Resource[] => (user && holds(user) ? [user] : []);
  const id = named("id");
  if (id !== undefined) {
    yield of(await users.get(directory.name, id));
    return;
  }
  for (const attribute of ["userName", "externalId"]) {
    const text = named(attribute);
    if (text === undefined) continue;
    yield of(await users.find(directory.name, attribute, text));
    return;
  }
  const address = named("emails");
  if (address === undefined)
    throw new ScimRefusal(400, "A filter must name id, userName, externalId or emails", "invalidFilter");
  let candidates = 0;
  for await (const page of listing.tagged(directory.name, "user", addressTag(directory.name, address))) {
    yield page.filter(holds);
    candidates += page.length;
    if (candidates >= MAX_CANDIDATES) return;
  }
}

export function userResource(request: Pick<ScimRequest, "base">, user: Resource): object {
  const { attributes, id, createdAt, changedAt } = user;
  return {
    schemas: attributes[ENTERPRISE_SCHEMA] === undefined ? [USER_SCHEMA] : [USER_SCHEMA, ENTERPRISE_SCHEMA],
    id,
    ...attributes,
    active: attributes["active"] ?? true,
    meta: {
      resourceType: "User",
      created: new Date(createdAt).toISOString(),
      lastModified: new Date(changedAt).toISOString(),
      location: locationOf(request, user),
    },
  };
}

function locationOf({ base }: Pick<ScimRequest, "base">, { id }: Resource): string {
  return `${base}/Users/${id}`;
}
