/** Directories with a store only: revocation of access, and limits. */
import { expect, test } from "vitest";

import type { Directory } from "../../../runtime/features/sign-in/directories.ts";
import { createAllowance } from "../../../runtime/directories/allowance.ts";
import { createDirectories, createDirectoryRecords } from "../../../runtime/directories/directories.ts";
import { inParallel, MAX_GROUPS } from "../../../runtime/directories/members.ts";
import { memberPrefix, membershipsTag, resourcePrefix } from "../../../runtime/directories/records.ts";
import {
  createRecords,
  type IdentityRecord,
  identityTags,
  objectIdTag,
} from "../../../runtime/identity/identity-records.ts";
import type { ScimRefusal } from "../../../runtime/directories/scim/refusal.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { createTestClock } from "../../support/clock.ts";
import { snapshotFrom } from "../../support/config.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { createTestRevocations } from "../../support/pipeline.ts";
import { userId } from "../../support/users.ts";

const SNAPSHOT = snapshotFrom(`
idp_provider_url: https://login.example.com
idp_client_id: gateway
directories: { entra: { token: a-token-of-a-directory, subject_claim: oid, max_users: 3, max_groups: 1 } }
`);
const [DIRECTORY] = SNAPSHOT.settings.directories as readonly [Directory];

/** @param wrap intercepts the store */
function start(wrap: (store: Store) => Partial<Store> = () => ({})) {
  const clock = createTestClock();
  const kept = createMemoryStore({ clock });
  const store: Store = { ...kept, ...wrap(kept) };
  const revocations = createTestRevocations();
  const revoked: string[] = [];
  revocations.subscribe((key) => revoked.push(key));
  const snapshots = { current: () => SNAPSHOT };
  const keys = createKeys([Buffer.alloc(32, 1)]);
  const deps = { store, clock, revocations, snapshots, keys, log: silentLog(), records: createRecords(store) };
  return { clock, store, revoked, ...createDirectories(deps) };
}

function identity(name: string, issuer?: string): IdentityRecord {
  return {
    userId: userId(name, issuer),
    ...(issuer === undefined ? {} : { issuer }),
    providerUrl: "https://login.example.com",
    providerClientId: "gateway",
    version: 1,
    email: `${name}@example.com`,
    name,
    groups: [],
    claims: { oid: `oid-${name}` },
    confirmedAt: 1,
    confirmations: 1,
    signIns: 1,
  };
}

test("access of a user with an object id is revoked immediately, with and without the tag of newer records", async () => {
  const { store, clock, revoked, parts } = start();
  const tags = (record: IdentityRecord) => ({ tags: identityTags(record) });
  const [anna, bert, carl, other] = [identity("anna"), identity("bert"), identity("carl"), identity("bert", "other")];
  await store.put(`identity:${anna.userId}`, anna, tags(anna));
  for (const each of [bert, carl, other])
    await store.put(`identity:${each.userId}`, each, {
      tags: identityTags(each).filter((tag) => !tag.startsWith("oid:")),
    });
  const end = async (name: string): Promise<readonly string[]> => {
    revoked.length = 0;
    await parts.people.create(DIRECTORY, { userName: name, externalId: `oid-${name}`, active: false });
    return [...revoked];
  };
  const tagOf = (name: string): string => objectIdTag(undefined, `oid-${name}`);
  expect(await end("anna")).toEqual(["user:anna", tagOf("anna")]);
  expect(await end("bert")).toEqual(["user:bert", tagOf("bert")]);
  // Their tokens of the provider name them, though no record does.
  expect(await end("dora")).toEqual([tagOf("dora")]);
  // A record of an older version is found later.
  const erik = identity("erik");
  await store.put(`identity:${erik.userId}`, erik, { tags: [`user:${erik.userId}`] });
  clock.advance(60_000);
  expect(await end("erik")).toEqual(["user:erik", tagOf("erik")]);
  expect((await store.get<IdentityRecord>("identity:carl"))?.value.refusedAt).toBeUndefined();
  expect((await store.get<IdentityRecord>("identity:bert"))?.value.refusedAt).toBeDefined();
});

test("the limit counts the users of all processes, and a removed user makes room", async () => {
  const { store, clock } = start();
  const [here, there] = [createAllowance({ store, clock }), createAllowance({ store, clock })];
  let made = 0;
  const make = (allowance = here) =>
    allowance.spend(DIRECTORY, "user", async () => {
      made += 1;
      await store.put(`${resourcePrefix("user", "entra")}${made}`, {});
      return made;
    });
  expect(await make()).toBe(1);
  await expect(here.spend(DIRECTORY, "user", () => Promise.reject(new Error("taken")))).rejects.toThrow("taken");
  const outcomes = await Promise.allSettled([make(), make(), make(), make()]);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(2);
  const refusal: ScimRefusal = await make().then(
    () => expect.unreachable("it was let in"),
    (error: ScimRefusal) => error,
  );
  expect([refusal.status, refusal.message]).toEqual([403, 'The limit of users is reached: "max_users" is 3']);
  await expect(make(there)).rejects.toThrow("max_users");
  // A removal by another process is noticed after a while.
  await store.delete(`${resourcePrefix("user", "entra")}1`);
  await expect(make()).rejects.toThrow("max_users");
  clock.advance(10_000);
  expect(await make()).toBe(4);
  await expect(make()).rejects.toThrow("max_users");
  // A removal by this process is noticed immediately.
  await store.delete(`${resourcePrefix("user", "entra")}2`);
  here.giveBack(DIRECTORY, "user");
  expect(await make()).toBe(5);
  // Groups are counted separately.
  await here.spend(DIRECTORY, "group", () => Promise.resolve());
});

test("a creation so slow that its name may be reassigned gets 503 and leaves no record", async () => {
  const { store, clock, parts } = start();
  let beforeUser: (() => Promise<void>) | undefined;
  const slowStore: typeof store = {
    ...store,
    async put(key, ...rest) {
      if (key.startsWith("directory-user:")) await beforeUser?.();
      return store.put(key, ...rest);
    },
  };
  const [slow, fast] = [createDirectoryRecords({ store: slowStore, clock }).users, parts.users];
  const attributes = { userName: "twin@example.com" };
  // A minute passes between the name and the user, and the name is reassigned.
  const taken: string[] = [];
  beforeUser = async () => {
    beforeUser = undefined;
    clock.advance(61_000);
    taken.push((await fast.create(DIRECTORY.name, attributes)).id);
  };
  await expect(slow.create(DIRECTORY.name, attributes)).rejects.toMatchObject({ status: 503 });
  const kept = await store.page({ prefix: resourcePrefix("user", DIRECTORY.name), limit: 10 });
  expect(kept.map(({ key }) => key)).toEqual([resourcePrefix("user", DIRECTORY.name) + taken[0]]);
  expect((await fast.find(DIRECTORY.name, "userName", "twin@example.com"))?.id).toBe(taken[0]);
});

const EVA = { userName: "eva", externalId: "oid-eva" };

test("of two requests about one user, the slower does not release a name that the faster has reserved again", async () => {
  let beforeDelete: ((key: string) => Promise<void>) | undefined;
  const { parts } = start((store) => ({
    async delete(key, options) {
      await beforeDelete?.(key);
      return store.delete(key, options);
    },
  }));
  const { id } = await parts.people.create(DIRECTORY, EVA);
  // A concurrent request reserves the name for an inactive user, just before it is released.
  beforeDelete = async (key) => {
    if (!key.startsWith("directory-name:")) return;
    beforeDelete = undefined;
    await parts.people.update(DIRECTORY, id, () => ({ ...EVA, active: false }));
  };
  await parts.people.update(DIRECTORY, id, () => ({ ...EVA, externalId: "oid-other" }));
  expect(beforeDelete).toBeUndefined();
  expect((await parts.users.find(DIRECTORY.name, "externalId", "oid-eva"))?.attributes["active"]).toBe(false);
});

test("a user reactivated during a deletion stays, and a second deletion removes them", async () => {
  let beforeLast: (() => Promise<unknown>) | undefined;
  const { parts, revoked } = start((store) => ({
    async page(query) {
      // Their memberships, after which the user goes.
      if (query.tag !== undefined) await beforeLast?.();
      return store.page(query);
    },
  }));
  const { id } = await parts.people.create(DIRECTORY, EVA);
  beforeLast = () => parts.people.update(DIRECTORY, id, () => ({ ...EVA, active: true }));
  await expect(parts.people.remove(DIRECTORY, id)).rejects.toMatchObject({ status: 503 });
  expect((await parts.users.get(DIRECTORY.name, id))?.attributes["active"]).toBe(true);
  beforeLast = undefined;
  revoked.length = 0;
  expect(await parts.people.remove(DIRECTORY, id)).toBe(true);
  expect(revoked).toEqual([objectIdTag(undefined, "oid-eva")]);
  expect(await parts.people.remove(DIRECTORY, id)).toBe(false);
});

test("if a record changes to another person, the first one's access is revoked even if the process dies during the change", async () => {
  let isDead = false;
  const { parts, revoked } = start((store) => ({
    async put(key, value, options) {
      const put = await store.put(key, value, options);
      if (isDead && key.startsWith("directory-user:")) throw new Error("died");
      return put;
    },
  }));
  const { id } = await parts.people.create(DIRECTORY, EVA);
  isDead = true;
  const change = () => parts.people.update(DIRECTORY, id, () => ({ ...EVA, externalId: "oid-other" }));
  await expect(change()).rejects.toThrow("died");
  // Sent again it is the same change no more.
  isDead = false;
  await change();
  expect(revoked).toContain(objectIdTag(undefined, "oid-eva"));
});

test("groups of a user in too many are unknown; other users may have more than fit into a token", async () => {
  const { parts, store, lookup } = start();
  const { id } = await parts.people.create(DIRECTORY, EVA);
  const join = (group: string) =>
    store.put(memberPrefix(DIRECTORY.name, group) + id, { group }, { tags: [membershipsTag(DIRECTORY.name, id)] });
  const eva = { id: userId("eva"), claims: { oid: "oid-eva" }, groups: ["claimed"], version: 1 };
  const group = await parts.groups.create(DIRECTORY.name, { displayName: "Writers" });
  await join(group.id);
  expect(await lookup.apply(eva)).toMatchObject({
    groups: ["Writers"],
    leftOut: { groups: false, claims: [], resolver: "answered" },
  });
  await Promise.all(Array.from({ length: MAX_GROUPS }, (_, at) => join(at.toString(16).padStart(32, "0"))));
  expect(await lookup.apply(eva)).toMatchObject({ groups: [], leftOut: { groups: true, claims: [] } });
});

test("parallel results keep the order of the items, whichever completes first", async () => {
  const waiting: (() => void)[] = [];
  const items = Array.from({ length: 20 }, (_, index) => index);
  const results = inParallel(items, async (item) => {
    await new Promise<void>((resolve) => waiting.push(resolve));
    return item;
  });
  for (let left = items.length; left > 0; left -= 1) {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    waiting.pop()?.();
  }
  expect(await results).toEqual(items);
});
