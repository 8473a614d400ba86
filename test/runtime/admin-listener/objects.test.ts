/** The admin API: pages, single objects, changes with their records, and one answer for each Idempotency-Key. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { readBlocks } from "../../../runtime/identity/block-records.ts";
import { openAdminApi, type AdminApi } from "../../support/admin-api.ts";

let api: AdminApi;
beforeAll(async () => {
  api = await openAdminApi();
});
afterAll(() => api?.close());
beforeEach(() => {
  api.actions.splice(0);
});

const DROP = { kind: "tool", name: "drop", route: "team-a/db", until: "2h", reason: "it drops" };
const block = (name: string) => ({ ...DROP, name });
describe("changes", () => {
  test("make, show and lift a block, each with a record", async () => {
    const made = await api.ask("/blocks", { body: DROP });
    const { items } = made.json();
    expect([made.status, items]).toMatchObject([
      201,
      [{ ...block("drop"), until: expect.stringMatching(/Z$/) as string }],
    ]);
    const [{ id } = { id: "" }] = items;
    const shown = await api.ask(`/blocks/${id}`);
    expect([shown.status, shown.json()]).toEqual([200, items[0]]);
    expect((await api.ask("/blocks?kind=tool")).json()).toEqual({ items });
    expect((await api.ask("/blocks?kind=user")).json()).toEqual({ items: [] });
    const lifted = await api.ask(`/blocks/${id}/lift`, { body: { reason: "mended" } });
    expect([lifted.status, lifted.json()]).toEqual([200, { id, done: "lift" }]);
    const target = 'tool "drop" on route "team-a/db"';
    expect(api.actions).toMatchObject([
      { action: "block", by: "admin_token", target, before: null, reason: "it drops" },
      { action: "unblock", by: "admin_token", target, after: null, reason: "mended" },
    ]);
    expect((await api.ask(`/blocks/${id}`)).status).toBe(404);
    expect((await api.ask(`/blocks/${id}/lift`, { body: { reason: "again" } })).status).toBe(404);
  });

  test("refuse what the command refuses, with its words", async () => {
    const wrong: readonly (readonly [object, string])[] = [
      [{ kind: "planet" }, "must be one of user"],
      [{ name: "a\u0007" }, "without control characters"],
      [{ route: "nowhere" }, "must be a route"],
      [{ until: "yesterday" }, "must be in the future"],
      [{ reason: " " }, '"reason" is missing'],
      [{ kind: "user" }, "is only for tools"],
    ];
    for (const [change, message] of wrong) {
      const answer = await api.ask("/blocks", { body: { ...DROP, ...change } });
      expect([answer.status, answer.json().error, answer.json().message?.includes(message)], message).toEqual([
        400,
        "body",
        true,
      ]);
    }
    expect((await readBlocks(api.store)).blocks).toEqual([]);
    expect(api.actions).toEqual([]);
  });
});

test("a client identified by its document is found by its address, and its grants are revoked", async () => {
  const id = "https://client.example/oauth/id.json?x=1";
  const expiresAt = Math.floor(api.clock.now() / 1000) + 3600;
  const grant = { clientId: id, clientName: "Documented", userId: "alice", audience: "https://mcp.example.com" };
  const stored = { ...grant, scope: "mcp", createdAt: 1, sessionExpiresAt: expiresAt };
  await api.store.put("grant:g1", stored, { expiresAt, tags: ["grants", `client:${id}`, "user:alice"] });
  const path = `/clients/${encodeURIComponent(id)}`;
  expect((await api.ask(path)).json()).toEqual({ id, client_id: id, name: "Documented" });
  expect((await api.ask("/clients")).json()).toEqual({ items: [] });
  expect((await api.ask(`/grants?client_id=${encodeURIComponent(id)}`)).json().items).toMatchObject([{ id: "g1" }]);
  expect((await api.ask(`${path}/end`, { body: { reason: "phishing" } })).status).toBe(200);
  expect((await api.ask("/grants/g1")).status).toBe(404);
  expect((await api.ask(path)).status).toBe(404);
  expect(api.actions).toMatchObject([{ action: "revoke", target: `client ${id}`, reason: "phishing" }]);
});

describe("pages", () => {
  test("come to every object once, the newest first, whatever is lifted meanwhile", async () => {
    for (const name of ["a", "b", "c", "d", "e"]) {
      await api.ask("/blocks", { body: block(name) });
      api.clock.advance(name === "b" ? 0 : 1000);
    }
    const names: string[] = [];
    for (let query = "?limit=2"; query !== "";) {
      const { items, next } = (await api.ask(`/blocks${query}`)).json();
      names.push(...items.map(({ name }) => name));
      // The place is still one when its object is gone.
      if (next !== undefined) await api.ask(`/blocks/${items.at(-1)?.id}/lift`, { body: { reason: "r" } });
      query = next === undefined ? "" : `?limit=2&cursor=${next}`;
    }
    expect(names.toSorted()).toEqual(["a", "b", "c", "d", "e"]);
    expect(names[0]).toBe("e");
  });
});

describe("Idempotency-Key", () => {
  const twice = { body: block("twice"), key: "one-key" };

  test("the same key and body: the same answer, and done once, for 24 hours", async () => {
    const first = await api.ask("/blocks", twice);
    api.clock.advance(60_000);
    const second = await api.ask("/blocks", { ...twice, key: '"one-key"' });
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    expect(second.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect(api.actions).toHaveLength(1);
    api.clock.advance(24 * 3_600_000);
    expect((await api.ask("/blocks", twice)).status).toBe(201);
    expect(api.actions).toHaveLength(2);
  });

  test("another body or another address: 422, and nothing is done", async () => {
    await api.ask("/blocks", { ...twice, key: "k2" });
    api.actions.splice(0);
    for (const [path, body] of [
      ["/blocks", block("other")],
      ["/blocks/x/lift", { reason: "it drops" }],
    ] as const) {
      const answer = await api.ask(path, { body, key: "k2" });
      expect([answer.status, answer.json().error]).toEqual([422, "idempotency-key"]);
    }
    expect(api.actions).toEqual([]);
  });

  test("of two concurrent requests one runs, and the other one must wait or gets its response", async () => {
    const asked = { body: block("at-once"), key: "k3" };
    const answers = await Promise.all([1, 2, 3].map(() => api.ask("/blocks", asked)));
    expect(answers.filter(({ status }) => status === 201).length).toBeGreaterThan(0);
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    expect(api.actions).toHaveLength(1);
    expect((await api.ask("/blocks", asked)).status).toBe(201);
    expect(api.actions).toHaveLength(1);
  });

  test("while the store is unavailable nothing is done, and the key can be used afterwards", async () => {
    const asked = { body: block("away"), key: "k4" };
    api.breakable.broken = true;
    const away = await api.ask("/blocks", asked);
    api.breakable.broken = false;
    expect([away.status, away.json().error, away.headers.get("retry-after")]).toEqual([503, "store.unavailable", "1"]);
    expect((await api.ask("/blocks", asked)).status).toBe(201);
  });

  test("an answer that was refused is the answer, too", async () => {
    const asked = { body: { ...DROP, until: "never" }, key: "k5" };
    const [first, second] = [await api.ask("/blocks", asked), await api.ask("/blocks", asked)];
    expect([first.status, second.text]).toEqual([400, first.text]);
  });
});
