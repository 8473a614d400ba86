/** Ways around the admin API: tokens that are not the operator's, browsers, keys and cursors that were made up, paths and bodies. */
import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { putBlock, readBlocks } from "../../runtime/identity/block-records.ts";
import { openAdminApi, TEAM_TOKEN, type AdminApi, type ApiOptions } from "../support/admin-api.ts";

const BLOCK = { kind: "user", name: "alice", reason: "stolen" };

let api: AdminApi;
beforeAll(async () => {
  api = await openAdminApi();
});
afterAll(() => api?.close());
beforeEach(async () => {
  api.actions.splice(0);
  for (const { key } of await api.store.list("blocks")) await api.store.delete(key);
});

/** Nothing was changed, and nothing recorded. */
async function untouched(): Promise<void> {
  expect((await readBlocks(api.store)).blocks).toEqual([]);
  expect(api.actions).toEqual([]);
}

describe("callers", () => {
  test.each([
    ["without a token", "", 401],
    ["with a wrong token", "operator-token-of-the-tesT", 401],
    ["with a team's publish token", TEAM_TOKEN, 403],
    ["with a team's token for minutes", "minted", 403],
  ])("%s: nothing is shown or done, at any address", async (_, token, status) => {
    const shown = token === "minted" ? await api.mint() : token;
    const asked: readonly (readonly [string, ApiOptions])[] = [
      ["/blocks", {}],
      ["/blocks/x", {}],
      ["/openapi.json", {}],
      ["/nothing", {}],
      ["/blocks", { body: BLOCK }],
      ["/blocks/x/lift", { body: { reason: "r" } }],
    ];
    for (const [path, options] of asked)
      expect((await api.ask(path, { ...options, token: shown })).status).toBe(status);
    await untouched();
  });

  test("a cookie or a token in the query is ignored, and a page of another site gets and does nothing (CSRF)", async () => {
    const cookie = `gateway_session=${"a".repeat(43)}`;
    for (const headers of [{ cookie }, { cookie, authorization: "Basic YWRtaW46YWRtaW4=" }])
      expect((await api.ask("/blocks", { token: "", headers, body: BLOCK })).status).toBe(401);
    expect((await api.ask("/blocks?access_token=operator-token-of-the-test", { token: "" })).status).toBe(401);
    // Types that a form of another site can send, even if it had the token.
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""])
      expect((await api.ask("/blocks", { body: BLOCK, headers: { "content-type": type } })).status).toBe(415);
    const preflight = await api.ask("/blocks", {
      method: "OPTIONS",
      token: "",
      headers: { origin: "https://evil.example", "access-control-request-method": "POST" },
    });
    expect([preflight.status, preflight.headers.get("access-control-allow-origin")]).toEqual([401, null]);
    await untouched();
  });

  test("a name that was pointed at us (DNS rebinding) is 421", async () => {
    const { hostname, port } = new URL(api.origin);
    const status = await new Promise((resolve, reject) => {
      const headers = { host: "evil.example", authorization: "Bearer operator-token-of-the-test" };
      httpRequest({ hostname, port, path: "/api/v1/blocks", headers, agent: false }, (answer) => {
        answer.resume();
        resolve(answer.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(421);
  });
});

describe("Idempotency-Key", () => {
  test.each([
    ["missing", ""],
    ["too long", "k".repeat(129)],
    ["huge", "k".repeat(12_000)],
    ["two keys", "one, two"],
    ["half a quotation", '"one'],
    ["another quotation", '"one"two"'],
    ["with blanks", "one two"],
    ["a path", "../audit-action:1"],
    ["not ASCII", "kéy"],
  ])("%s is refused before the body is read", async (_, key) => {
    const headers = key === "" ? {} : { "idempotency-key": key };
    const answer = await api.ask("/blocks", { body: BLOCK, key: "", headers });
    expect([answer.status, answer.json().error]).toEqual([400, "idempotency-key"]);
    await untouched();
  });

  test("a replayed request does nothing, and its key is invalid for other requests", async () => {
    const first = await api.ask("/blocks", { body: BLOCK, key: "replay" });
    const [{ id } = { id: "" }] = first.json().items;
    await api.ask(`/blocks/${id}/lift`, { body: { reason: "over" } });
    api.actions.splice(0);
    expect((await api.ask("/blocks", { body: BLOCK, key: "replay" })).text).toBe(first.text);
    for (const body of [
      { ...BLOCK, name: "bob" },
      { ...BLOCK, until: "1h" },
    ])
      expect((await api.ask("/blocks", { body, key: "replay" })).status).toBe(422);
    expect((await api.ask(`/blocks/${id}/lift`, { body: { reason: "stolen" }, key: "replay" })).status).toBe(422);
    await untouched();
  });

  test("the store has neither key nor body, only hashes and the answer", async () => {
    await api.ask("/blocks", { body: { ...BLOCK, name: "nobody" }, key: "a-sentinel-key" });
    const rows = await api.store.page({ prefix: "api-answer:", limit: 100 });
    expect(rows.length).toBeGreaterThan(0);
    expect(JSON.stringify(rows)).not.toContain("a-sentinel-key");
    expect(rows.every(({ expiresAt }) => expiresAt !== undefined)).toBe(true);
  });
});

describe("addresses", () => {
  test.each([
    "/blocks?cursor=made-up",
    "/blocks?cursor=",
    "/blocks?cursor=1.%00",
    `/blocks?cursor=${"9".repeat(13)}.${"a".repeat(43)}`,
    `/blocks?cursor=1.${"a".repeat(44)}`,
    `/blocks?cursor=${"a".repeat(5000)}`,
    "/blocks?limit=0",
    "/blocks?limit=-1",
    "/blocks?limit=201",
    "/blocks?limit=1e2",
    "/blocks?limit=10&limit=20",
    "/blocks?limit=%31%30%ff",
    "/blocks?kind=planet",
    "/blocks?kind=user&kind=tool",
    "/blocks?__proto__=1",
    "/blocks?name=alice",
    "/blocks/x?a=b",
  ])("%s is refused", async (path) => {
    const { status, text } = await api.ask(path);
    expect([status, (JSON.parse(text) as { error: string }).error]).toEqual([400, "query"]);
  });

  test("an invented cursor shows nothing beyond the list", async () => {
    await putBlock(api, { kind: "user", name: "alice", reason: "", since: 1, by: "x" });
    const [whole, made] = await Promise.all([
      api.ask("/blocks"),
      api.ask(`/blocks?cursor=999999999999.${"a".repeat(43)}`),
    ]);
    expect(made.text).toBe(whole.text);
    expect((await api.ask(`/blocks?cursor=0.${"a".repeat(43)}`)).json()).toEqual({ items: [] });
  });

  test.each([
    "/",
    "/constructor",
    "/__proto__",
    "/blocks/",
    "/blocks//lift",
    "/blocks/%00",
    "/blocks/%ff",
    "/blocks/%0a",
    "/blocks/x/constructor",
    "/blocks/x/unblock",
    "/blocks/x/lift/more",
    `/blocks/${"a".repeat(1001)}`,
    `/blocks/${"a/".repeat(2500)}`,
    "/blocks/..%2fopenapi.json",
    "/blocks/session:s1",
  ])("%s is not found", async (path) => {
    expect((await api.ask(path)).status).toBe(404);
  });

  test("another kind's object is not found by its key", async () => {
    await api.store.put("session:s1", { userId: "alice", createdAt: 1 }, { tags: ["sessions"] });
    for (const id of ["s1", "session:s1", "session%3As1", "../session:s1"])
      expect((await api.ask(`/blocks/${encodeURIComponent(id)}`)).status).toBe(404);
    await api.store.delete("session:s1");
  });

  test("other methods are refused with those that there are", async () => {
    for (const [path, allow] of [
      ["/blocks", "GET, HEAD, POST"],
      ["/blocks/x", "GET, HEAD"],
      ["/blocks/x/lift", "POST"],
      ["/openapi.json", "GET, HEAD"],
    ] as const)
      for (const method of ["PUT", "DELETE", "PATCH"]) {
        const answer = await api.ask(path, { method });
        expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
      }
  });
});

describe("bodies", () => {
  test.each([
    ["empty", ""],
    ["no object", '["user"]'],
    ["a text", '"user"'],
    ["broken", '{"kind":"user"'],
    ["a name twice", '{"kind":"user","name":"alice","name":"bob","reason":"r"}'],
    ["an unknown name", '{"kind":"user","name":"alice","reason":"r","by":"somebody"}'],
    ["__proto__", '{"__proto__":{"reason":"r"},"kind":"user","name":"alice"}'],
    ["a number", '{"kind":"user","name":1,"reason":"r"}'],
    ["a list", '{"kind":"user","name":["alice"],"reason":"r"}'],
    ["null", '{"kind":"user","name":"alice","route":null,"reason":"r"}'],
    ["deep", `{"kind":"user","name":${"[".repeat(5000)}${"]".repeat(5000)},"reason":"r"}`],
    ["many values", `{"a":[${"1,".repeat(5000)}1]}`],
    ["half a character", '{"kind":"user","name":"\\ud800","reason":"r"}'],
    ["a BOM", '\ufeff{"kind":"user","name":"alice","reason":"r"}'],
    ["a long name", JSON.stringify({ ...BLOCK, name: "a".repeat(2049) })],
    ["a long reason", JSON.stringify({ ...BLOCK, reason: "a".repeat(501) })],
    ["no reason", JSON.stringify({ ...BLOCK, reason: undefined })],
    ["no name", JSON.stringify({ ...BLOCK, name: undefined })],
  ])("%s is rejected, and nothing is done", async (_, text) => {
    const answer = await api.ask("/blocks", { body: text, method: "POST" });
    expect([answer.status, answer.json().error]).toEqual([400, "body"]);
    await untouched();
  });

  test("too large bodies, and invalid UTF-8", async () => {
    const large = await api.ask("/blocks", { body: `{"name":"${"a".repeat(17_000)}"}` });
    expect([large.status, large.json().error]).toEqual([413, "too-large"]);
    const latin = await api.ask("/blocks", { body: new Uint8Array([0x7b, 0x22, 0xe9, 0x22, 0x3a, 0x31, 0x7d]) });
    expect([latin.status, latin.json().error]).toEqual([400, "body"]);
    await untouched();
  });
});

test("texts of others are inert in answers, and no answer is cached or sniffed", async () => {
  const name = "<script>alert(1)</script>\u202e";
  await putBlock(api, { kind: "tool", name, reason: name, since: 1, by: name });
  const answer = await api.ask("/blocks");
  expect(answer.json()).toMatchObject({ items: [{ name }] });
  expect(["content-type", "x-content-type-options", "cache-control"].map((each) => answer.headers.get(each))).toEqual([
    "application/json",
    "nosniff",
    "no-store",
  ]);
});

describe("objects of users", () => {
  const SEALED = "sealed-sentinel";
  const tags = (user: string, all: string): string[] => [all, `user:${user}`];
  beforeEach(async () => {
    const expiresAt = Math.floor(api.clock.now() / 1000) + 3600;
    const { store } = api;
    for (const user of ["alice", "bob"]) {
      const session = { userId: user, createdAt: 1, idToken: SEALED, devices: [{ key: SEALED, id: "dev_1" }] };
      await store.put(`session:s-${user}`, session, { expiresAt, tags: tags(user, "sessions") });
      const grant = {
        issuer: "https://mcp.example.com",
        clientId: "c1",
        clientName: "An app",
        userId: user,
        audience: "https://mcp.example.com/a",
        scope: "mcp",
        createdAt: 1,
        sessionExpiresAt: expiresAt,
        refresh: { hash: SEALED, number: 1, earlier: [], sealed: SEALED },
      };
      await store.put(`grant:g-${user}`, grant, { expiresAt, tags: [...tags(user, "grants"), "client:c1"] });
      const device = {
        id: `dev_${user}`,
        userId: user,
        name: "Laptop",
        type: "any",
        rpId: "auth.example.com",
        credentialId: SEALED,
        publicKey: SEALED,
        counter: 0,
        transports: [],
        isSynced: false,
        createdAt: 1,
        usedAt: 1,
        withdrawals: 0,
      };
      await store.put(`device:h-${user}`, device, { expiresAt, tags: tags(user, "devices") });
      const { clientId, clientName, audience, scope } = grant;
      const consent = { userId: user, clientId, clientName, audience, scope, metadataHash: SEALED, grantedAt: 1 };
      await store.put(`consent:c-${user}`, { ...consent, proof: SEALED }, { expiresAt, tags: [`user:${user}`] });
      const call = {
        state: "waiting",
        userId: user,
        userName: user,
        userEmail: "",
        clientId,
        clientName,
        routeKey: "team-a/db",
        routeName: "db",
        server: audience,
        query: SEALED,
        tool: "drop",
        given: SEALED,
        approvers: [["admins", "owners"]],
        revocationKeys: [SEALED],
        askedAt: 1,
      };
      const connection = {
        userId: user,
        routeKey: "team-a/db",
        server: { issuer: "https://auth.example.com", tokenEndpoint: "https://auth.example.com/token" },
        client: { kind: "route", clientId: SEALED },
        resource: audience,
        tokens: SEALED,
        canRefresh: true,
        scopes: ["read"],
        wantedScopes: [],
        stepUps: 0,
        stepUpsFrom: 0,
        obtainedAt: 1,
      };
      await store.put(`vault:v-${user}`, connection, { tags: [`user:${user}`] });
      const drift = {
        route: `${user}/db`,
        tools: [
          ["drop", SEALED],
          [`\0${"h".repeat(43)}\0read`, SEALED],
          ["\u0001add", SEALED],
        ],
      };
      await store.put(`tool-drift:d-${user}`, drift, { expiresAt, tags: ["tool-drift"] });
      const waits = { expiresAt, tags: [`user:${user}`, `asking:${user}`, "asking"] };
      await store.put(`approval:${user.padEnd(22, "-")}`, call, waits);
    }
  });

  const objects = [
    ["sessions", "s-alice"],
    ["grants", "g-alice"],
    ["devices", "dev_alice"],
    ["consents", "consent:c-alice"],
  ] as const;
  const listed = [...objects, ["connections", "v-alice"], ["pending-calls", "alice".padEnd(22, "-")]] as const;

  test.each(listed)("%s: no answer has a secret, and a filter shows one user's only", async (plural, id) => {
    const [all, one, own] = [
      await api.ask(`/${plural}`),
      await api.ask(`/${plural}/${id}`),
      await api.ask(`/${plural}?user=alice`),
    ];
    for (const { status, text } of [all, one, own]) expect([status, text.includes("sentinel")]).toEqual([200, false]);
    expect(all.json().items).toHaveLength(2);
    expect(own.json()).toEqual({ items: [one.json()] });
    for (const user of ["alice@example.com", "ALICE", "alice ", "mallory"])
      expect((await api.ask(`/${plural}?user=${encodeURIComponent(user)}`)).json()).toEqual({ items: [] });
    for (const user of ["", "%00", "a&user=bob", "a".repeat(1001)])
      expect((await api.ask(`/${plural}?user=${user}`)).status).toBe(400);
  });

  test.each(objects)("%s: exactly one is revoked, with a record and once", async (plural, id) => {
    const path = `/${plural}/${id}/end`;
    for (const token of ["", TEAM_TOKEN]) await api.ask(path, { body: { reason: "r" }, token });
    expect((await api.ask(`${path}?force=1`, { body: { reason: "r" } })).status).toBe(400);
    expect((await api.ask(path, { body: { reason: "r", user: "bob" } })).status).toBe(400);
    expect(api.actions).toEqual([]);
    const [one, two] = [
      await api.ask(path, { body: { reason: "left" }, key: id }),
      await api.ask(path, { body: { reason: "left" }, key: id }),
    ];
    expect([one.status, two.text]).toEqual([200, one.text]);
    expect(api.actions).toMatchObject([
      {
        action: "revoke",
        by: "admin_token",
        target: expect.stringMatching(/ of alice$/) as string,
        after: null,
        reason: "left",
      },
    ]);
    expect((await api.ask(path, { body: { reason: "left" } })).status).toBe(404);
    const left = (await api.ask(`/${plural}`)).json().items;
    expect(left.map(({ user }) => user)).toEqual(["bob"]);
  });

  test("drift names items, and neither digests nor viewers", async () => {
    const { items } = (await api.ask("/tool-drift")).json();
    expect(items).toHaveLength(2);
    expect(items).toContainEqual({
      id: "d-bob",
      route: "bob/db",
      changed: "1",
      changed_for_some: "1",
      items: "drop, read",
    });
    expect((await api.ask("/tool-drift/d-bob")).text).not.toMatch(/sentinel|hhh/);
  });

  test("a pending call cannot be decided here, and its arguments are not shown", async () => {
    const path = `/pending-calls/${"alice".padEnd(22, "-")}`;
    for (const verb of ["approve", "refuse", "end"])
      expect((await api.ask(`${path}/${verb}`, { body: { reason: "r" } })).status).toBe(404);
    expect((await api.ask("/pending-calls", { body: { reason: "r" } })).status).toBe(405);
    expect((await api.ask(path)).json()).toMatchObject({ tool: "drop", approvers: "(admins or owners)" });
    expect(api.actions).toEqual([]);
  });

  test("pages of another kind's places, and of keys that were made up", async () => {
    expect((await api.ask("/sessions?cursor=grant:g-alice")).status).toBe(400);
    expect((await api.ask("/sessions?cursor=session:")).json().items).toHaveLength(2);
    expect((await api.ask("/sessions?cursor=session:zzz")).json()).toEqual({ items: [] });
    expect((await api.ask("/sessions?cursor=session:%ed%a0%80")).status).toBe(400);
  });
});
