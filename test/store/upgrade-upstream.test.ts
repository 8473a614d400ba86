/** What an earlier version of this program kept of upstream connections still does what it was kept for. */
import { readFileSync, readdirSync } from "node:fs";

import { describe, expect, onTestFinished, test } from "vitest";

import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Json, Store } from "../../runtime/store/store.ts";
import { UPSTREAM_FORMATS, upstreamTokenKey } from "../../runtime/oauth/client/connection-records.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import type { UpstreamRecordsFixture } from "./make-upstream-fixture.ts";
import {
  openUpstreamWorld,
  personNamed,
  REGISTERED_SECRET,
  ROUTE_SECRET,
  type UpstreamWorld,
} from "./upstream-world.ts";

const folder = new URL("fixtures/", import.meta.url);
const fixtures = readdirSync(folder).filter((name) => /^upstream-records-v\d+\.json$/.test(name));

interface Opened {
  readonly fixture: UpstreamRecordsFixture;
  readonly clock: TestClock;
  readonly store: Store;
  readonly world: UpstreamWorld;
}

/** The upstream side on a store as that version left it, at that time. */
async function open(name: string): Promise<Opened> {
  const fixture = JSON.parse(readFileSync(new URL(name, folder), "utf8")) as UpstreamRecordsFixture;
  const clock = createTestClock(fixture.nowMs);
  const store = createMemoryStore({ clock });
  for (const { key, value, tags, expiresAt } of fixture.records) {
    await store.put(key, value, { tags, ...(expiresAt === undefined ? {} : { expiresAt }) });
  }
  const world = openUpstreamWorld(store, clock);
  onTestFinished(() => world.close());
  return { fixture, clock, store, world };
}

const basic = (id: string, secret: string): string => `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;

test("there is a fixture for every schema that a kind of upstream record has had", () => {
  expect(fixtures).toHaveLength(Math.max(...Object.values(UPSTREAM_FORMATS).map(({ schema }) => schema)));
  for (const { schema, upgrades } of Object.values(UPSTREAM_FORMATS)) expect(upgrades).toHaveLength(schema - 1);
});

describe.each(fixtures)("%s", (name) => {
  test("holds every kind of record of the upstream side, each with its schema, and no secret in the clear", async () => {
    const { fixture } = await open(name);
    const kinds = new Set(fixture.records.map(({ key }) => key.slice(0, key.indexOf(":"))));
    expect([...kinds].toSorted((a, b) => (a < b ? -1 : 1))).toEqual(Object.keys(UPSTREAM_FORMATS).toSorted());
    for (const { value } of fixture.records) expect(value).toHaveProperty("schema", Number(/\d+/.exec(name)?.[0]));
    const text = JSON.stringify(fixture.records);
    for (const secret of [ROUTE_SECRET, REGISTERED_SECRET, "access-for", "refresh-for", fixture.state])
      expect(text).not.toContain(secret);
  });

  test("a vault record returns its token, without a request", async () => {
    const { world } = await open(name);
    for (const route of ["static", "auto"] as const) {
      const held = await world.tokenStore.hold("bob", world.target(route));
      expect(held).toMatchObject({ kind: "token", accessToken: "access-for-code-of-bob", canRefresh: true });
    }
    expect(world.asked).toEqual([]);
  });

  test("a vault record is refreshed as the client it came from, with the secret of the route or of the registration", async () => {
    const { world, clock } = await open(name);
    clock.advance(3_601_000);
    for (const [route, proof] of [
      ["static", basic("route-client", ROUTE_SECRET)],
      ["auto", basic("registered-client", REGISTERED_SECRET)],
    ] as const) {
      const held = await world.tokenStore.hold("bob", world.target(route));
      expect(held).toMatchObject({ kind: "token", accessToken: "access-for-refresh-for-code-of-bob" });
      const asked = world.tokenRequests.at(-1);
      expect(asked?.get("refresh_token")).toBe("refresh-for-code-of-bob");
      expect(asked?.get("resource")).toBe("https://upstream.example.com/mcp");
      expect(asked?.get("authorization")).toBe(proof);
    }
    expect(world.tokenRequests).toHaveLength(2);
  });

  test.each([
    ["our document", { kind: "document", clientId: "https://auto.example.com/client", authMethod: "none" }],
    ["a registration", undefined],
  ])(
    "a vault record of %s is not refreshed at another server that its upstream names by now",
    async (_what, client) => {
      const { world, clock, store } = await open(name);
      const target = world.target("auto");
      const stored = await store.get<Record<string, Json>>(upstreamTokenKey("bob", target));
      if (client) await store.put(stored?.key ?? "", { ...stored?.value, client }, { tags: ["user:bob"] });
      world.issuerPath = "/other";
      clock.advance(3_601_000);
      expect(await world.tokenStore.hold("bob", target)).toEqual({ kind: "unavailable" });
      expect(world.asked).not.toContain("/other/token");
    },
  );

  test("a connection that had ended stays so, and one can be disconnected", async () => {
    const { world } = await open(name);
    expect(await world.tokenStore.hold("carol", world.target("static"))).toEqual({ kind: "none" });
    expect(await world.tokenStore.disconnect("bob", world.target("static"))).toBe(true);
    expect(await world.tokenStore.hold("bob", world.target("static"))).toEqual({ kind: "none" });
  });

  test("a flow in progress, which takes ten minutes at most, starts again", async () => {
    const { fixture, world } = await open(name);
    const parameters = new Map([
      ["state", fixture.state],
      ["code", "code-of-alice"],
    ]);
    const { host } = world.target("static").route;
    const complete = () => world.flows.complete(personNamed("alice"), host, parameters, world.snapshot);
    expect(await complete()).toMatchObject({ ok: false, failure: "unknown" });
    expect(world.tokenRequests).toEqual([]);
  });

  test("what was known of an upstream's need and of our registration is used again", async () => {
    const { world } = await open(name);
    const target = world.target("auto");
    expect(await world.needs.look(target)).toBe("needed");
    expect(world.asked).toEqual([]);
    const journey = { returnTo: "https://app.example.com/", routes: [target.route.key], back: "Back" };
    const begun = await world.flows.begin(personNamed("dave"), target, world.snapshot.settings, journey);
    if (!begun.ok) throw new Error(begun.detail);
    expect(new URL(begun.url).searchParams.get("client_id")).toBe("registered-client");
    expect(world.asked).not.toContain("/register");
  });
});
