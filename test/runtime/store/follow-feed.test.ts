import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { pino } from "pino";
import { describe, expect, onTestFinished, test } from "vitest";

import { within2s } from "../../support/promised.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { epochSeconds, systemClock } from "../../../runtime/shared/clock.ts";
import { followFeed } from "../../../runtime/store/follow-feed.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { openSqliteStore } from "../../../runtime/store/sqlite/sqlite.ts";
import type { Json } from "../../../runtime/store/store.ts";
import { createTestClock } from "../../support/clock.ts";
import { createBreakableStore } from "../../support/store.ts";

describe("followFeed()", () => {
  test("sees what another process appended to the same SQLite file within 2 s, each entry once and in order", async () => {
    const directory = await mkdtemp(join(tmpdir(), "gateway-feed-"));
    onTestFinished(() => rm(directory, { recursive: true, force: true }));
    const open = () => openSqliteStore({ path: join(directory, "store.db"), clock: systemClock });
    const [here, there] = [await open(), await open()];
    onTestFinished(async () => {
      await here.close();
      await there.close();
    });
    const end = epochSeconds(systemClock) + 600;
    await there.append("news", 0, end);
    const seen: Json[] = [];
    const follower = followFeed({
      store: here,
      log: silentLog(),
      feed: "news",
      onEntry: (entry) => void seen.push(entry),
    });
    onTestFinished(() => follower.close());
    await follower.catchUp();
    for (let entry = 1; entry <= 20; entry += 1) await there.append("news", entry, end);
    await expect.poll(within2s(() => seen.length)).toBe(21);
    expect(seen).toEqual(Array.from({ length: 21 }, (_, entry) => entry));
  });

  test("logs once that the store is unavailable, and continues reading where it stopped", async () => {
    let text = "";
    const log = pino({ level: "info" }, { write: (line: string) => void (text += line) });
    const clock = createTestClock();
    const inner = createMemoryStore({ clock });
    const breakable = createBreakableStore(clock, inner);
    const end = epochSeconds(clock) + 600;
    const seen: Json[] = [];
    const follower = followFeed({
      store: breakable.store,
      log,
      feed: "news",
      onEntry: (entry) => void seen.push(entry),
    });
    onTestFinished(() => follower.close());
    await breakable.store.append("news", "first", end);
    await expect.poll(() => seen).toEqual(["first"]);
    breakable.broken = true;
    await inner.append("news", "second", end);
    await expect(follower.catchUp()).rejects.toMatchObject({ code: "store.unavailable" });
    // Two polls.
    await expect
      .poll(() => breakable.calls.filter((call) => call === "changesSince").length, { timeout: 4_000 })
      .toBeGreaterThan(6);
    breakable.broken = false;
    await expect.poll(() => seen, { timeout: 4_000 }).toEqual(["first", "second"]);
    await expect.poll(() => text).toContain("feed recovered");
    expect(text.match(/cannot read feed/g)).toHaveLength(1);
  });

  test("reads no more once it is closed", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    const seen: Json[] = [];
    const follower = followFeed({ store, log: silentLog(), feed: "news", onEntry: (entry) => void seen.push(entry) });
    await follower.catchUp();
    await follower.close();
    await store.append("news", "late", epochSeconds(clock) + 600);
    await new Promise(setImmediate);
    expect(seen).toEqual([]);
  });
});
