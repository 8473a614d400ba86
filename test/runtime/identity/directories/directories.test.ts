/** Directories over a store alone: whose access ends, and how much may be kept. */
import { expect, test } from "vitest";

import type { Directory } from "../../../../runtime/features/sign-in/directories.ts";
import { createAllowance } from "../../../../runtime/identity/directories/allowance.ts";
import { createDirectories, createDirectoryRecords } from "../../../../runtime/identity/directories/directories.ts";
import { resourcePrefix } from "../../../../runtime/identity/directories/records.ts";
import {
  createRecords,
  type IdentityRecord,
  identityTags,
  objectIdTag,
} from "../../../../runtime/identity/identity-records.ts";
import type { ScimRefusal } from "../../../../runtime/identity/scim/refusal.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../../runtime/store/memory.ts";
import { createTestClock } from "../../../support/clock.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { createTestRevocations } from "../../../support/pipeline.ts";
import { userId } from "../../../support/users.ts";

const SNAPSHOT = snapshotFrom(`
idp_provider_url: https://login.example.com
idp_client_id: gateway
directories: { entra: { token: a-token-of-a-directory, subject_claim: oid, max_users: 3, max_groups: 1 } }
`);
const [DIRECTORY] = SNAPSHOT.settings.directories as readonly [Directory];

function start() {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const revocations = createTestRevocations();
  const revoked: string[] = [];
  revocations.subscribe((key) => revoked.push(key));
  const snapshots = { current: () => SNAPSHOT };
  const deps = { store, clock, revocations, snapshots, log: silentLog(), records: createRecords(store) };
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

test("who is known by an object id ends at once, whether their record has its tag or is from before there was one", async () => {
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
  // What an older program writes is found later.
  const erik = identity("erik");
  await store.put(`identity:${erik.userId}`, erik, { tags: [`user:${erik.userId}`] });
  clock.advance(60_000);
  expect(await end("erik")).toEqual(["user:erik", tagOf("erik")]);
  expect((await store.get<IdentityRecord>("identity:carl"))?.value.refusedAt).toBeUndefined();
  expect((await store.get<IdentityRecord>("identity:bert"))?.value.refusedAt).toBeDefined();
});

test("there are as many users as there may be, whoever made them, and one that went makes room", async () => {
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
  expect([refusal.status, refusal.message]).toEqual([403, 'There are as many users as there may be: "max_users" is 3']);
  await expect(make(there)).rejects.toThrow("max_users");
  // Another process took one away: seen after a while.
  await store.delete(`${resourcePrefix("user", "entra")}1`);
  await expect(make()).rejects.toThrow("max_users");
  clock.advance(10_000);
  expect(await make()).toBe(4);
  await expect(make()).rejects.toThrow("max_users");
  // One that this process took away: at once.
  await store.delete(`${resourcePrefix("user", "entra")}2`);
  here.giveBack(DIRECTORY, "user");
  expect(await make()).toBe(5);
  // Groups are counted by themselves.
  await here.spend(DIRECTORY, "group", () => Promise.resolve());
});

test("who was so slow to make a user that the name may be another's by now is asked to come again, and leaves nothing", async () => {
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
  // Between the name and the user a minute passes, and the name is given to another.
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
