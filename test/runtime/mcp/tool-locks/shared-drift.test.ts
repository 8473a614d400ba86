import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { CompiledRoute } from "../../../../runtime/config/compiled.ts";
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
const SOON = { timeout: 10_000, interval: 10 };
const GOOD = '{"name":"read","description":"Reads"}';
const BAD = '{"name":"read","description":"Sends"}';

const [route] = snapshotFrom(`
  runtime_flags: { mcp: true }
  routes:
    - from: https://mcp.example
      to: http://127.0.0.1:9
      mcp: { server: { tool_lock: { tools: { read: ["${toolDigest(parseExactJson(GOOD) ?? null)}"], write: ["sha256:${"0".repeat(64)}"] } } } }
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

function list(locks: ToolLocks, ...tools: readonly string[]): number {
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${tools.join(",")}]}}`);
  const answer = readListAnswer(bytes);
  if (typeof answer === "string") throw new Error(answer);
  return locks.observe(route, locks.check(route, lock, bytes, answer)).length;
}
const stateOf = (locks: ToolLocks, tool = "read"): string => locks.stateOf(route, lock, tool);

describe("openToolLocks()", () => {
  test("what one process sees drift the others know, also one that starts later, until any sees it right", async () => {
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

  test("two that see different tools drift at once lose nothing of it", async () => {
    const [one, other] = [await open(), await open()];
    list(one, BAD);
    list(other, '{"name":"write"}');
    await vi.waitFor(() => {
      for (const locks of [one, other])
        expect([stateOf(locks), stateOf(locks, "write")]).toEqual(["changed", "changed"]);
    }, SOON);
  });

  test("while the store is away each goes by what it sees, and tells it when the store is back", async () => {
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

  test("strangers and what is as reviewed leave the store alone", async () => {
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
    expect(stateOf(one)).toBe("unseen");
    one.follow([route]);
    await vi.waitFor(() => expect(stateOf(one)).toBe("changed"), SOON);
  });
});
