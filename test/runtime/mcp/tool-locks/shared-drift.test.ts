import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { POLL_MS } from "../../../support/limits.ts";
import type { CompiledRoute } from "../../../../runtime/config/compiled.ts";
import { itemKey } from "../../../../runtime/features/mcp/locked-items.ts";
import { toolDigest } from "../../../../runtime/features/mcp/tool-lock-file.ts";
import type { ToolLock } from "../../../../runtime/features/mcp/tool-lock.ts";
import { readListAnswer } from "../../../../runtime/mcp/lists/list-answer.ts";
import { openToolLocks } from "../../../../runtime/mcp/tool-locks/shared-drift.ts";
import type { ToolLocks } from "../../../../runtime/mcp/tool-locks/tool-locks.ts";
import type { Closable } from "../../../../runtime/shared/clock.ts";
import { parseExactJson } from "../../../../runtime/shared/json/exact-json.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { createTestClock } from "../../../support/clock.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { createBreakableStore } from "../../../support/store.ts";

const clock = createTestClock();
const SOON = { timeout: POLL_MS, interval: 10 };
const GOOD = '{"name":"read","description":"Reads"}';
const BAD = '{"name":"read","description":"Sends"}';

const [route] = snapshotFrom(`
  runtime_flags: { mcp: true }
  routes:
    - from: https://mcp.example
      to: http://127.0.0.1:9
      mcp: { server: { tool_lock: { tools: { read: ["${toolDigest(parseExactJson(GOOD) ?? null)}"], write: ["sha256:${"0".repeat(64)}"] }, prompts: { read: ["${toolDigest(parseExactJson(GOOD) ?? null)}"] }, instructions: ["sha256:${"0".repeat(64)}"] } } }
      policy: [{ allow: { and: [{ accept: true }] } }]
`).routes as readonly [CompiledRoute];
const lock = (route.mcp?.kind === "server" ? route.mcp.toolLock : undefined) as ToolLock;

let store: ReturnType<typeof createBreakableStore>;
let opened: Closable[];
beforeEach(() => {
  store = createBreakableStore(clock);
  opened = [];
});
afterEach(() => Promise.all(opened.map((each) => each.close())));

/** A process. */
async function open(): Promise<ToolLocks> {
  const locks = await openToolLocks({ store: store.store, clock, log: silentLog() });
  opened.push(locks);
  locks.follow([route]);
  return locks;
}

/** One after the other, everybody by himself. */
let viewers = 0;
function list(locks: ToolLocks, ...tools: readonly (string | CompiledRoute)[]): number {
  viewers += 1;
  return listAs(String(viewers), locks, ...tools);
}

/** @param given tools, and the route where it is another one */
function listAs(viewer: string, locks: ToolLocks, ...given: readonly (string | CompiledRoute)[]): number {
  const tools = given.filter((each) => typeof each === "string");
  const listed = given.find((each) => typeof each !== "string") ?? route;
  const since = locks.begin(route, viewer, "tool", "1", true);
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools.join(",")}]}}`);
  const answer = readListAnswer(bytes);
  if (typeof answer === "string") throw new Error(answer);
  return locks.observe(listed, locks.check(route, lock, bytes, answer), { viewer, since: () => since }).length;
}
const stateOf = (locks: ToolLocks, tool = "read", viewer = ""): string => locks.stateOf(route, lock, tool, viewer);

describe("openToolLocks()", () => {
  test("all processes learn of drift seen by one, also one that starts later, until any sees a matching list", async () => {
    const [one, other] = [await open(), await open()];
    expect(stateOf(other)).toBe("unseen");
    expect(list(one, BAD)).toBe(1);
    expect(stateOf(one)).toBe("changed");
    await vi.waitFor(() => expect(stateOf(other)).toBe("changed"), SOON);
    // Told of once, whoever lists next.
    expect(list(other, BAD)).toBe(0);
    const late = await open();
    expect(stateOf(late)).toBe("changed");
    expect(stateOf(late, "write")).toBe("unseen");
    expect(list(late, GOOD)).toBe(0);
    expect(stateOf(late)).toBe("reviewed");
    await vi.waitFor(() => expect([stateOf(one), stateOf(other)]).toEqual(["unseen", "unseen"]), SOON);
    expect(stateOf(await open())).toBe("unseen");
  });

  test("all processes learn of a prompt's drift seen by one, also after the lock was removed for a while, but not for a tool of the same name", async () => {
    const [one, other] = [await open(), await open()];
    const prompt = itemKey("prompt", "read");
    const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"prompts":[${BAD}]}}`);
    const answer = readListAnswer(bytes);
    if (typeof answer === "string") throw new Error(answer);
    const since = one.begin(route, "alice", "prompt", "1", true);
    one.observe(route, one.check(route, lock, bytes, answer), { viewer: "alice", since: () => since });
    await vi.waitFor(() => expect(stateOf(other, prompt)).toBe("changed"), SOON);
    const late = await open();
    late.follow([]);
    late.follow([route]);
    expect([stateOf(late, prompt), stateOf(late)]).toEqual(["changed", "unseen"]);
    list(other, GOOD);
    expect([stateOf(other, prompt), stateOf(other)]).toEqual(["changed", "reviewed"]);
  });

  test("two that see different tools drift at once lose nothing of it", async () => {
    const [one, other] = [await open(), await open()];
    list(one, BAD);
    list(other, '{"name":"write"}');
    await vi.waitFor(() => {
      for (const locks of [one, other])
        expect([stateOf(locks), stateOf(locks, "write")]).toEqual(["changed", "changed"]);
    }, SOON);
  });

  test("what one caller was shown counts for its calls in every process, whatever others are shown", async () => {
    const [one, other] = [await open(), await open()];
    listAs("alice", one, BAD);
    await vi.waitFor(() => expect(stateOf(other)).toBe("changed"), SOON);
    listAs("bob", other, GOOD);
    await vi.waitFor(() => expect(stateOf(one, "read", "bob")).toBe("unseen"), SOON);
    for (const locks of [one, other, await open()]) expect(stateOf(locks, "read", "alice")).toBe("changed");
    listAs("alice", other, GOOD);
    await vi.waitFor(() => expect(stateOf(one, "read", "alice")).toBe("unseen"), SOON);
  });

  test("a server that shows each caller another list fills neither the memory nor the store", async () => {
    const one = await open();
    for (let viewer = 0; viewer < 1_500; viewer += 1) listAs(`user ${viewer}`, one, BAD);
    listAs("last", one, GOOD);
    expect(stateOf(one, "read", "user 1499")).toBe("changed");
    expect(stateOf(one, "read", "user 0")).toBe("reviewed");
    const late = async (): Promise<string> => {
      const locks = await open();
      return stateOf(locks, "read", "user 1499");
    };
    await vi.waitFor(async () => expect(await late()).toBe("changed"), SOON);
    const [record] = await store.store.list<{ tools: unknown[] }>("tool-drift");
    expect(record?.value.tools.length).toBeLessThanOrEqual(1_001);
  });

  test("instructions, against which no call is checked, use up no space for tools, however many viewers there are", async () => {
    const one = await open();
    listAs("alice", one, BAD);
    listAs("bob", one, GOOD);
    const bytes = Buffer.from('{"jsonrpc":"2.0","id":1,"result":{"instructions":"Send all."}}');
    const answer = readListAnswer(bytes);
    if (typeof answer === "string") throw new Error(answer);
    for (let viewer = 0; viewer < 1_100; viewer += 1)
      one.observe(route, one.check(route, lock, bytes, answer), { viewer: `user ${viewer}`, since: () => 1 });
    expect([...one.differences(route).changed].sort()).toEqual([itemKey("instructions", ""), "read"]);
    expect([stateOf(one, "read", "alice"), stateOf(one, "read", "bob")]).toEqual(["changed", "reviewed"]);
  });

  test("while the store is unavailable each process uses its own knowledge, and shares it afterwards", async () => {
    const [one, other] = [await open(), await open()];
    store.broken = true;
    list(one, BAD);
    expect(stateOf(one)).toBe("changed");
    expect(stateOf(other)).toBe("unseen");
    store.broken = false;
    await vi.waitFor(() => expect(stateOf(other)).toBe("changed"), SOON);
    store.broken = true;
    await expect(open()).rejects.toMatchObject({ code: "store.unavailable" });
    store.broken = false;
  });

  test("unlocked and matching tools cause no write to the store", async () => {
    const one = await open();
    await vi.waitFor(() => expect(store.calls).toContain("changesSince"), SOON);
    list(one, GOOD, '{"name":"stranger"}');
    expect(store.calls.filter((call) => call === "put" || call === "append")).toEqual([]);
  });

  test("a route that lost its lock and got it again is still known", async () => {
    const one = await open();
    list(one, BAD);
    await vi.waitFor(() => expect(store.calls).toContain("append"), SOON);
    one.follow([]);
    one.follow([route]);
    expect(stateOf(one)).toBe("changed");
  });

  test("a lock that was without a tool for a while knows of its drift when it is back, and shows it meanwhile nowhere", async () => {
    const one = await open();
    list(one, BAD);
    const { mcp } = route;
    const without = { ...route, mcp: { ...mcp, toolLock: { ...lock, items: new Map() } } } as CompiledRoute;
    one.follow([without]);
    expect(one.differences(without).changed.size).toBe(0);
    one.follow([route]);
    expect(stateOf(one)).toBe("changed");
    expect([...one.differences(route).changed]).toEqual(["read"]);
  });

  test("new prompts are shown as new only while the lock is on prompts", async () => {
    const one = await open();
    const bytes = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"new"}],"prompts":[{"name":"new"}]}}',
    );
    const answer = readListAnswer(bytes);
    if (typeof answer === "string") throw new Error(answer);
    one.observe(route, one.check(route, lock, bytes, answer), { viewer: "alice", since: () => 1 });
    expect([...one.differences(route).unlocked]).toEqual(["new", itemKey("prompt", "new")]);
    const toolsOnly = {
      ...route,
      mcp: { ...route.mcp, toolLock: { ...lock, kinds: new Set(["tool"]) } },
    } as CompiledRoute;
    one.follow([toolsOnly]);
    expect([...one.differences(toolsOnly).unlocked]).toEqual(["new"]);
  });

  test("where tools must have been listed, what one process was shown the others know", async () => {
    const strict = { ...route, mcp: { ...route.mcp, toolLock: { ...lock, onUnlisted: "deny" } } } as CompiledRoute;
    const [one, other] = [await open(), await open()];
    list(one, strict, GOOD);
    await vi.waitFor(() => expect(stateOf(other)).toBe("reviewed"), SOON);
    expect(stateOf(await open())).toBe("reviewed");
    list(other, strict, BAD);
    await vi.waitFor(() => expect(stateOf(one)).toBe("changed"), SOON);
    expect(stateOf(await open())).toBe("changed");
    list(one, strict, GOOD);
    await vi.waitFor(() => expect([stateOf(one), stateOf(other)]).toEqual(["reviewed", "reviewed"]), SOON);
  });
});
