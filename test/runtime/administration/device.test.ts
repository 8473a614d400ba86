import { expect, test } from "vitest";

import { DEVICE } from "../../../runtime/administration/kinds/device.ts";
import { createRevocations } from "../../../runtime/identity/revocations.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { createTestClock } from "../../support/clock.ts";
import { createBreakableStore } from "../../support/store.ts";

test("a device of a user is found without reading those of others, and any device page by page", async () => {
  const clock = createTestClock();
  const { store, calls } = createBreakableStore(clock);
  const revocations = createRevocations({ store, clock, log: silentLog(), longestLifetime: () => 60 });
  for (let at = 0; at < 1_001; at += 1) {
    const userId = `u${at}`;
    const tags = ["devices", `user:${userId}`];
    await store.put(`device:${String(at).padStart(4, "0")}`, { id: `dev_${at}`, userId, createdAt: 1 }, { tags });
  }
  const readFor = async (id: string, userId?: string) => {
    calls.length = 0;
    const found = await DEVICE.find({ store, clock, revocations }, id, userId);
    return [found?.device.id, calls.filter((call) => call === "page" || call === "list").length];
  };
  expect(await readFor("dev_1000", "u1000")).toEqual(["dev_1000", 1]);
  expect(await readFor("dev_1000", "u1")).toEqual([undefined, 1]);
  expect(await readFor("dev_1000")).toEqual(["dev_1000", 3]);
  expect(await readFor("dev_0")).toEqual(["dev_0", 1]);
  await revocations.close();
  await store.close();
});
