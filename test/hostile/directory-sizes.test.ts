/**
 * Directories of 10⁵ users: their requests use store and event loop in small steps, so that other directories and
 * sign-ins are served in between. Each case is in DESIGN.md, "Budgets".
 */
import { expect, test } from "vitest";

import { SESSIONS_TAG } from "../../runtime/identity/identity-records.ts";
import { type EndUserDeps, findUsersByEmail } from "../../runtime/identity/logout/end-user.ts";
import { createListing } from "../../runtime/directories/listing.ts";
import { createMembers, MAX_GROUPS } from "../../runtime/directories/members.ts";
import { GROUP_SHAPE, readResource } from "../../runtime/directories/scim/attributes.ts";
import { readGroupPatch, readMembers } from "../../runtime/directories/scim/members.ts";
import { readOperations } from "../../runtime/directories/scim/patch.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { checkPage } from "../../runtime/store/check.ts";
import { openDatabase, sqliteOperations } from "../../runtime/store/sqlite/sqlite-database.ts";
import type { PageQuery, Store, StoredRecord } from "../../runtime/store/store.ts";
import { unitsOf } from "../support/work.ts";

const MANY = 100_000;

/** A store of endless records under each prefix and tag, which counts requests. */
function endlessStore(value: object) {
  const asked = { pages: 0, mostRecords: 0, atOnce: 0, mostAtOnce: 0 };
  let next = 0;
  const page = async ({ prefix, limit }: PageQuery): Promise<readonly StoredRecord<never>[]> => {
    asked.pages += 1;
    asked.mostRecords = Math.max(asked.mostRecords, limit);
    asked.atOnce += 1;
    asked.mostAtOnce = Math.max(asked.mostAtOnce, asked.atOnce);
    await new Promise(setImmediate);
    asked.atOnce -= 1;
    return Array.from({ length: limit }, () => {
      const key = prefix + String((next += 1)).padStart(32, "0");
      return { key, value: value as never, version: 1, tags: [] };
    });
  };
  const keys = async ({ prefix }: PageQuery): Promise<readonly string[]> =>
    Array.from({ length: 500 }, (_, at) => prefix + String(at).padStart(32, "0"));
  return { asked, store: { page, keys } as unknown as Store };
}

test("each page of 100,000 keys costs the same, including the last one", () => {
  const database = openDatabase(":memory:", 0);
  const write = database.prepare("INSERT INTO gateway_records VALUES (?, '{}', 1, NULL)");
  database.exec("BEGIN");
  for (let at = 0; at < MANY; at += 1) write.run(`member:${String(at).padStart(32, "0")}`);
  database.exec("COMMIT");
  const store = sqliteOperations(database);
  const readAll = (): void => {
    let read = 0;
    for (let after: string | undefined; ;) {
      const query = checkPage({ prefix: "member:", limit: 1000, ...(after !== undefined && { after }) });
      const found = store.keys(query, 0);
      read += found.length;
      if (found.length < 1000) break;
      after = found.at(-1);
    }
    expect(read).toBe(MANY);
  };
  // Some 60; more than 1,000 where a page begins its search at the beginning.
  expect(unitsOf(readAll, 400)).toBeLessThan(400);
  database.close();
});

test("a user in 100,000 groups: no more are read than are decided by", async () => {
  const { store, asked } = endlessStore({ group: "0" });
  const groups = await createMembers(store).groupsOf("okta", "user");
  expect(groups.length).toBeGreaterThan(MAX_GROUPS);
  expect(asked.pages).toBeLessThan(4);
});

test("records of 32 KiB: 16 requests for pages and for one address read them a few at a time, in turns", async () => {
  const { store, asked } = endlessStore({ attributes: {} });
  const listing = createListing({ store, clock: systemClock });
  const first = async (): Promise<void> => {
    let found = 0;
    for await (const users of listing.tagged("okta", "user", "tag")) if ((found += users.length) >= 200) return;
  };
  const page = async (): Promise<void> => {
    expect((await listing.page("okta", "user", 1, 200)).resources).toHaveLength(200);
  };
  await Promise.all(Array.from({ length: 16 }, (_, at) => (at % 2 === 0 ? first() : page())));
  expect(asked.mostRecords * asked.mostAtOnce).toBeLessThanOrEqual(50);
});

test("an issuer revokes an address that no user has: sessions are read in pages, not all together", async () => {
  const limits: number[] = [];
  const total = 1200;
  const page = async ({ prefix, limit, tag, after }: PageQuery): Promise<readonly StoredRecord<never>[]> => {
    limits.push(limit);
    expect(tag).toBe(SESSIONS_TAG);
    const from = after === undefined ? 0 : Number(after.slice(prefix.length)) + 1;
    return Array.from({ length: Math.min(limit, total - from) }, (_, at) => {
      const value = { userId: `user-${(from + at) % 3}` } as never;
      return { key: prefix + String(from + at).padStart(8, "0"), value, version: 1, tags: [] };
    });
  };
  // No user has the tag of the address.
  const list = async (tag: string): Promise<readonly never[]> => {
    expect(tag).not.toBe(SESSIONS_TAG);
    return [];
  };
  const identities = { get: async (id: string) => ({ value: { email: id === "user-1" ? "Ann@example.com" : "" } }) };
  const deps = { store: { page, list }, records: { identities } } as unknown as EndUserDeps;
  expect(await findUsersByEmail(deps, "ann@example.com")).toEqual(["user-1"]);
  expect(limits).toEqual([500, 500, 500]);
});

test("a group, and a change of one, with 190,000 unknown names", async () => {
  const body = Object.fromEntries(Array.from({ length: 190_000 }, (_, at) => [`n${at}`, 1]));
  const members = (): void => expect(() => readMembers(body)).toThrow("Too many attributes");
  const whole = (): void => expect(() => readResource(GROUP_SHAPE, body)).toThrow("Too many attributes");
  const operations = readOperations({ Operations: [{ op: "add", value: body }] });
  const patch = (): void => expect(() => readGroupPatch(operations)).toThrow("Too many attributes");
  for (const work of [members, whole, patch]) {
    // A turn for each: what the test prepares, and its repetitions, are not the work of one request.
    await new Promise(setImmediate);
    expect(unitsOf(work, 250)).toBeLessThan(250);
  }
});
