import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { subjectsOf } from "../../../runtime/config/diff/subjects.ts";
import { figuresOf } from "../../../runtime/console/servers/route-figures.ts";
import { toolMatrix } from "../../../runtime/console/servers/tool-matrix.ts";
import { matrixPart } from "../../../runtime/pages/console/servers/matrix.ts";
import { mayUse } from "../../../runtime/policy/reach.ts";
import { headerLines, MASK } from "../../../runtime/console/servers/header-lines.ts";
import { addressOf, routeFacts, spanText } from "../../../runtime/console/servers/route-words.ts";
import { serversScreen } from "../../../runtime/console/servers/servers.ts";
import type { Screen } from "../../../runtime/console/screen.ts";
import { toolLockOf } from "../../../runtime/mcp/tool-locks/tool-locks.ts";
import { epochSeconds } from "../../../runtime/shared/clock.ts";
import { putBlock } from "../../../runtime/identity/block-records.ts";
import {
  openConsoleWorld,
  OPERATOR,
  rightsTo,
  shown,
  textOfMarkup,
  VIEWER,
  visitTo,
  type ConsoleWorld,
} from "../../support/console-world.ts";
import { routeNamed, snapshotFrom } from "../../support/config.ts";
import { findLinks } from "../../support/html-forms.ts";

const DIGEST = `sha256:${"a".repeat(64)}`;
const many = Array.from(
  { length: 120 },
  (_, at) =>
    `  - { name: m${String(at).padStart(3, "0")}, from: "https://many.example.com", path: /m${at}, to: "https://up.example.com", allow_any_authenticated_user: true }`,
).join("\n");

const YAML = `
runtime_flags: { mcp: true }
jwt_claims_headers: { X-Department: department }
set_response_headers: { X-Frame-Options: DENY }
routes:
  - name: tools
    from: "https://mcp.example.com"
    to: ["https://up1.internal/base", "https://up2.internal"]
    mcp:
      server:
        path: /mcp
        max_request_bytes: 4096
        tool_scopes: { merge: ["repo:write"], "push_*": ["repo:write"] }
        tool_lock: { tools: { get: ["${DIGEST}"], merge: ["${DIGEST}"] }, on_drift: deny }
    rate_limits: [{ name: burst, requests: 5, window: 10s, per: [user] }]
    policy:
      - allow: { or: [{ groups: staff }] }
      - deny: { and: [{ mcp_tool: merge }, { groups: { exclude: admins } }] }
      - shadow: true
        deny: { or: [{ mcp_tool: { starts_with: delete } }] }
    set_request_headers:
      Authorization: "Bearer \${gateway.access_token}"
      X-Plain: "a \${gateway.request.headers[\\"X-In\\"]}"
      X-Api-Key: api-key-sentinel
      X-Gone: never sent
      X-Upstream: Basic api-key-sentinel
      X-Back: https://user:api-key-sentinel@back.internal/
    set_request_headers_secret: { X-Shared: { secret_ref: "env:SHARED" } }
    remove_request_headers: [X-Gone, X-Forwarded-Host]
    rewrite_response_headers: [{ header: Location, prefix: "http://internal", value: "https://mcp.example.com" }]
  - { name: moved, from: "https://old.example.com", redirect: { host_redirect: "new.example.com", response_code: 308 }, allow_public_unauthenticated_access: true }
  - { name: ping, from: "https://ping.example.com", path: /ping, response: { status: 200, body: pong }, policy: [] }
  - { name: app, from: "https://app.example.com", to: "https://app.internal", timeout: 90s, mcp: { client: {} }, allowed_users: ["eve@example.com"] }
${many}
`;

let world: ConsoleWorld;
let screen: Screen;
beforeAll(async () => {
  world = await openConsoleWorld(YAML, { secrets: { "env:SHARED": "shared-secret-sentinel" } });
  screen = serversScreen(world.servers);
  const alice = await world.addPerson("alice", { email: "alice@example.com", groups: ["staff"] });
  await world.addPerson("bob", { email: "bob@example.com", groups: ["other"] });
  await world.addPerson("carol", { email: "carol@example.com", groups: ["staff", "admins"] });
  await world.addConnection(alice, "default/tools");
});
afterAll(() => world.close());

const show = async (address: string, rights = VIEWER) => shown(screen, visitTo(world, address, rights));
/** All tabs of a route, one after the other. */
const showAll = async (address: string, rights = VIEWER) => {
  const tabs = ["", "?tab=users", "?tab=traffic", "?tab=connect", "?tab=configuration"];
  return (await Promise.all(tabs.map((tab) => show(`${address}${tab}`, rights)))).join("");
};
const keys = (markup: string | undefined) =>
  [...(markup ?? "").matchAll(/servers\/(default\/[^"?]+)"/g)].map(([, key]) => key);

describe("the list of routes", () => {
  test("is read page by page, each route once, and none twice", async () => {
    const seen: (string | undefined)[] = [];
    let address: string | undefined = "";
    let pages = 0;
    for (; address !== undefined && pages < 9; pages += 1) {
      const page: string | undefined = await show(address);
      seen.push(...keys(page));
      const next: string | undefined = findLinks(page ?? "").find(({ text }) => text === "More servers and apps")?.href;
      address = next?.slice(next.indexOf("?"));
    }
    expect([pages, seen.length, new Set(seen).size]).toEqual([3, 124, 124]);
  });

  test.each([
    ["a name", "?q=MOVED", ["default/moved"]],
    ["an address", "?q=ping.example", ["default/ping"]],
    ["a kind", "?kind=client", ["default/app"]],
    ["both", "?kind=server&q=tools", ["default/tools"]],
    ["nothing", "?q=tools&kind=redirect", []],
  ])("finds by %s", async (_, address, expected) => {
    expect(keys(await show(address))).toEqual(expected);
  });

  test("says who may in words, how many tools differ, and of upstreams only to operators", async () => {
    const text = textOfMarkup(await show("?q=tools"));
    expect(text).toContain(
      'the user is in group "staff"; never when the tool is "merge" and the user is not in group "admins"',
    );
    expect(text).toContain("2 reviewed");
    expect(text).not.toContain("Upstreams");
    world.upstreams.push({
      route: "default/tools",
      upstream: "https://up2.internal",
      healthy: false,
      checks: [{ kind: "http", healthy: false, last_error: "status 500" }],
      left_out_until: null,
      ejections: 0,
    });
    expect(textOfMarkup(await show("?q=tools", OPERATOR))).toContain("1 of 2 not well");
  });

  test("has one owner's routes alone for who may see no others", async () => {
    const others = rightsTo([], { "team-a": ["viewer", "operator"] });
    expect(keys(await show("", others))).toEqual([]);
    expect(await show("default/tools", others)).toBeUndefined();
    const own = rightsTo([], { default: ["viewer"] });
    expect(keys(await show("?q=tools", own))).toEqual(["default/tools"]);
  });
});

describe("the page of a route", () => {
  test("tells what there is, to whom, and with which reason", async () => {
    const text = textOfMarkup(await showAll("default/tools"));
    for (const part of [
      "https://mcp.example.com/mcp",
      "Denied when all of these are true",
      'Allowed when the user is in group "staff"',
      "Shadow policy, not enforced: policy[2]",
      'Denied when the tool starts with "delete"',
      'group &quot;staff"'.replace("&quot;", '"'),
      "5 in 10 s; for each user; per process while the store is unavailable",
      "repo:write for merge, push_*",
      "4,096 bytes",
      "1 person has connected one",
      "claude mcp add --transport http tools",
    ])
      expect(text).toContain(part);
    // The rule of the shadow policy is not among the active ones.
    expect(text.split("Shadow policy")[0]).not.toContain("delete");
  });

  test("tells of the people who are known here what they may, by which rule", async () => {
    const text = textOfMarkup(await showAll("default/tools"));
    expect(text).toMatch(/alice@example\.com some tools 1 of 2; not merge Allowed when the user is in group "staff"/);
    expect(text).toContain("Known users: 2 of 3 users on this page can use this server");
    expect(text).toMatch(/bob@example\.com nothing No allow rule matches/);
    expect(text).toMatch(/carol@example\.com everything all Allowed/);
    // Who may see one owner's things only does not see who there is.
    const own = textOfMarkup(await showAll("default/tools", rightsTo([], { default: ["viewer"] })));
    expect(own).toContain('in group "staff"');
    expect(own).not.toContain("@example.com");
  });

  test("says that nobody reaches a blocked one, and a blocked person nothing", async () => {
    const said = { reason: "incident", since: epochSeconds(world.clock), by: "root" };
    await putBlock(world, { kind: "user", name: "carol", ...said });
    await putBlock(world, { kind: "route", name: "default/app", ...said });
    await expect.poll(() => world.blocks.size).toBe(2);
    expect(textOfMarkup(await showAll("default/tools"))).toContain(
      "carol@example.com nothing Blocked by an administrator",
    );
    expect(textOfMarkup(await showAll("default/app"))).toMatch(
      /Blocked: all requests are denied\. Since .* by root: incident/,
    );
  });

  test("shows headers as they will be sent, and no secret", async () => {
    for (const rights of [VIEWER, OPERATOR, rightsTo(["viewer", "operator", "approver", "auditor"])]) {
      const body = await showAll("default/tools", rights);
      expect(body).not.toContain("sentinel");
      expect(textOfMarkup(body)).toContain(`X-Shared set ${MASK}`);
    }
  });

  test("shows addresses of upstreams to operators alone", async () => {
    expect(await showAll("default/tools")).not.toContain("internal/base");
    const text = textOfMarkup(await showAll("default/tools", OPERATOR));
    expect(text).toContain("https://up1.internal/base not watched");
    expect(text).toContain("https://up2.internal not well http check fails: status 500");
  });

  test("tells tools that differ from what was reviewed before the others", async () => {
    const route = routeNamed(world.snapshot, "tools");
    const lock = toolLockOf(route);
    if (!lock) throw new Error("there is no lock");
    const drifts = [
      { key: "merge", kind: "changed", digest: "sha256:other" },
      { key: "evil\u202e<b>", kind: "unlocked", digest: "sha256:new" },
    ] as const;
    world.toolLocks.observe(route, { drifts, reviewed: new Map(), textOf: () => undefined } as never, {
      viewer: "v",
      since: () => 1,
    });
    const body = await showAll("default/tools");
    const text = textOfMarkup(body);
    expect(text).toMatch(/merge not as reviewed evil\\u202e<b> never reviewed get as reviewed/);
    expect(text).toContain("What differs: listed, calls denied");
    expect(body).not.toContain("<b>");
    expect(textOfMarkup(await show("?q=tools"))).toMatch(/1 changed .* 2 reviewed 1 changed/);
  });

  test("shows operators and viewers what was learned about the upstream, and lets operators clear it", async () => {
    const learned = { schema: 1, routeKey: "default/tools", needed: true, challenged: false, proof: "metadata" };
    const tags = ["upstream-route:default/tools"];
    await world.store.put("upstream-need:1", { ...learned, learnedAt: epochSeconds(world.clock) }, { tags });
    expect(textOfMarkup(await showAll("default/tools"))).toContain("wants a token of its users: its metadata say so");
    expect(await showAll("default/tools")).not.toContain("Forget it");
    const operator = rightsTo([], { default: ["viewer", "operator"] });
    expect(await showAll("default/tools", operator)).toContain("Forget it");
    const action = screen.actions?.["forget-need"];
    const visit = visitTo(world, "default/tools", operator);
    expect([action?.role, action?.ownerOf?.(visit, new Map())]).toEqual(["operator", "default"]);
    expect(await action?.run(visit, new Map())).toMatchObject({
      told: expect.stringContaining("Reset") as unknown,
    });
    expect(world.actions.at(-1)).toMatchObject({
      action: "forget",
      target: expect.stringContaining("default/tools") as unknown,
    });
    expect(textOfMarkup(await showAll("default/tools", operator))).not.toContain("wants a token");
    expect(await action?.run(visit, new Map())).toHaveProperty("refused");
  });

  test("tells of the last requests as records have them", async () => {
    const base = {
      kind: "decision",
      route: "default/tools",
      value: { "mcp-method": "tools/list" },
      timeMs: world.clock.now(),
    } as const;
    world.records.push(
      { ...base, id: "r1", outcome: "denied", email: "mallory@example.com", tool: "merge" },
      { ...base, id: "r2", outcome: "error", userId: "u\u0000", result: { status: 502, durationMs: 12 } },
      { ...base, id: "r3", outcome: "allowed", result: { status: 200, durationMs: 0.4 } },
      { ...base, id: "r4", outcome: "allowed" },
    );
    const text = textOfMarkup(await showAll("default/tools"));
    expect(text).toContain("Of the last 4, 1 was denied and 1 failed (25 %)");
    expect(text).toContain("u\\u0000 tools/list 502 12 ms");
    expect(world.queries.at(-1)).toMatchObject({ kind: "decision", route: "default/tools" });
    await showAll("default/tools", rightsTo([], { default: ["viewer"] }));
    expect(world.queries.at(-1)).toMatchObject({ owners: ["default"] });
  });

  test("is there while the store and the records are away, and says so", async () => {
    world.breakable.broken = true;
    world.clock.advance(60_000);
    try {
      const text = textOfMarkup(await showAll("default/tools"));
      expect(text).toContain("The record store is unavailable");
      expect(text).toContain("The store, which knows the people, is unavailable");
      expect(text).toContain('Allowed when the user is in group "staff"');
    } finally {
      world.breakable.broken = false;
    }
  });

  test("says that there is nothing at an address that no route has", async () => {
    expect(await show("default/none")).toBeUndefined();
    expect(await show("~_w")).toBeUndefined();
  });
});

describe("the matrix of tools and groups", () => {
  const cellsOf = (markup: string | undefined) =>
    new Map(
      [...(markup ?? "").matchAll(/<th scope="row"><code>([^<]*)<\/code>.*?<\/th>(.*?)<\/tr>/gs)].map(
        ([, tool = "", cells = ""]) => [
          tool,
          [...cells.matchAll(/<td[^>]*>(.*?)<\/td>/g)].map(([, cell = ""]) => cell),
        ],
      ),
    );
  const route = () => routeNamed(world.snapshot, "tools");

  test("says who can call which tool, by the rules' own decision, and links to the rule that decides", async () => {
    const markup = await show("default/tools");
    const heads = [...(markup ?? "").matchAll(/<th scope="col" class="cell">([^<]*)</g)].map(([, name]) => name);
    const cells = cellsOf(markup);
    const at = heads.findIndex((name) => name?.includes("staff"));
    expect(heads.length).toBeGreaterThan(1);
    expect(cells.get("get")?.[at]).toBe('<a href="#rule-2">Allowed</a>');
    // Staff who are not admins: the deny rule is the first.
    expect(cells.get("merge")?.[at]).toBe('<a href="#rule-1">Denied</a>');
    expect(cells.get("get")?.[heads.findIndex((name) => name?.includes("admins"))]).toBe("–");
    expect(markup).toContain('id="rule-1"');
    for (const [tool, row] of cells) {
      const { subjects } = subjectsOf([route().policy]);
      const user = subjects.find(({ name }) => name.includes("staff"))?.user;
      expect(mayUse(route().policy, user, { kind: "tool", name: tool })).toBe(row[at]?.includes("Allowed"));
    }
  });

  test("has tools without a lock as lists have shown them, page by page, and finds them by name", () => {
    const names = Array.from({ length: 120 }, (_, at) => `tool_${String(at).padStart(3, "0")}`);
    const first = toolMatrix(route(), names, undefined, { search: "", after: "" });
    expect([first.rows.length, first.count, first.pages.first]).toEqual([50, { all: 120, found: 120 }, undefined]);
    expect(first.pages.next).toContain("after=tool_049");
    const last = toolMatrix(route(), names, undefined, { search: "", after: "tool_099" });
    expect([last.rows[0]?.tool, last.rows.length, last.pages.next]).toEqual(["tool_100", 20, undefined]);
    const found = toolMatrix(route(), names, undefined, { search: "L_11", after: "" });
    expect(found.rows.map(({ tool }) => tool)).toContain("tool_110");
    expect(found.count.found).toBe(10);
  });

  test("is bounded: fifty tools times twenty groups are below 120 KB", () => {
    const yaml = `routes:\n  - { name: big, from: "https://big.example.com", to: "https://up.example.com", mcp: { server: {} }, policy: [{ allow: { or: [${Array.from({ length: 60 }, (_, at) => `{ groups: g${at} }`).join(", ")}] } }] }`;
    const big = routeNamed(snapshotFrom(`runtime_flags: { mcp: true }\n${yaml}`), "big");
    const names = Array.from({ length: 500 }, (_, at) => `a_tool_with_a_name_of_usual_length_${at}`);
    const started = toolMatrix(big, names.sort(), undefined, { search: "", after: "" });
    expect([started.columns.length, started.rows.length]).toEqual([20, 50]);
    expect(started.omitted).toBeGreaterThan(30);
    expect(Buffer.byteLength(String(matrixPart(started)))).toBeLessThan(100_000);
  });
});

describe("figures of a route", () => {
  test("count requests, denials and failures of a day by hour", () => {
    const slots = [{ allowed: 2, denied: 1 }, {}, { error: 1, limited: 1, "sign-in": 5 }];
    expect(figuresOf({ slots })).toEqual({ calls: [3, 0, 2], refused: [1, 0, 1], failed: [0, 0, 1], isPartial: false });
  });
});

describe("headerLines()", () => {
  const lines = () => headerLines(routeNamed(world.snapshot, "tools"), world.snapshot.settings);

  test("tells which headers are set, removed, the gateway's own, and passed", () => {
    const { request, response } = lines();
    const told = new Map(request.map(({ name, how, value }) => [name, `${how}: ${value}`]));
    expect(told.get("Host")).toBe("set: the host of the upstream");
    expect(told.get("Authorization")).toBe("set: Bearer ${gateway.access_token}");
    expect(told.get("X-Plain")).toBe('set: a ${gateway.request.headers["x-in"]}');
    expect(told.get("X-Api-Key")).toBe(`set: ${MASK}`);
    for (const name of ["X-Shared", "X-Upstream", "X-Back"]) expect(told.get(name), name).toBe(`set: ${MASK}`);
    expect(told.has("X-Gone")).toBe(false);
    expect(told.get("x-gone")).toBe("removed: ");
    expect(told.has("X-Forwarded-Host")).toBe(false);
    expect(told.get("X-Department")).toMatch(/^gateway: the user's claim department/);
    expect(told.get("X-Gateway-Assertion")).toMatch(/^gateway: /);
    expect(response.map(({ name, how }) => [name, how])).toEqual([
      ["X-Frame-Options", "set"],
      ["location", "rewritten"],
      ["All other headers", "passed"],
    ]);
  });
});

describe("words about a route", () => {
  test.each([
    ["moved", "https://old.example.com", ["Answer", "redirect with status 308; host new.example.com"]],
    ["ping", "https://ping.example.com/ping", ["Answer", "status 200, 4 bytes of text"]],
    ["app", "https://app.example.com", ["Timeout", "90 s"]],
  ])("%s", (name, address, fact) => {
    const route = routeNamed(world.snapshot, name);
    expect(addressOf(route)).toBe(address);
    expect(routeFacts(route)).toContainEqual(fact);
  });

  test("a federated route has its members, and nothing of an upstream", () => {
    const snapshot = snapshotFrom(`runtime_flags: { mcp: true }
routes:
  - { name: one, from: "https://one.example.com", to: "https://up.example.com", mcp: { server: {} }, allow_any_authenticated_user: true }
  - name: all
    from: "https://all.example.com"
    mcp: { server: { members: { b: one, a: one }, resource_prefixes: { "x:": a } } }
    allow_any_authenticated_user: true
`);
    const facts = new Map(routeFacts(routeNamed(snapshot, "all")));
    expect([facts.get("Members"), facts.get("Resources")]).toEqual([
      "a__* → default/one, b__* → default/one",
      "x:* → a",
    ]);
    expect(["Timeout", "WebSockets", "Upstream authentication"].filter((label) => facts.has(label))).toEqual([]);
  });

  test.each([
    [1, "1 ms"],
    [1000, "1 s"],
    [90_000, "90 s"],
    [60_000, "1 min"],
    [7_200_000, "2 h"],
    [5_400_000, "90 min"],
    [86_400_000, "1 d"],
  ])("spanText(%d) is exact", (ms, text) => {
    expect(spanText(ms)).toBe(text);
  });
});
