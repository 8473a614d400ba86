import { expect, test } from "vitest";

import { createRecords, SESSIONS_TAG, userTag } from "../../../../runtime/identity/identity-records.ts";
import { browserName } from "../../../../runtime/identity/users/browser-name.ts";
import { createCredentialUse } from "../../../../runtime/identity/users/credential-use.ts";
import { createMemoryStore } from "../../../../runtime/store/memory.ts";
import { createTestClock } from "../../../support/clock.ts";
import { userId } from "../../../support/users.ts";

const CHROME = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36";

test.each([
  [CHROME, "Chrome on macOS"],
  [`${CHROME} Edg/140.0`, "Edge on macOS"],
  ["Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Windows"],
  ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1", "Safari on iOS"],
  ["<script>", "Browser"],
  [undefined, "Browser"],
])("browserName(%s)", (text, name) => {
  expect(browserName(text)).toBe(name);
});

test("a session's use is written at most every five minutes, and never for a session that has ended", async () => {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const records = createRecords(store);
  const owner = userId("alice");
  const now = Math.floor(clock.now() / 1000);
  const tags = [SESSIONS_TAG, userTag(owner)];
  await records.sessions.put("s", { userId: owner, createdAt: now }, { expiresAt: now + 9000, tags });
  const writes: Promise<unknown>[] = [];
  const put: typeof records.sessions.put = (...of) => {
    const written = records.sessions.put(...of);
    writes.push(written);
    return written;
  };
  const use = createCredentialUse({ records: { ...records, sessions: { ...records.sessions, put } }, clock });
  const read = async (id: string) => {
    const found = await records.sessions.get(id);
    if (!found) throw new Error("the session has ended");
    return found;
  };
  const note = async (ip: string, found = read("s")): Promise<void> => {
    use.session("s", await found, { ip, userAgent: CHROME });
    await Promise.all(writes);
  };
  for (let time = 0; time < 3; time += 1) await note("10.0.0.1");
  expect(writes).toHaveLength(1);
  const found = await records.sessions.get("s");
  expect([found?.version, found?.value.used, found?.tags, found?.expiresAt]).toEqual([
    2,
    { at: now, ip: "10.0.0.1", browser: "Chrome on macOS" },
    tags,
    now + 9000,
  ]);
  clock.advance(301_000);
  await note("10.0.0.2");
  expect((await records.sessions.get("s"))?.value.used?.ip).toBe("10.0.0.2");
  const before = await read("s");
  await records.sessions.delete("s");
  clock.advance(301_000);
  await note("10.0.0.3", Promise.resolve(before));
  expect(writes).toHaveLength(3);
  expect(await records.sessions.get("s")).toBeUndefined();
});

test("a service account's use is written at most every five minutes, whether its token expires or not", async () => {
  const clock = createTestClock();
  const { serviceAccounts } = createRecords(createMemoryStore({ clock }));
  const now = Math.floor(clock.now() / 1000);
  const account = { name: "bot", email: "", groups: [], createdAt: now, owner: "team-a" };
  await serviceAccounts.put("limited", account, { expiresAt: now + 9000, tags: ["service-accounts"] });
  await serviceAccounts.put("of-client", account, { tags: ["service-accounts"] });
  const use = createCredentialUse({
    records: { serviceAccounts, sessions: createRecords(createMemoryStore({ clock })).sessions },
    clock,
  });
  const note = async (id: string, before = serviceAccounts.get(id)) => {
    const found = await before;
    if (found) use.serviceAccount(id, found);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    return serviceAccounts.get(id);
  };
  for (const id of ["limited", "of-client"]) {
    const first = await note(id);
    expect([first?.version, first?.value, first?.tags]).toEqual([2, { ...account, usedAt: now }, ["service-accounts"]]);
    expect((await note(id))?.version).toBe(2);
  }
  expect((await serviceAccounts.get("limited"))?.expiresAt).toBe(now + 9000);
  expect((await serviceAccounts.get("of-client"))?.expiresAt).toBeUndefined();
  clock.advance(301_000);
  expect((await note("limited"))?.value.usedAt).toBe(now + 301);
  const before = serviceAccounts.get("limited");
  await before;
  await serviceAccounts.delete("limited");
  clock.advance(301_000);
  expect(await note("limited", before)).toBeUndefined();
});
