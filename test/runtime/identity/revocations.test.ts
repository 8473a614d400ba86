import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { POLL_MS } from "../../support/limits.ts";
import { within2s } from "../../support/promised.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { createRevocations, type RevocationFeed } from "../../../runtime/identity/revocations.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { createTestClock } from "../../support/clock.ts";
import { createBreakableStore } from "../../support/store.ts";

const clock = createTestClock();
let store: ReturnType<typeof createBreakableStore>;
let feeds: RevocationFeed[];
beforeEach(() => {
  store = createBreakableStore(clock);
  feeds = [];
});
afterEach(() => Promise.all(feeds.map((feed) => feed.close())));

function start(over: Store = store.store): RevocationFeed {
  const feed = createRevocations({ store: over, clock, log: silentLog(), longestLifetime: () => 3600 });
  feeds.push(feed);
  return feed;
}

describe("Revocations", () => {
  it("are known here immediately and elsewhere soon", async () => {
    const [here, there] = [start(), start()];
    const heard: string[] = [];
    there.subscribe((key) => heard.push(key));
    const { epoch } = there;
    await here.revoke("session:a");
    expect(here.isRevoked(["grant:x", "session:a"])).toBe(true);
    await vi.waitFor(
      within2s(() => expect(there.isRevoked(["session:a"])).toBe(true)),
      { timeout: POLL_MS },
    );
    expect(there.epoch).toBeGreaterThan(epoch);
    expect(heard).toEqual(["session:a"]);
    expect(there.isRevoked(["session:b"])).toBe(false);
  });

  it("report changes without a revocation, for a while", async () => {
    const [here, there] = [start(), start()];
    const heard: string[] = [];
    there.subscribe((key) => heard.push(key));
    const { epoch } = there;
    await here.change(["user:a", "oid:b"]);
    expect(here.hasChanged(["session:x", "user:a"], 0)).toBe(true);
    await vi.waitFor(
      within2s(() => expect(there.hasChanged(["user:a"], epoch)).toBe(true)),
      { timeout: POLL_MS },
    );
    expect(heard).toEqual(["changed:user:a", "changed:oid:b"]);
    expect([there.isRevoked(["user:a"]), there.hasChanged(["user:c"], 0)]).toEqual([false, false]);
    // Read since then.
    expect(there.hasChanged(["user:a"], there.epoch)).toBe(false);
    clock.advance(121_000);
    await vi.waitFor(
      within2s(() => expect(there.hasChanged(["user:a"], epoch)).toBe(false)),
      { timeout: POLL_MS },
    );
  });

  it("reach others within two seconds when the store's hint is lost", async () => {
    const deaf = new Proxy(store.store, {
      get: (target, name) => (name === "onAppend" ? () => () => {} : (target[name as keyof Store] as unknown)),
    });
    const there = start(deaf);
    await there.catchUp();
    await start().revoke("session:a");
    expect(there.isRevoked(["session:a"])).toBe(false);
    await vi.waitFor(
      within2s(() => expect(there.isRevoked(["session:a"])).toBe(true)),
      { timeout: POLL_MS },
    );
  });

  it("are known to a process that starts later", async () => {
    await start().revoke("grant:g");
    const late = start();
    await late.catchUp();
    expect(late.isRevoked(["grant:g"])).toBe(true);
  });

  it("are read in pages, all of them", async () => {
    for (let index = 0; index < 2500; index += 1)
      await store.store.append("revocations", { key: `session:${index}` }, 9_999_999_999);
    const feed = start();
    await feed.catchUp();
    expect(feed.isRevoked(["session:0"]) && feed.isRevoked(["session:2499"])).toBe(true);
  });

  it("are remembered until all earlier credentials have expired", async () => {
    const feed = start();
    await feed.revoke("session:a");
    clock.advance(3_599_000);
    await feed.revoke("session:b");
    expect(feed.isRevoked(["session:a"])).toBe(true);
    clock.advance(1_000);
    await vi.waitFor(
      within2s(() => expect(feed.isRevoked(["session:a"])).toBe(false)),
      { timeout: POLL_MS },
    );
    expect(feed.isRevoked(["session:b"])).toBe(true);
  });

  it.each(["user:u", "client:https://c.example/id"])(
    "of %s end all sessions and grants there are, and none made later",
    async (tag) => {
      await store.store.put("session:1", {}, { tags: [tag] });
      await store.store.put("grant:1", {}, { tags: [tag] });
      await store.store.put("identity:u", {}, { tags: [tag] });
      await store.store.put("grant:other", {}, { tags: ["user:other"] });
      const feed = start();
      const heard: string[] = [];
      feed.subscribe((key) => heard.push(key));
      await feed.revoke(tag);
      expect(heard).toEqual(["session:1", "grant:1", tag]);
      expect(await store.store.get("session:1")).toBeUndefined();
      expect(await store.store.get("grant:1")).toBeUndefined();
      expect(await store.store.get("identity:u")).toBeDefined();
      expect(await store.store.get("grant:other")).toBeDefined();
      expect(feed.isRevoked(["session:1", tag])).toBe(true);
      expect(feed.isRevoked(["session:2", tag])).toBe(false);
    },
  );

  // The exchange of a code stores the grant and then checks that the code still exists (oauth/server/grants/grant-code.ts).
  it("of a user end the grant that a code is becoming meanwhile", async () => {
    await store.store.put("code:c", {}, { tags: ["user:u"] });
    let becomes: (() => Promise<unknown>) | undefined = () => store.store.put("grant:g", {}, { tags: ["user:u"] });
    const feed = start(
      new Proxy(store.store, {
        get: (target, name) =>
          name !== "delete"
            ? (target[name as keyof Store] as unknown)
            : async (key: string) => {
                if (key === "code:c") await becomes?.();
                becomes = undefined;
                return target.delete(key);
              },
      }),
    );
    await feed.revoke("user:u");
    expect(becomes).toBeUndefined();
    expect(await store.store.get("grant:g")).toBeUndefined();
    expect(feed.isRevoked(["grant:g"])).toBe(true);
  });

  it("apply here even if they cannot be stored, and report the failure", async () => {
    const feed = start();
    await feed.catchUp();
    store.broken = true;
    await expect(feed.revoke("session:a")).rejects.toMatchObject({ code: "store.unavailable" });
    expect(feed.isRevoked(["session:a"])).toBe(true);
  });

  it("continue after a store outage, and after a listener that throws", async () => {
    const feed = start();
    feed.subscribe(() => {
      throw new Error("a listener's bug");
    });
    store.broken = true;
    await feed.catchUp().catch(() => {});
    store.broken = false;
    await start().revoke("session:a");
    await vi.waitFor(
      within2s(() => expect(feed.isRevoked(["session:a"])).toBe(true)),
      { timeout: POLL_MS },
    );
  });

  it.each(["", "session:", "alice", "token:x"])("of %j are refused", async (key) => {
    await expect(start().revoke(key)).rejects.toMatchObject({ code: "revocation.key" });
  });
});
