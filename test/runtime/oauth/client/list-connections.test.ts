import { expect, test } from "vitest";

import { openConsoleWorld } from "../../../support/console-world.ts";

const YAML = `
runtime_flags: { mcp: true }
routes:
  - { name: a, from: "https://a.example.com", to: "https://up.example.com", mcp: { server: {} }, allow_any_authenticated_user: true }
  - { name: b, from: "https://b.example.com", to: "https://up.example.com", mcp: { server: {} }, allow_any_authenticated_user: true }
`;

test("connections are listed with their state, and counted by route, never with a token", async () => {
  const world = await openConsoleWorld(YAML);
  try {
    const { connections } = world.people;
    const [alice, bob] = [await world.addPerson("alice"), await world.addPerson("bob")];
    const past = world.clock.now() / 1000 - 1;
    await world.addConnection(alice, "default/a");
    await world.addConnection(alice, "default/b", { expiresAt: past, canRefresh: false });
    await world.addConnection(bob, "default/a", { expiresAt: past });
    await world.addConnection(bob, "default/b", { ended: "refused" });
    // For the route's previous upstream.
    await world.store.put(
      "vault:old",
      { ...((await world.store.page({ prefix: "vault:", tag: "user:bob", limit: 1 }))[0]?.value as object) },
      { tags: ["user:bob"] },
    );
    const states = async (user: string) =>
      (await connections.page(user, { limit: 9 })).found
        .map(({ routeKey, state }) => `${routeKey} ${state}`)
        .toSorted();
    expect(await states("alice")).toEqual(["default/a connected", "default/b expired"]);
    expect(await states("bob")).toHaveLength(3);
    expect(await states("bob")).toEqual(
      expect.arrayContaining(["default/a connected", "default/b ended", expect.stringContaining("stale")]),
    );
    expect(JSON.stringify(await connections.page("alice", { limit: 9 }))).not.toContain("sentinel");
    const first = await connections.page("alice", { limit: 1 });
    expect((await connections.page("alice", { limit: 1, after: first.next })).found[0]?.routeKey).not.toBe(
      first.found[0]?.routeKey,
    );

    const { byRoute, isCut } = await connections.counts();
    expect(isCut).toBe(false);
    expect(
      (byRoute.get("default/a")?.connected ?? 0) + (byRoute.get("default/b")?.connected ?? 0),
    ).toBeGreaterThanOrEqual(3);
    expect(byRoute.get("default/b")?.ended).toBeGreaterThanOrEqual(1);
    // Counted again only after a while, but immediately after a failure.
    const before = world.breakable.calls.length;
    await connections.counts();
    expect(world.breakable.calls).toHaveLength(before);
    world.clock.advance(60_000);
    world.breakable.broken = true;
    await expect(connections.counts()).rejects.toMatchObject({ code: "store.unavailable" });
    world.breakable.broken = false;
    expect((await connections.counts()).byRoute.size).toBe(2);
  } finally {
    await world.close();
  }
});
