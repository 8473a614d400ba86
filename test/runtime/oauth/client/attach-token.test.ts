import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { within2s } from "../../../support/promised.ts";
import { epochSeconds } from "../../../../runtime/shared/clock.ts";
import { startTokenStoreBench, type TokenStoreBench, type TokenStoreReplica } from "../../../support/vault-bench.ts";

let bench: TokenStoreBench;
let replica: TokenStoreReplica;
beforeEach(async () => {
  bench = await startTokenStoreBench();
  replica = bench.replica();
});
afterEach(() => bench.close());

const attach = () => replica.attacher.attach("alice", bench.target.route);

describe("attach()", () => {
  test("a connected route's warm path is synchronous and touches the store zero times", async () => {
    const access = await bench.connect("alice", { expiresAt: epochSeconds(bench.clock) + 3600 });
    expect(await attach()).toMatchObject({ kind: "token", authorization: `Bearer ${access}` });
    bench.store.calls.length = 0;
    for (let second = 0; second < 9; second += 1) {
      bench.clock.advance(1_000);
      expect(attach()).not.toBeInstanceOf(Promise);
    }
    expect(bench.store.calls).toEqual([]);
  });

  test("a disconnect at another replica is seen within 2 s, through the feed", async () => {
    await bench.connect("alice");
    expect(await attach()).toMatchObject({ kind: "token" });
    await bench.replica().tokenStore.disconnect("alice", bench.target);
    // No time passes on the clock: nothing is read again because of its age.
    await expect.poll(within2s(() => attach())).toEqual({ kind: "connect" });
  });

  test("a disconnect applies in its process immediately, even if the upstream is slow to revoke", async () => {
    await bench.connect("alice");
    expect(await attach()).toMatchObject({ kind: "token" });
    const end = Promise.withResolvers<void>();
    bench.intercept = async (request, send) => {
      await end.promise;
      return send(request);
    };
    const disconnecting = replica.tokenStore.disconnect("alice", bench.target);
    await expect.poll(within2s(() => attach())).toEqual({ kind: "connect" });
    expect(bench.service.revoked).toEqual([]);
    end.resolve();
    await disconnecting;
    expect(bench.service.revoked).toHaveLength(2);
  });

  test("a reading that a disconnect overtook is not remembered", async () => {
    await bench.connect("alice");
    const reading = attach();
    await bench.replica().changes.announce({ userId: "alice", routeKey: bench.target.route.key });
    await replica.changes.announce({ userId: "alice", routeKey: bench.target.route.key });
    await reading;
    bench.store.calls.length = 0;
    await attach();
    expect(bench.store.calls).toContain("get");
  });

  test("a new connection replaces a token that another replica remembers", async () => {
    await bench.connect("alice");
    expect(await attach()).toMatchObject({ kind: "token", accessToken: "access-sentinel-alice" });
    const refreshed = await bench.replica().tokenStore.replace("alice", bench.target, "access-sentinel-alice", true);
    if (refreshed.kind !== "token") throw new Error("no token");
    await bench.replica().changes.announce({ userId: "alice", routeKey: bench.target.route.key });
    await expect.poll(within2s(() => attach())).toMatchObject({ accessToken: refreshed.accessToken });
  });

  test("cached tokens are read again in the background, so a disconnect applies even if its announcement was lost", async () => {
    await bench.connect("alice");
    expect(await attach()).toMatchObject({ kind: "token" });
    await bench.store.store.deleteByTag("user:alice");
    expect(attach()).toMatchObject({ kind: "token" });
    bench.clock.advance(10_000);
    expect(attach()).toMatchObject({ kind: "token" });
    await expect.poll(() => attach()).toMatchObject({ kind: "connect" });
  });

  test("a connection made elsewhere is seen within a second", async () => {
    expect(await attach()).toEqual({ kind: "connect" });
    await bench.connect("alice");
    bench.clock.advance(1_000);
    expect(await attach()).toMatchObject({ kind: "token" });
  });

  test("a token read while the clock was hours ahead is read again after the clock is set back", async () => {
    bench.clock.advance(3 * 3600_000);
    expect(await attach()).toEqual({ kind: "connect" });
    bench.clock.advance(-3 * 3600_000);
    await bench.connect("alice");
    expect(await attach()).toMatchObject({ kind: "token" });
    bench.clock.advance(3 * 3600_000);
    expect(await attach()).toMatchObject({ kind: "token" });
    bench.clock.advance(-3 * 3600_000);
    await bench.store.store.deleteByTag("user:alice");
    expect(await attach()).toEqual({ kind: "connect" });
  });

  test("an unexpired token is used for five minutes while the store is unavailable", async () => {
    await bench.connect("alice");
    expect(await attach()).toMatchObject({ kind: "token" });
    bench.store.broken = true;
    bench.clock.advance(25_000);
    expect(await attach()).toMatchObject({ kind: "token" });
    bench.clock.advance(300_000);
    expect(await attach()).toEqual({ kind: "unavailable" });
    bench.store.broken = false;
    bench.clock.advance(25_000);
    expect(await attach()).toMatchObject({ kind: "token" });
  });

  test("a new user is unavailable, not unconnected, while the store is unavailable", async () => {
    bench.store.broken = true;
    expect(await attach()).toEqual({ kind: "unavailable" });
  });
});
