import { expect, test } from "vitest";

import { blockTarget, unblockTarget } from "../../../runtime/administration/blocking.ts";
import { readBlocks } from "../../../runtime/identity/block-records.ts";
import { createRecords, identityTags, SESSIONS_TAG, userTag } from "../../../runtime/identity/identity-records.ts";
import type { UserId } from "../../../runtime/shared/user-id.ts";
import { createTestClock } from "../../support/clock.ts";
import { createBreakableStore } from "../../support/store.ts";

test("users are found by their address, in any case, without reading sessions of other users", async () => {
  const clock = createTestClock(1_800_000_000_000);
  const { store, calls } = createBreakableStore(clock);
  const expiresAt = 1_800_003_600;
  const know = (
    userId: string,
    email: string,
    tags = identityTags({ userId: userId as UserId, email, issuer: "", claims: {} }),
  ) => store.put(`identity:${userId}`, { userId, email, claims: { email } }, { expiresAt, tags });
  await know("one", "Alice@example.com");
  await know("two", "alice@example.com");
  await know("three", "bob@example.com");
  // As older programs wrote it.
  await know("four", "carol@example.com", [userTag("four")]);
  const session = { userId: "four" as UserId, createdAt: 1 };
  await createRecords(store).sessions.put("s", session, { expiresAt, tags: [SESSIONS_TAG, userTag("four")] });

  const deps = { store, clock, record: () => {} };
  const said = { reason: "", by: "cli", until: undefined };
  const block = async (name: string) => {
    calls.length = 0;
    const blocked = await blockTarget(deps, { kind: "user", name }, said);
    return {
      names: blocked.map((each) => each.name).toSorted(),
      lists: calls.filter((call) => call === "list" || call === "page").length,
    };
  };
  const alice = await block("alice@EXAMPLE.com");
  expect(alice.names).toEqual(["one", "two"]);
  const carol = await block("carol@example.com");
  expect(carol.names).toEqual(["four"]);
  expect(carol.lists).toBeGreaterThan(alice.lists);
  expect((await block("nobody@example.com")).names).toEqual(["nobody@example.com"]);

  const lifted = await unblockTarget(deps, { kind: "user", name: "alice@example.com" });
  expect(lifted.map(({ name }) => name).toSorted()).toEqual(["one", "two"]);
  expect((await readBlocks(store)).blocks.map(({ name }) => name).toSorted()).toEqual(["four", "nobody@example.com"]);
});
