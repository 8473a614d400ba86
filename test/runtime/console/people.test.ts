import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { peopleScreen } from "../../../runtime/console/people/people.ts";
import type { Screen } from "../../../runtime/console/screen.ts";
import type { IdentityRecord } from "../../../runtime/identity/identity-records.ts";
import { readBlocks } from "../../../runtime/identity/block-records.ts";
import type { UserId } from "../../../runtime/shared/user-id.ts";
import {
  act,
  OPERATOR,
  openConsoleWorld,
  rightsTo,
  shown,
  textOfMarkup,
  VIEWER,
  visitTo,
  type ConsoleWorld,
} from "../../support/console-world.ts";
import { findForms, findLinks } from "../../support/html-forms.ts";

const YAML = `
runtime_flags: { mcp: true }
routes:
  - { name: a, from: "https://mcp.example.com", to: "https://up.example.com", mcp: { server: {} }, policy: { allow: { or: [{ authenticated_user: true }] } } }
`;

let world: ConsoleWorld;
let screen: Screen;
let alice: UserId;
beforeAll(async () => {
  world = await openConsoleWorld(YAML);
  screen = peopleScreen(world.people);
  alice = await world.addPerson("alice", {
    email: "Alice@example.com",
    name: "Alice A",
    groups: ["staff", "on\u202ecall"],
  });
  for (let at = 0; at < 60; at += 1)
    await world.addPerson(`user-${String(at).padStart(2, "0")}`, {
      email: `u${at}@many.example`,
      name: at === 41 ? "Zoë" : "",
    });
});
afterAll(() => world.close());

const identityOf = (id: UserId) => world.store.get<Partial<IdentityRecord>>(`identity:${id}`);
const show = async (address: string, rights = VIEWER) => shown(screen, visitTo(world, address, rights));
const people = (markup: string | undefined) => [...(markup ?? "").matchAll(/people\/([^"?]+)"/g)].map(([, id]) => id);

describe("the list of people", () => {
  test("is read page by page, each person once", async () => {
    const seen: (string | undefined)[] = [];
    let address: string | undefined = "";
    let pages = 0;
    for (; address !== undefined && pages < 9; pages += 1) {
      const page: string | undefined = await show(address);
      seen.push(...people(page));
      const next: string | undefined = findLinks(page ?? "").find(({ text }) => text === "More users")?.href;
      address = next && next.slice(next.indexOf("?")).replaceAll("&#38;", "&");
    }
    expect(pages).toBe(3);
    expect(seen).toHaveLength(61);
    expect(new Set(seen).size).toBe(61);
  });

  test.each([
    ["a whole address in any case", "ALICE@EXAMPLE.COM", ["alice"]],
    ["a whole id", "user-07", ["user-07"]],
    ["a part of an address", "u3@", ["user-03"]],
    ["a name", "zoë", ["user-41"]],
    ["nobody", "nobody at all", []],
    ["text that no id can be", "a\0b", []],
  ])("finds %s", async (_, search, expected) => {
    expect(people(await show(`?q=${encodeURIComponent(search)}`))).toEqual(expected);
  });

  test("a place in the list that nobody was given is the beginning", async () => {
    for (const place of ["session:x", "identity:a\0", "\0", `identity:${"x".repeat(2000)}`])
      expect(people(await show(`?after=${encodeURIComponent(place)}`))).toContain("alice");
  });

  test("looks at a bounded number of people at a time, and says where it goes on", async () => {
    const few = await openConsoleWorld(YAML);
    try {
      const pages: string[] = [];
      // 5,000 records that nobody has to be made for.
      const page = async ({ after, limit }: { readonly after?: string; readonly limit: number }) =>
        Array.from({ length: limit }, (_, at) => {
          const number = Number(after?.slice("identity:".length) ?? 0) + at + 1;
          const id = String(number).padStart(6, "0");
          pages.push(id);
          return {
            key: `identity:${id}`,
            value: { userId: id, email: "", name: "", groups: [], claims: {}, leftOut: null, confirmedAt: 0 },
            version: 1,
            tags: [],
          };
        });
      const other = peopleScreen({
        ...few.people,
        store: { ...few.people.store, get: () => Promise.resolve(undefined), page: page as never },
      });
      const body = await shown(other, visitTo(few, "?q=nobody-like-this", VIEWER));
      expect(textOfMarkup(body)).toContain("5,000 users searched so far.");
      expect(findLinks(body ?? "").find(({ text }) => text === "Search more users")?.href).toContain(
        "after=identity%3A0050",
      );
      // Some more for the counts of each row: at most 20 sessions and 20 grants.
      expect(pages.length).toBeLessThan(6_500);
    } finally {
      await few.close();
    }
  });

  test("is nobody's who may see one owner's things only", async () => {
    const rights = rightsTo([], { "team-a": ["viewer", "operator"] });
    expect(await show("", rights)).toBeUndefined();
    expect(await show("alice", rights)).toBeUndefined();
  });
});

describe("the page of a person", () => {
  beforeAll(async () => {
    for (const id of ["s1", "s2", "s3"]) await world.addSession(alice, id, id === "s1" ? ["dev_1"] : []);
    await world.addSession(await world.addPerson("user-00", { email: "u0@many.example" }), "other");
    await world.addClient("gwc_aaaaaaaaaaaaaaaaaaaaaa", "An app");
    await world.addGrant(alice, "g1", undefined, "An \u202eapp<b>");
    await world.addGrant(alice, "g2", "https://client.example/id.json", "Documented");
    await world.addConnection(alice, "default/a");
    await world.addDevice(alice, "dev_1", "Laptop <i>");
    world.records.push({
      id: "r1",
      timeMs: world.clock.now(),
      kind: "decision",
      outcome: "denied",
      userId: alice,
      route: "default/a",
      tool: "merge",
      value: { "session-id": "s1", ip: "203.0.113.9" },
    });
  });

  test("has everything that acts in their name, with texts of strangers inert and visible", async () => {
    const body = await show("alice");
    const text = textOfMarkup(body);
    expect(text).toContain("Alice@example.com");
    expect(text).toContain("staff, on\\u202ecall");
    expect(text).toContain("An \\u202eapp<b> unverified");
    expect(text).toContain("Documented verified by client.example");
    expect(text).toContain("auth.upstream.example connected read write");
    expect(text).toContain("Laptop <i>");
    expect(text).toContain("203.0.113.9");
    expect(text).toContain("Denied default/a tool merge");
    expect(body).not.toContain("<b>");
    expect(body).not.toContain("\u202e");
    expect(body).not.toContain("sealed-tokens-sentinel");
    expect(text).not.toContain(" other");
  });

  test("says when policy does not use the email", async () => {
    expect(textOfMarkup(await show("alice"))).not.toContain("not used by policy");
    const email = "kim@acme.example";
    const { accessToken: _, ...record } = (await identityOf(await world.addPerson("kim", { email })))?.value ?? {};
    // Never signed in: the email comes from an assertion whose issuer may state no domain.
    await world.store.put("identity:kim", { ...record, claims: { email } });
    expect(textOfMarkup(await show("kim"))).toContain(`${email} (not used by policy)`);
  });

  test("says what the user can reach, by which rule, and counts denials of a week", async () => {
    const text = textOfMarkup(await show("alice"));
    expect(text).toContain("0 routes are not open to this user.");
    expect(text).toMatch(/\ba MCP server Allowed when the user is signed in/);
    expect(text).toContain("Not allowed, 7 days 1 100.0 % of all");
  });

  test("has no way to end anything for a viewer, and one for each for an operator", async () => {
    const ends = (markup: string | undefined) => findLinks(markup ?? "").filter(({ href }) => href.includes("do="));
    expect(ends(await show("alice"))).toEqual([]);
    expect(await show("alice?do=end-session&of=s1")).toBeUndefined();
    expect(ends(await show("alice", OPERATOR)).length).toBe(3 + 2 + 2 + 1 + 2 + 2);
  });

  test("says so when nothing is known of anybody by this id", async () => {
    expect(await show("nobody")).toBeUndefined();
    expect(await show(encodeURIComponent("a\0"))).toBeUndefined();
  });

  test("keeps what it has when records cannot be asked", async () => {
    const unavailable = () => Promise.reject(new Error("away"));
    const failing = peopleScreen({ ...world.people, records: { find: unavailable, count: unavailable } });
    const text = textOfMarkup(await shown(failing, visitTo(world, "alice", VIEWER)));
    expect(text).toContain("The record store is unavailable");
    expect(text).toContain("An \\u202eapp");
  });

  test("finds ids that no path could have", async () => {
    const odd = await world.addPerson("../a//b?c=%2F\u200b", { email: "odd@example.com" });
    const href =
      findLinks((await show("?q=odd@example.com")) ?? "").find(({ text }) => text === "odd@example.com")?.href ?? "";
    expect(href).toMatch(/people\/~[\w-]+$/);
    expect(textOfMarkup(await show(href.slice(href.lastIndexOf("/") + 1)))).toContain(odd.replace("\u200b", "\\u200b"));
  });
});

describe("what is done about a person", () => {
  const done = (action: string, form: Readonly<Record<string, string>>, address = "alice") =>
    act(screen, visitTo(world, address), action, form);

  test("is asked once more, with a form that says what and to whom", async () => {
    const body = await shown(screen, visitTo(world, "alice?do=end-session&of=s1"));
    const [form] = findForms(body ?? "");
    expect(form?.values).toMatchObject({
      action: "end-session",
      csrf_token: "token-for-end-session",
      of: "s1",
      reason: "",
    });
    expect([form?.method, form?.action]).toEqual(["post", "/.gateway/console/people/alice"]);
    expect(textOfMarkup(body)).toContain("Target: session s1 of alice. User: Alice@example.com (alice)");
    expect(await shown(screen, visitTo(world, "alice?do=end-session&of=other"))).toBeUndefined();
    expect(await shown(screen, visitTo(world, "alice?do=nothing&of=s1"))).toBeUndefined();
    expect(await shown(screen, visitTo(world, "alice?do=end-constructor&of=s1"))).toBeUndefined();
  });

  test("needs an operator for all, a fresh sign-in and a reason", async () => {
    for (const action of Object.values(screen.actions ?? {}))
      expect(action).toMatchObject({ role: "operator", isSensitive: true });
    expect(Object.values(screen.actions ?? {}).some((action) => "ownerOf" in action)).toBe(false);
    for (const reason of ["", "  ", "x".repeat(501)])
      expect(await done("end-session", { of: "s1", reason })).toHaveProperty("refused");
    expect(await world.store.get("session:s1")).toBeDefined();
    expect(world.actions).toEqual([]);
  });

  test("ends one session, goes on at its neighbour, and leaves a record", async () => {
    const outcome = await done("end-session", { of: "s2", reason: "left the company" });
    const neighbour = `session-${Buffer.from("s3").toString("base64url")}`;
    expect(outcome).toEqual({ told: "Done: sign out session.", to: `/.gateway/console/people/alice#${neighbour}` });
    expect(await show("alice", OPERATOR)).toContain(`id="${neighbour}"`);
    expect(await world.store.get("session:s2")).toBeUndefined();
    expect(await world.store.get("session:s1")).toBeDefined();
    expect(world.actions.splice(0)).toEqual([
      {
        action: "revoke",
        by: "admin",
        target: "session s2 of alice",
        before: expect.stringMatching(/^[\w-]{40,}/),
        after: null,
        reason: "left the company",
      },
    ]);
    expect(await done("end-session", { of: "s2", reason: "again" })).toHaveProperty("refused");
  });

  test("ends nothing of somebody else's", async () => {
    for (const [action, of] of [
      ["end-session", "other"],
      ["end-grant", "none"],
      ["end-connection", "default/b"],
      ["end-device", "dev_2"],
      ["end-approval", "session:other"],
      ["approve-device", "dev_2"],
    ] as const)
      expect(await done(action, { of, reason: "r" })).toHaveProperty("refused");
    expect(await world.store.get("session:other")).toBeDefined();
    expect(world.actions).toEqual([]);
  });

  test("approves a device, and withdraws that", async () => {
    expect(await done("approve-device", { of: "dev_1", reason: "ours" })).toHaveProperty("to");
    expect(await done("approve-device", { of: "dev_1", reason: "ours" })).toHaveProperty("refused");
    expect(await done("withdraw-device", { of: "dev_1", reason: "lost" })).toHaveProperty("to");
    expect(world.actions.splice(0).map(({ action, before, after }) => [action, before, after])).toEqual([
      ["approve-device", "not approved", "approved"],
      ["withdraw-device-approval", "approved", "not approved"],
    ]);
  });

  test("ends grants, approvals, connections and devices, each once", async () => {
    for (const [action, of, target] of [
      ["end-approval", "consent:g2-consent", "approval consent:g2-consent of alice"],
      ["end-grant", "g1", "grant g1 of alice"],
      ["end-connection", "default/a", "upstream connection of alice to default/a"],
      ["end-device", "dev_1", "device dev_1 of alice"],
    ] as const) {
      expect(await done(action, { of, reason: "r" })).toHaveProperty("to");
      expect(await done(action, { of, reason: "r" })).toHaveProperty("refused");
      expect(world.actions.splice(0)).toMatchObject([{ action: "revoke", target, after: null, reason: "r" }]);
    }
    expect(world.disconnected).toEqual(["alice default/a admin"]);
    // The approval behind a grant goes with it.
    expect(await world.store.get("consent:g1-consent")).toBeUndefined();
  });

  test("ends all access, and leaves nothing that a client could go on with", async () => {
    await world.addConnection(alice, "default/a");
    expect(await done("end-all", { reason: "stolen laptop" })).toMatchObject({
      told: "Ended: 2 sessions, 1 grants, 1 upstream connections.",
    });
    const left = (await world.store.list("user:alice")).map(({ key }) => key);
    expect(left).toEqual(["identity:alice"]);
    expect(world.actions.splice(0)).toMatchObject([
      { action: "revoke", target: "all access of alice", reason: "stolen laptop" },
    ]);
  });

  test("blocks by id and address for a time, and lifts that", async () => {
    expect(await done("block", { reason: "r", time: "12" })).toHaveProperty("refused");
    expect(await done("block", { reason: "r", time: "" }, "admin")).toHaveProperty("refused");
    expect(await done("block", { reason: "odd calls", time: "3600" })).toHaveProperty("to");
    const since = world.clock.now() / 1000;
    expect((await readBlocks(world.store)).blocks).toEqual([
      {
        kind: "user",
        name: "alice",
        email: "Alice@example.com",
        reason: "odd calls",
        since,
        by: "admin",
        until: since + 3600,
      },
    ]);
    await expect.poll(() => world.blocks.size).toBe(1);
    expect(textOfMarkup(await show("alice"))).toMatch(/Blocked\. Since .*, until .*, by admin: odd calls/);
    expect(await done("unblock", { reason: "cleared" })).toHaveProperty("to");
    expect(await done("unblock", { reason: "cleared" })).toHaveProperty("refused");
    expect((await readBlocks(world.store)).blocks).toEqual([]);
    expect(world.actions.splice(0).map(({ action, before, after, reason }) => [action, before, after, reason])).toEqual(
      [
        ["block", null, expect.stringMatching(/^until 2/), "odd calls"],
        ["unblock", expect.stringMatching(/^until 2/), null, "cleared"],
      ],
    );
  });
});
