/** Members of a federated route that lie, and that deny: whatever they send, and whatever their policies say. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { RouteMember } from "../../../runtime/proxy/federation/ask-member.ts";
import { Gaps } from "../../../runtime/proxy/federation/gaps.ts";
import { SlowMembers } from "../../../runtime/proxy/federation/lists/slow-members.ts";
import { MemberExchange } from "../../../runtime/proxy/federation/member-exchange.ts";
import type { PreparedRoute } from "../../../runtime/proxy/prepared-route.ts";
import type { RequestContext } from "../../../runtime/proxy/request-context.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { systemClock } from "../../../runtime/shared/clock.ts";
import { examineMembers, formatMembers } from "../../../runtime/tools/doctor/members.ts";
import { snapshotFrom } from "../../support/config.ts";
import { createFakeExchange } from "../../support/fake-exchange.ts";
import { modernHeaders, modernMeta } from "../../support/mcp.ts";
import { createTestAuthenticator, startPipeline, testPrincipal, type Pipeline } from "../../support/pipeline.ts";
import { createRandom } from "../../support/random.ts";
import {
  events,
  honestly,
  modern,
  resultOf,
  startScriptedMembers,
  withSession,
  type Asked,
  type Script,
  type Scripted,
  type ScriptedMembers,
  type ScriptedMessage,
} from "../../support/scripted-members.ts";

type Answer = (message: ScriptedMessage) => Scripted;

let servers: ScriptedMembers;
let pipeline: Pipeline;

beforeAll(async () => {
  servers = await startScriptedMembers();
});
afterAll(() => servers.close());
beforeEach(async () => {
  pipeline = await startPipeline("routes: []");
});
afterEach(async () => {
  await pipeline.close();
  servers.scripts.clear();
  servers.seen.length = 0;
});

const ALLOW = "{ allow: { and: [{ domain: example.com }] } }";

/** @param members policy rules by name */
function serve(members: Readonly<Record<string, string>>, all = ALLOW): void {
  const route = (name: string, rest: string): string =>
    `  - { name: ${name}, from: "http://localhost:${pipeline.port}", prefix: /${name}, ${rest} }`;
  const names = Object.keys(members);
  pipeline.swap(`
runtime_flags: { mcp: true }
routes:
${route("all", `mcp: { server: { members: { ${names.map((name) => `${name}: ${name}`).join(", ")} } } }, policy: [${all}]`)}
${names.map((name) => route(name, `to: "${servers.origin}", mcp: { server: { path: /${name} } }, policy: [${members[name]}]`)).join("\n")}
`);
}

/** Rules that can never match are errors. */
function isLoadable(policy: string): boolean {
  const route = `{ from: "https://a.example", to: "${servers.origin}", mcp: { server: {} }, policy: [${policy}] }`;
  try {
    snapshotFrom(`runtime_flags: { mcp: true }\nroutes: [${route}]`);
    return true;
  } catch {
    return false;
  }
}

interface Body {
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
}

async function ask(path: string, method: string, params: object = {}, user = "alice"): Promise<Body> {
  const answer = await fetch(`http://localhost:${pipeline.port}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer gwt_${user}`, "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: "mine", method, params }),
  });
  return (await answer.json()) as Body;
}

const namesIn = ({ result }: Body): readonly string[] =>
  ((result?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name);

test("what a member's policy denies directly is denied here, and the reverse, for random policies, users and calls", async () => {
  const random = createRandom("federated policies");
  const pick = (...texts: readonly string[]): string => texts[Math.floor(random() * texts.length)] ?? "";
  const leaf = (): string =>
    pick(
      ...["t0", "t1", "t2", "t3"].map((tool) => `{ mcp_tool: ${tool} }`),
      "{ mcp_tool: { starts_with: t } }",
      "{ groups: { has: admins } }",
      "{ email: bob@example.com }",
      "{ mcp_method: tools/call }",
    );
  const rule = (action: string): string =>
    `{ ${action}: { ${pick("and", "or", "not", "nor")}: [${leaf()}, ${leaf()}] } }`;
  const members: Record<string, string> = {};
  const policies = Array.from({ length: 100 }, () =>
    random() < 0.5 ? `${ALLOW}, ${rule("deny")}` : `${rule("allow")}, ${rule("allow")}, ${rule("deny")}`,
  );
  for (const [index, policy] of policies.filter(isLoadable).slice(0, 16).entries()) members[`m${index}`] = policy;
  serve(members);
  const verdicts = { allowed: 0, denied: 0 };
  for (const user of ["alice", "bob"]) {
    const listed = namesIn(await ask("/all", "tools/list", {}, user));
    for (const name of Object.keys(members)) {
      const direct = await ask(`/${name}/${name}`, "tools/list", {}, user);
      const own = direct.result === undefined ? [] : namesIn(direct).map((tool) => `${name}__${tool}`);
      expect(
        listed.filter((tool) => tool.startsWith(`${name}__`)),
        `${name} ${members[name]}`,
      ).toEqual(own);
      for (const tool of ["t0", "t1", "t2", "t3"]) {
        const [one, other] = await Promise.all([
          ask(`/${name}/${name}`, "tools/call", { name: tool }, user),
          ask("/all", "tools/call", { name: `${name}__${tool}` }, user),
        ]);
        expect(other.result, `${user} ${tool} ${members[name]}`).toEqual(one.result);
        verdicts[one.result === undefined ? "denied" : "allowed"] += 1;
      }
    }
  }
  // Both occur, or the test would show nothing.
  expect([verdicts.allowed > 20, verdicts.denied > 20]).toEqual([true, true]);
});

describe("a member that lies", () => {
  beforeEach(() => serve({ bad: ALLOW, good: ALLOW }));
  const lie = (method: string, answer: Answer): void => {
    servers.scripts.set("/bad", (asked) => (asked.message.method === method ? answer(asked.message) : honestly(asked)));
  };
  const GOOD = ["good__t0", "good__t1", "good__t2", "good__t3"];

  test.each<[string, Answer]>([
    [
      "pages without end",
      ({ id, params }) => ({
        jsonrpc: "2.0",
        id,
        result: { tools: [], nextCursor: `${(params?.["cursor"] as string | undefined) ?? ""}x` },
      }),
    ],
    ["the same cursor again", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools: [], nextCursor: "x" } })],
    ["a list of another type", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools: { t0: {} } } })],
    ["an ID of no request", () => ({ jsonrpc: "2.0", id: "other", result: { tools: [{ name: "x" }] } })],
    ["items of other types", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools: [1, null, "t", { name: 1 }, []] } })],
    ["a stream without response", () => [{ jsonrpc: "2.0", method: "notifications/message", params: {} }]],
    ["a name that is too long", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools: [{ name: "x".repeat(60) }] } })],
  ])("lists: %s: the other member's tools are all there, and none of its own", async (_, answer) => {
    lie("tools/list", answer);
    expect(namesIn(await ask("/all", "tools/list"))).toEqual(GOOD);
    expect(
      servers.seen.filter(({ path, message }) => path === "/bad" && message.method === "tools/list").length,
    ).toBeLessThan(20);
  });

  test("a list of millions is bounded, and names of another member's prefix stay behind its own", async () => {
    const tools = Array.from({ length: 3_000 }, (_, index) => ({ name: `good__t${index}` }));
    lie("tools/list", ({ id }) => ({ jsonrpc: "2.0", id, result: { tools } }));
    const names = namesIn(await ask("/all", "tools/list"));
    expect([names.length, names[0]]).toEqual([2_004, "bad__good__t0"]);
    expect(names.slice(-4)).toEqual(GOOD);
    const { result } = await ask("/all", "tools/call", { name: "bad__good__t0" });
    expect(result?.["content"]).toEqual([{ type: "text", text: "called good__t0" }]);
    expect(servers.seen.at(-1)?.path).toBe("/bad");
  });

  test("long pages are a list up to the size of one response", async () => {
    const description = "x".repeat(5_000_000);
    lie("tools/list", ({ id, params }) => {
      const page = ((params?.["cursor"] as string | undefined) ?? "") + "x";
      return { jsonrpc: "2.0", id, result: { tools: [{ name: page, description }], nextCursor: page } };
    });
    expect(namesIn(await ask("/all", "tools/list"))).toEqual(["bad__x", ...GOOD]);
    expect(servers.seen.filter(({ path, message }) => path === "/bad" && message.method === "tools/list")).toHaveLength(
      2,
    );
  });

  test.each<[string, Answer]>([
    ["an ID of no request", () => [{ jsonrpc: "2.0", id: "other", result: { content: [] } }]],
    ["nothing", () => []],
    ["a wrong type", () => ["no message"] as never],
    [
      "too many values",
      ({ id }) => ({ jsonrpc: "2.0", id, result: { structuredContent: { numbers: Array(600_000).fill(1.5) } } }),
    ],
    ["an error of the wrong type", ({ id }) => ({ jsonrpc: "2.0", id, error: "no" })],
  ])("calls: %s is one error with the client's ID", async (_, answer) => {
    lie("tools/call", answer);
    const body = await ask("/all", "tools/call", { name: "bad__t0" });
    expect([body.id, body.result, body.error?.code]).toEqual(["mine", undefined, -32603]);
    expect((await ask("/all", "tools/call", { name: "good__t0" })).result).toBeDefined();
  });

  test("a stream that continues after the response is ended", async () => {
    let open = 0;
    servers.scripts.set("/bad", (asked) => {
      const { message, response } = asked;
      if (message.method !== "tools/call") return honestly(asked);
      open += 1;
      response.on("close", () => (open -= 1));
      events(response, { jsonrpc: "2.0", id: message.id, result: { content: [] } });
      return "taken";
    });
    const bodies = await Promise.all([1, 2, 3].map(() => ask("/all", "tools/call", { name: "bad__t0" })));
    expect(bodies.map(({ result }) => result)).toEqual([{ content: [] }, { content: [] }, { content: [] }]);
    await expect.poll(() => [open, pipeline.proxy.underWay], { timeout: 4_000 }).toEqual([0, 0]);
  });

  test("only the first response of a call counts", async () => {
    const of = (id: unknown, text: string) => ({ jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } });
    lie("tools/call", ({ id }) => [of("other", "foreign"), of(id, "first"), of(id, "second")]);
    expect((await ask("/all", "tools/call", { name: "bad__t0" })).result?.["content"]).toEqual([
      { type: "text", text: "first" },
    ]);
  });

  test("a URI goes to the member that lists it, whatever templates another one has, and to none if none claims it", async () => {
    lie("resources/templates/list", ({ id }) => {
      const resourceTemplates = ["{+all}", "{scheme}://{path}", "x{y}"].map((uriTemplate) => ({
        name: "t",
        uriTemplate,
      }));
      return { jsonrpc: "2.0", id, result: { resourceTemplates } };
    });
    servers.scripts.set("/good", (asked) =>
      asked.message.method === "resources/list"
        ? { jsonrpc: "2.0", id: asked.message.id, result: { resources: [{ name: "r", uri: "x://mine" }] } }
        : honestly(asked),
    );
    const pathsOf = (): readonly string[] =>
      servers.seen.filter(({ message }) => message.method === "resources/read").map(({ path }) => path);
    expect((await ask("/all", "resources/read", { uri: "x://mine" })).result).toBeDefined();
    expect((await ask("/all", "resources/read", { uri: "x://other" })).error?.code).toBe(-32002);
    expect(pathsOf()).toEqual(["/good"]);
  });
});

test("responses that are held count for their client, in calls, events and lists, until they are over", async () => {
  await pipeline.close();
  // One client can use half.
  pipeline = await startPipeline("routes: []", { maxHeldBytes: 8_000_000 });
  const waiting: (() => void)[] = [];
  const text = "x".repeat(1_500_000);
  const slowly =
    (type: string, before: string, after: string): Script =>
    (asked) => {
      const { message, response } = asked;
      if (message.method !== "tools/call" && message.method !== "tools/list") return honestly(asked);
      const result = message.method === "tools/call" ? { text } : { tools: [{ name: "t", description: text }] };
      response.writeHead(200, { "content-type": type });
      response.write(before + JSON.stringify({ jsonrpc: "2.0", id: message.id, result }).slice(0, -2));
      waiting.push(() => response.end(`}}${after}`));
      return "taken";
    };
  servers.scripts.set("/json", slowly("application/json", "", ""));
  servers.scripts.set("/events", slowly("text/event-stream", "data: ", "\n\n"));
  serve({ json: ALLOW, events: ALLOW });
  for (const name of ["json", "events", "json"]) {
    const errors: string[] = [];
    const calls = Array.from({ length: 6 }, async () => {
      const { error, result } = await ask("/all", "tools/call", { name: `${name}__t` });
      if (error) errors.push(error.message);
      return result;
    });
    await expect.poll(() => errors.length).toBe(4);
    expect(errors[0]).toBe(`The gateway has no memory for the response of ${name} at the moment; try again later`);
    await expect.poll(() => waiting.length).toBe(6);
    for (const end of waiting.splice(0)) end();
    expect((await Promise.all(calls)).filter((result) => result !== undefined)).toEqual([{ text }, { text }]);
  }
  // Parsed lists count several times.
  const listed = ask("/all", "tools/list");
  await expect.poll(() => waiting.length).toBe(2);
  for (const end of waiting.splice(0)) end();
  const { result } = await listed;
  expect([result?.["tools"], result?.["_meta"]]).toMatchObject([
    [],
    { "gateform/unavailable": [{ reason: "unavailable" }, { reason: "unavailable" }] },
  ]);
});

describe("several clients at once", () => {
  const NAMES = ["plain", "kept", "fresh"];
  const paddingOf = (nonce: number): string => String(nonce).repeat(nonce % 5 === 0 ? 25_000 : 0);
  /** Each call's response has what was asked, under the ID that was asked, among others; calls end in any order. */
  const mixed =
    (name: string): Script =>
    (asked) => {
      const { message, response } = asked;
      if (message.method !== "tools/call") return undefined;
      const { id, params } = message;
      const { nonce } = (params as { arguments: { nonce: number } }).arguments;
      // Some are longer than a read, in memory that is read into again.
      const text = JSON.stringify([name, params, paddingOf(nonce)]);
      const own = { jsonrpc: "2.0", id, result: { content: [{ type: "text", text }] } };
      if (nonce % 2 === 0) return own;
      const foreign = (other: unknown) => ({ jsonrpc: "2.0", id: other, result: { content: [] } });
      const others = [foreign("other"), foreign(Number(id) + 1), { jsonrpc: "2.0", method: "notifications/progress" }];
      setImmediate(() => events(response, ...others, own).end());
      return "taken";
    };

  test("IDs never cross between users, clients, members and revisions: each gets its own response, and one", async () => {
    const random = createRandom("federated clients");
    servers.scripts.set("/plain", (asked) => mixed("plain")(asked) ?? honestly(asked));
    servers.scripts.set("/kept", withSession(mixed("kept")));
    servers.scripts.set("/fresh", modern(mixed("fresh")));
    serve(Object.fromEntries(NAMES.map((name) => [name, ALLOW])));
    const sessions = await Promise.all(["alice", "bob"].map(async (user) => [user, await open(user)] as const));
    const clients = [...sessions, ["alice", undefined], ["bob", undefined], ["alice", ""]] as const;
    const calls = Array.from({ length: 300 }, (_, nonce) => {
      const [user, session] = clients[Math.floor(random() * clients.length)] ?? ["alice", ""];
      const member = NAMES[Math.floor(random() * NAMES.length)] ?? "";
      // Clients count their requests alike.
      return { user, session, member, nonce, id: Math.floor(random() * 3) };
    });
    const responses = await Promise.all(
      calls.map(async ({ user, session, member, nonce, id }) => {
        const params = { name: `${member}__t0`, arguments: { nonce } };
        const text = await (await send(user, session, id, params)).text();
        return text
          .split("\n")
          .map((line) => line.replace(/^data: /, ""))
          .filter((line) => line.startsWith("{"))
          .map((line) => JSON.parse(line) as Body)
          .filter((message) => message.result !== undefined);
      }),
    );
    for (const [index, { member, nonce, id }] of calls.entries()) {
      const [first, ...more] = responses[index] ?? [];
      const [{ text }] = (first?.result?.["content"] ?? [{ text: "" }]) as [{ text: string }];
      const [name, params, padding] = JSON.parse(text) as [string, { name: string; arguments: object }, string];
      expect([first?.id, more.length, name, params.name, params.arguments]).toEqual([id, 0, member, "t0", { nonce }]);
      expect(padding === paddingOf(nonce)).toBe(true);
    }
    // Each session of a client has one of the member; other calls have one each, which ends with the call.
    const count = (isMeant: (asked: Asked) => boolean): number => servers.seen.filter(isMeant).length;
    const opened = count(({ path, message }) => path === "/kept" && message.method === "initialize");
    await expect.poll(() => opened - count(({ httpMethod }) => httpMethod === "DELETE")).toBe(2);
  });

  const send = (user: string, session: string | undefined, id: unknown, params: object): Promise<Response> => {
    const isModern = session === undefined;
    const name = (params as { name: string }).name;
    const own = isModern ? modernHeaders("tools/call", name) : ["content-type", "application/json"];
    const headers: [string, string][] = [
      ["authorization", `Bearer gwt_${user}`],
      ["accept", "application/json, text/event-stream"],
    ];
    for (let at = 0; at < own.length; at += 2) headers.push([own[at] as string, own[at + 1] as string]);
    if (session !== undefined && session !== "") headers.push(["mcp-session-id", session]);
    const message = {
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { ...params, ...(isModern && { _meta: modernMeta() }) },
    };
    return fetch(`http://localhost:${pipeline.port}/all`, { method: "POST", headers, body: JSON.stringify(message) });
  };

  const open = async (user: string): Promise<string> => {
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
    const answer = await fetch(`http://localhost:${pipeline.port}/all`, {
      method: "POST",
      headers: { authorization: `Bearer gwt_${user}`, "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params }),
    });
    return String(answer.headers.get("mcp-session-id"));
  };
});

test("a member denied to one user stays available to others", async () => {
  const noSessions: Script = ({ message: { id } }) => ({ jsonrpc: "2.0", id, error: { code: -32601, message: "No" } });
  const own: Script = (asked) => (asked.message.method === "initialize" ? noSessions(asked) : undefined);
  servers.scripts.set("/one", modern(own));
  serve({ one: "{ allow: { and: [{ email: alice@example.com }] } }" });
  const initialize = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  for (const first of ["bob", "alice"]) {
    await ask("/all", "initialize", initialize, first);
    expect(namesIn(await ask("/all", "tools/list", {}, "bob"))).toEqual([]);
    expect(namesIn(await ask("/all", "tools/list", {}, "alice"))).toHaveLength(4);
  }
});

test("a member that was too slow is not waited for again for a while, for the same caller and route", () => {
  let now = 0;
  const slow = new SlowMembers({ now: () => now });
  const of = (name: string) =>
    ({ principal: testPrincipal(name, 1), prepared: { route: { key: "all" } } }) as unknown as RequestContext;
  const member = (key: string): RouteMember => ({ prefix: key, prepared: { route: { key } } as PreparedRoute });
  const one = member("one");
  const beganMs = performance.now();
  slow.failed(of("alice"), one, beganMs);
  expect(slow.has(of("alice"), one)).toBe(false);
  slow.failed(of("alice"), one, beganMs - 2_000);
  expect([slow.has(of("alice"), one), slow.has(of("bob"), one), slow.has(of("alice"), member("two"))]).toEqual([
    true,
    false,
    false,
  ]);
  // A changed route.
  expect(slow.has(of("alice"), member("one"))).toBe(false);
  now += 15_000;
  expect(slow.has(of("alice"), one)).toBe(false);
});

test("names that are too long fill no log, whatever names each list has", () => {
  const lines: object[] = [];
  const log = { ...silentLog(), warn: (fields: object) => void lines.push(fields) };
  const gaps = new Gaps({ log, clock: { now: () => 1_000_000 } });
  const context = { exchange: { id: "1" }, prepared: { route: { key: "all" } } } as unknown as RequestContext;
  for (let list = 0; list < 3; list += 1)
    gaps.tellDropped(
      context,
      Array.from({ length: 50 }, (_, index) => `bad: ${list} ${index} ${"x".repeat(300)}`),
    );
  expect([lines.length, lines[0]]).toEqual([10, { request: "1", route: "all", name: `bad: 0 0 ${"x".repeat(247)}` }]);
});

test("gateway doctor names a user's members, what is wrong with each, and what to do", async () => {
  const long = "x".repeat(62);
  servers.scripts.set("/long", ({ message }) =>
    message.method === "tools/list"
      ? resultOf(message, { tools: [{ name: long }, { name: "short" }] })
      : honestly({ message } as Asked),
  );
  servers.scripts.set("/bad", ({ message }) =>
    message.method === "tools/list" ? resultOf(message, { tools: "none" }) : honestly({ message } as Asked),
  );
  servers.scripts.set("/dead", ({ response }) => {
    response.destroy();
    return "taken";
  });
  const denied = "{ allow: { and: [{ email: bob@example.com }] } }";
  serve({ bad: ALLOW, dead: ALLOW, denied, good: ALLOW, long: ALLOW });
  const url = `http://localhost:${pipeline.port}/all`;
  const members = await examineMembers(url, "gwt_alice");
  expect(members.map(({ member, ok, seen }) => [member, ok, seen])).toEqual([
    ["good", true, "4 tools"],
    ["long", true, "1 tool"],
    ["bad", false, "invalid"],
    ["dead", false, "unavailable"],
    ["long", false, `the tool long: ${long} is not listed: its name with prefix has more than 64 characters`],
  ]);
  expect(members.every(({ ok, fix }) => ok || (fix ?? "") !== "")).toBe(true);
  const text = formatMembers(members).join("\n");
  expect(text).toContain("  dead  problem: unavailable\n    fix:  see Health");
  expect(text).not.toContain("denied ");
  expect(await examineMembers(url, "gwt_nobody-known")).toMatchObject([{ member: "", ok: false }]);
});

test("a client's stream remembers open requests to members only", () => {
  const client = createFakeExchange();
  const listeners: ((complete: boolean) => void)[] = [];
  const exchange = { ...client, onClose: (listener: (complete: boolean) => void) => void listeners.push(listener) };
  const caller = { exchange, memberRequests: undefined };
  const ends: boolean[] = [];
  const open = (): MemberExchange =>
    new MemberExchange(
      caller,
      { method: "GET", host: "a", path: "/", headers: [], body: undefined, calledAs: "" },
      { onHead: () => {}, onData: () => true, onEnd: (complete) => ends.push(complete) },
    );
  for (let index = 0; index < 3; index += 1) open().end();
  open();
  expect([listeners.length, ends]).toEqual([1, [true, true, true]]);
  for (const listener of listeners) listener(false);
  expect(ends).toEqual([true, true, true, false]);
});

test("names have the prefix also with one member, and stay the same when another one comes", async () => {
  serve({ one: ALLOW });
  const before = namesIn(await ask("/all", "tools/list"));
  serve({ one: ALLOW, other: ALLOW });
  expect(before).toEqual(["one__t0", "one__t1", "one__t2", "one__t3"]);
  expect(namesIn(await ask("/all", "tools/list")).slice(0, 4)).toEqual(before);
});

test("a session outlives the token that it began with", async () => {
  const user = testPrincipal("alice", Math.floor(Date.now() / 1_000) + 3_600, { kind: "grant", clientId: "client" });
  const bearer = (token: string) => ({ ok: true, principal: { ...user, sessionId: token, sid: token } }) as const;
  await pipeline.close();
  pipeline = await startPipeline("routes: []", { authenticator: { ...createTestAuthenticator(systemClock), bearer } });
  servers.scripts.set(
    "/kept",
    withSession(() => undefined),
  );
  serve({ kept: ALLOW });
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  const post = (token: string, method: string, more: object, session?: string): Promise<Response> =>
    fetch(`http://localhost:${pipeline.port}/all`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json",
        ...(session !== undefined && { "mcp-session-id": session }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 0, method, params: more }),
    });
  const session = String((await post("first", "initialize", params)).headers.get("mcp-session-id"));
  const answer = await post("second", "tools/call", { name: "kept__t0" }, session);
  expect([answer.status, ((await answer.json()) as Body).result]).toEqual([200, expect.anything()]);
  expect(servers.seen.filter(({ message }) => message.method === "initialize")).toHaveLength(1);
});
