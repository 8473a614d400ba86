/**
 * An attacker with an account and write access to the store changes rows: they cannot become another user, and no
 * secret is sent elsewhere.
 */
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";

import { queueAction, startActions } from "../../runtime/records/actions.ts";
import { flowKey, upstreamTokenKey } from "../../runtime/oauth/client/connection-records.ts";
import { hashSecret } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import { openUpstreamWorld, personNamed } from "../store/upstream-world.ts";
import { createTestClock } from "../support/clock.ts";
import { createPkce, REDIRECT_URI } from "../support/oauth-client.ts";
import { ONE_SERVER, RESOURCE, useIssuers } from "../support/issuer.ts";
import { APP, startSessionBench, type SessionBench } from "../support/session-bench.ts";

type Row = Readonly<Record<string, unknown>>;

/** Changes the content of a row, and nothing else. */
async function edit(store: Store, key: string, change: Row): Promise<void> {
  const { value, tags, expiresAt } = (await store.get<Row>(key)) ?? expect.unreachable(key);
  await store.put(key, { ...value, ...change }, { tags, ...(expiresAt === undefined ? {} : { expiresAt }) });
}

describe("a signed-in user", () => {
  let bench: SessionBench;
  beforeEach(async () => {
    bench = await startSessionBench();
  });
  afterEach(() => bench.close());

  const sessionOf = async (user: string): Promise<string> =>
    (await bench.store.store.list<Row>("sessions")).find(({ value }) => value["userId"] === user)?.key ?? "";
  const who = async (browser: ReturnType<SessionBench["browser"]>): Promise<unknown> => {
    // Longer than the cache time.
    bench.clock.advance(120_000);
    const page = await browser.open(`${APP}/.gateway/user`, { mode: "cors" });
    return page.status === 200 ? (JSON.parse(page.text) as { user?: unknown }).user : page.status;
  };

  test("a user who writes another user into their session is signed out", async () => {
    const alice = bench.browser();
    await alice.signIn(`${APP}/`, "alice@example.com");
    await bench.browser().signIn(`${APP}/`, "bob@example.com");
    expect(await who(alice)).toBe("u-alice");
    await edit(bench.store.store, await sessionOf("u-alice"), { userId: "u-bob" });
    expect(await who(alice)).toBe(401);
  });

  test.each([
    ["address", { email: "bob@example.com" }],
    ["groups", { groups: ["admins", "sales"] }],
    ["claims", { claims: { sub: "u-alice", email: "bob@example.com" } }],
  ])(
    "a user who writes other %s into their identity is signed out, and gets their own by signing in",
    async (_what, change) => {
      const alice = bench.browser();
      await alice.signIn(`${APP}/`, "alice@example.com");
      await edit(bench.store.store, "identity:u-alice", change);
      expect(await who(alice)).toBe(401);
      const page = await bench.browser().signIn(`${APP}/`, "alice@example.com");
      expect(JSON.parse(page.text)).toMatchObject({
        user: { email: "alice@example.com", groups: ["admins", "engineering"] },
      });
    },
  );

  test("a user who replaces their identity by another user's is signed out, and gets their own by signing in", async () => {
    const alice = bench.browser();
    await alice.signIn(`${APP}/`, "alice@example.com");
    await bench.browser().signIn(`${APP}/`, "bob@example.com");
    const { store } = bench.store;
    const [own, others] = await Promise.all(["u-alice", "u-bob"].map((id) => store.get<Row>(`identity:${id}`)));
    await store.put("identity:u-alice", others?.value, { tags: own?.tags ?? [] });
    expect(await who(alice)).toBe(401);
    expect(await bench.session.identities.find("u-alice")).toBeUndefined();
    expect(await bench.session.idJags.signIns("u-alice")).toBe(0);
    const page = await bench.browser().signIn(`${APP}/`, "alice@example.com");
    expect(JSON.parse(page.text)).toMatchObject({ user: { id: "u-alice", email: "alice@example.com" } });
  });
});

/** As that of the bench, by which rows end. */
const benchClock = () => createTestClock(Math.floor(Date.now() / 1000) * 1000);

test("a user who points a sign-in code at another session gets no session", async () => {
  const memory = createMemoryStore({ clock: benchClock() });
  let victim: string | undefined;
  const take: Store["take"] = async (key) => {
    if (victim !== undefined && key.startsWith("sign-in-code:")) await edit(memory, key, { sessionId: victim });
    return memory.take(key);
  };
  const store: Store = Object.create(memory, { take: { value: take, configurable: true, writable: true } });
  const bench = await startSessionBench({ store });
  onTestFinished(() => bench.close());
  await bench.browser().signIn(`${APP}/`, "bob@example.com");
  const [session] = await memory.list("sessions");
  victim = session?.key.slice("session:".length) ?? expect.unreachable();
  const alice = bench.browser();
  const page = await alice.signIn(`${APP}/`, "alice@example.com");
  expect([page.status, page.text.includes("u-bob")]).toEqual([400, false]);
});

test.each(["//evil.example/", "https://evil.example/", "@evil.example/", "javascript:alert(1)"])(
  "%s written into the sign-in of another user causes no redirect there",
  async (returnTo) => {
    const memory = createMemoryStore({ clock: benchClock() });
    const get: Store["get"] = async (key) => {
      if (key.startsWith("sign-in:")) await edit(memory, key, { returnTo });
      return memory.get(key);
    };
    const store: Store = Object.create(memory, { get: { value: get, configurable: true, writable: true } });
    const bench = await startSessionBench({ store });
    onTestFinished(() => bench.close());
    const page = await bench.browser().signIn(`${APP}/?long=${"x".repeat(700)}`, "alice@example.com");
    expect(page.hops.filter(({ location }) => /evil|javascript/.test(location ?? ""))).toEqual([]);
    expect(page.url).toBe(`${APP}/`);
  },
);

describe("the user of an MCP client", () => {
  const start = useIssuers();

  test.each([
    ["another user", { userId: "bob" }],
    ["another audience", { audience: new URL(RESOURCE).origin }],
    ["more scope", { scope: "mcp admin" }],
  ])("a user who writes %s into their grant gets no token", async (_what, change) => {
    const store = createMemoryStore({ clock: createTestClock() });
    const gateway = await start({ store });
    const client = await gateway.signIn({ userId: "alice" });
    await client.refresh();
    const [grant] = (await store.list("user:alice")).filter(({ key }) => key.startsWith("grant:"));
    await edit(store, grant?.key ?? "", change);
    await expect(client.refresh()).rejects.toThrow("invalid_grant");
  });

  test("a user who writes another user into the record of their code gets no token", async () => {
    const store = createMemoryStore({ clock: createTestClock() });
    const gateway = await start({ store });
    const oauth = gateway.oauth();
    const { client_id: clientId } = await oauth.register();
    const pkce = createPkce();
    const outcome = await oauth.authorize({ clientId, redirectUri: REDIRECT_URI, challenge: pkce.challenge });
    const code = outcome.at === "client" ? (outcome.parameters["code"] ?? "") : expect.unreachable();
    await edit(store, `code:${hashSecret(code)}`, { userId: "bob" });
    const form = { grant_type: "authorization_code", client_id: clientId, code, redirect_uri: REDIRECT_URI };
    const answer = await oauth.sendToken({ ...form, code_verifier: pkce.verifier });
    expect([answer.status, answer.json()["error"]]).toEqual([400, "invalid_grant"]);
  });

  test("an approval copied for another user has no effect: that user is asked", async () => {
    const store = createMemoryStore({ clock: createTestClock() });
    const gateway = await start({ store });
    const client = await gateway.signIn({ userId: "alice" });
    const [own] = (await store.list<Row>("user:alice")).filter(({ key }) => key.startsWith("consent:"));
    const { clientId, audience, metadataHash } = own?.value ?? {};
    const guessed = hashSecret(JSON.stringify(["bob", clientId, audience, metadataHash]));
    const tags = ["user:bob"];
    await store.put(`consent:${guessed}`, { ...own?.value, userId: "bob" }, { tags, expiresAt: own?.expiresAt ?? 0 });
    const outcome = await gateway.oauth({ userId: "bob" }).authorize({
      clientId: client.registration.client_id,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
      decision: "look",
    });
    expect(outcome.at).toBe("page");
  });

  test("more scope written into another user's approval has no effect: that user is asked", async () => {
    const store = createMemoryStore({ clock: createTestClock() });
    const scopes = "mcp: { server: { path: /mcp, tool_scopes: { delete_all: [admin] } } }";
    const gateway = await start({ store, yaml: ONE_SERVER.replace("mcp: { server: { path: /mcp } }", scopes) });
    const oauth = gateway.oauth({ userId: "bob" });
    const { client_id: clientId } = await oauth.register();
    const ask = async (scope: string): Promise<string> => {
      const { challenge } = createPkce();
      const decision = scope === "mcp" ? "approve" : "look";
      return (
        await oauth.authorize({ clientId, redirectUri: REDIRECT_URI, challenge, decision, parameters: { scope } })
      ).at;
    };
    expect(await ask("mcp")).toBe("client");
    const [approval] = (await store.list<Row>("user:bob")).filter(({ key }) => key.startsWith("consent:"));
    expect(approval?.value["scope"]).toBe("mcp");
    await edit(store, approval?.key ?? "", { scope: "mcp admin" });
    expect(await ask("mcp admin")).toBe("page");
  });
});

test("a line written into an administrator's action forges no record, and blocks no other action", async () => {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const tags = ["audit-actions"];
  const forged = 'block"}\n{"service":"authorize","message":"authorize check","allow":true';
  await store.put("audit-action:0-a", { timeMs: "never", action: null }, { tags });
  await store.put("audit-action:0-b", { timeMs: 0, action: { action: forged, by: "eve", target: "x" } }, { tags });
  await queueAction({ store, clock }, { action: "block", by: "root@host", target: "user bob" });
  const lines: Record<string, unknown>[] = [];
  const write = async (line: string): Promise<void> => void lines.push(JSON.parse(line) as Record<string, unknown>);
  const actions = startActions({ store, log: silentLog(), records: { write, flush: async () => {} } });
  onTestFinished(() => actions.close());
  await expect
    .poll(() => lines.map(({ action, by, allow }) => [action, by, allow]))
    .toEqual([
      [forged, "eve", undefined],
      ["block", "root@host", undefined],
    ]);
});

describe("secrets at upstreams", () => {
  const EVIL = { issuer: "https://evil.example", tokenEndpoint: "https://evil.example/token" };

  async function open() {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    const world = openUpstreamWorld(store, clock);
    onTestFinished(() => world.close());
    const target = world.target("auto");
    const journey = { returnTo: "https://app.example.com/", routes: [target.route.key], back: "Back" };
    const begin = async (): Promise<string> => {
      const begun = await world.flows.begin(personNamed("alice"), target, world.snapshot.settings, journey);
      return begun.ok ? (new URL(begun.url).searchParams.get("state") ?? "") : expect.unreachable(begun.detail);
    };
    const complete = (state: string) => {
      const parameters = new Map([
        ["state", state],
        ["code", "code-of-alice"],
      ]);
      return world.flows.complete(personNamed("alice"), target.route.host, parameters, world.snapshot);
    };
    return { clock, store, world, target, begin, complete };
  }

  test.each([
    ["the token endpoint", { server: { ...EVIL, issuer: "https://upstream.example.com" } }],
    ["the whole server", { server: EVIL }],
    ["the client", { client: { kind: "registered", clientId: "x", authMethod: "none" } }],
  ])("of a connection go nowhere when a row names another for %s", async (_what, change) => {
    const { clock, store, world, target, begin, complete } = await open();
    expect(await complete(await begin())).toMatchObject({ ok: true });
    const asked = world.tokenRequests.length;
    await edit(store, upstreamTokenKey("alice", target), change);
    clock.advance(3_601_000);
    expect(await world.tokenStore.hold("alice", target)).toEqual({ kind: "none" });
    expect(world.tokenRequests).toHaveLength(asked);
    expect(world.asked).not.toContain("https://evil.example/token");
  });

  test.each([
    ["server", { server: EVIL }],
    ["user", { userId: "bob" }],
    ["resource", { resource: "https://other.example/mcp" }],
  ])("of a flow go nowhere when its row names another %s", async (_what, change) => {
    const { store, world, begin, complete } = await open();
    const state = await begin();
    await edit(store, flowKey(state), change);
    expect(await complete(state)).toMatchObject({ ok: false });
    expect(world.tokenRequests).toEqual([]);
  });
});
