import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { POLL_MS } from "../../support/limits.ts";
import { within2s } from "../../support/promised.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import type { Block } from "../../../runtime/policy/blocks.ts";
import { liftBlock, putBlock } from "../../../runtime/identity/block-records.ts";
import { openBlocks } from "../../../runtime/identity/blocks.ts";
import type { Closable } from "../../../runtime/shared/clock.ts";
import { createTestClock } from "../../support/clock.ts";
import { createBreakableStore } from "../../support/store.ts";

const clock = createTestClock();
const SUBJECT = { user: { id: "u", email: "" } };
const block: Block = { kind: "user", name: "u", reason: "", since: 0, by: "" };

let store: ReturnType<typeof createBreakableStore>;
let opened: Closable[];
beforeEach(() => {
  store = createBreakableStore(clock);
  opened = [];
});
afterEach(() => Promise.all(opened.map((each) => each.close())));

async function open() {
  const blocks = await openBlocks({ store: store.store, clock, log: silentLog() });
  opened.push(blocks);
  return blocks;
}
const put = (more: Partial<Block> = {}) => putBlock({ store: store.store, clock }, { ...block, ...more });

describe("openBlocks()", () => {
  test("fails when the blocks cannot be read: the process must not serve", async () => {
    store.broken = true;
    await expect(open()).rejects.toMatchObject({ code: "store.unavailable" });
  });

  test("knows existing blocks immediately", async () => {
    await put();
    expect((await open()).find(SUBJECT)).toMatchObject(block);
  });

  test("learns of new and removed blocks, and notifies listeners of new ones only", async () => {
    const blocks = await open();
    let heard = 0;
    const stop = blocks.subscribe(() => (heard += 1));
    expect(blocks.size).toBe(0);
    await put();
    await vi.waitFor(
      within2s(() => expect(blocks.find(SUBJECT)).toBeDefined()),
      { timeout: POLL_MS },
    );
    expect(heard).toBe(1);
    expect(await liftBlock({ store: store.store, clock }, block)).toBe(true);
    await vi.waitFor(
      within2s(() => expect(blocks.size).toBe(0)),
      { timeout: POLL_MS },
    );
    expect(heard).toBe(1);
    stop();
    await put();
    await vi.waitFor(
      within2s(() => expect(blocks.size).toBe(1)),
      { timeout: POLL_MS },
    );
    expect(heard).toBe(1);
  });

  test("known blocks stay active while the store is unavailable, and reading resumes afterwards", async () => {
    await put();
    const blocks = await open();
    store.broken = true;
    await expect(put({ name: "v" })).rejects.toMatchObject({ code: "store.unavailable" });
    expect(blocks.find(SUBJECT)).toBeDefined();
    store.broken = false;
    await put({ name: "v" });
    await vi.waitFor(
      within2s(() => expect(blocks.find({ user: { id: "v", email: "" } })).toBeDefined()),
      { timeout: POLL_MS },
    );
    expect(blocks.find(SUBJECT)).toBeDefined();
  });

  test("an expired block is not listed and denies no request, even if its record still exists", async () => {
    await put({ until: Math.floor(clock.now() / 1000) + 60 });
    const blocks = await open();
    expect(blocks.list()).toHaveLength(1);
    clock.advance(60_000);
    expect([blocks.list(), blocks.find(SUBJECT)]).toEqual([[], undefined]);
    await vi.waitFor(
      within2s(() => expect(blocks.size).toBe(0)),
      { timeout: POLL_MS },
    );
    expect(await store.store.list("blocks")).toHaveLength(1);
  });

  test("blocking again replaces the earlier block", async () => {
    await put({ reason: "first", until: 9_999_999_999 });
    await put({ reason: "second" });
    const blocks = await open();
    expect(blocks.list()).toEqual([{ ...block, reason: "second" }]);
  });

  test("continues when a listener throws", async () => {
    const blocks = await open();
    blocks.subscribe(() => {
      throw new Error("a listener's bug");
    });
    await put();
    await vi.waitFor(
      within2s(() => expect(blocks.find(SUBJECT)).toBeDefined()),
      { timeout: POLL_MS },
    );
  });
});
