import { expect, it } from "vitest";

import { createRecords, SESSIONS_TAG, userTag } from "../../../../runtime/identity/identity-records.ts";
import { createProviderSessions } from "../../../../runtime/identity/sign-in/provider-sessions.ts";
import { createKeys } from "../../../../runtime/shared/keys.ts";
import { epochSeconds } from "../../../../runtime/shared/clock.ts";
import { createMemoryStore } from "../../../../runtime/store/memory.ts";
import { createTestClock } from "../../../support/clock.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { userId } from "../../../support/users.ts";

const ALICE = userId("alice");

/** A sign-in with a session to continue; `meanwhile` happens between reading and writing the record, each time. */
async function continued(
  meanwhile: (sessions: ReturnType<typeof createRecords>["sessions"], time: number) => Promise<unknown>,
) {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const records = createRecords(store);
  const { sessions } = records;
  const now = epochSeconds(clock);
  const tags = [SESSIONS_TAG, userTag(ALICE)];
  await sessions.put("s", { userId: ALICE, createdAt: now - 600 }, { expiresAt: now + 3600, tags });
  let times = 0;
  const put: typeof sessions.put = async (...of) => {
    await meanwhile(sessions, (times += 1));
    return sessions.put(...of);
  };
  const keys = createKeys([Buffer.alloc(32, 1)]);
  const begin = createProviderSessions({ store, records: { ...records, sessions: { ...sessions, put } }, keys, clock });
  const tokens = { accessToken: "a", idToken: undefined, idClaims: { auth_time: now } };
  const handle = await begin.begin(snapshotFrom("routes: []"), ALICE, tokens as never, { sessionId: "s" });
  return {
    handle,
    times,
    value: (await sessions.get("s"))?.value,
    now,
    count: (await store.list(SESSIONS_TAG)).length,
  };
}

/** As the record of a session's last use is written by another request. */
async function noteUse(sessions: ReturnType<typeof createRecords>["sessions"], at: number): Promise<unknown> {
  const found = await sessions.get("s");
  if (!found) throw new Error("no session");
  const { version: ifVersion, expiresAt, tags, value } = found;
  const options = { ifVersion, tags, ...(expiresAt === undefined ? {} : { expiresAt }) };
  return sessions.put("s", { ...value, used: { at, ip: "10.0.0.1", browser: "Chrome" } }, options);
}

it("continues a session whose last use is written at the same moment, and keeps that", async () => {
  const { handle, times, value, now, count } = await continued((sessions, time) =>
    time === 1 ? noteUse(sessions, 7) : Promise.resolve(),
  );
  expect([handle.sessionId, times, count]).toEqual(["s", 2, 1]);
  expect(value).toMatchObject({ authenticatedAt: now, used: { at: 7 } });
});

it("makes a new session where the old one ends at the same moment", async () => {
  const { handle, value, count } = await continued((sessions, time) =>
    time === 1 ? sessions.delete("s") : Promise.resolve(),
  );
  expect([handle.sessionId === "s", value, count]).toEqual([false, undefined, 1]);
});

it("makes a new session where the record changes each time", async () => {
  const { handle, times } = await continued((sessions, time) =>
    time <= 3 ? noteUse(sessions, time) : Promise.resolve(),
  );
  // Three attempts, and the new session.
  expect([handle.sessionId === "s", times]).toEqual([false, 4]);
});
