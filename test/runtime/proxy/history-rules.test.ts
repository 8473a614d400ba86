/** `mcp.server.history_rules` on the wire, over two processes with one store, whose clocks are 90 seconds apart. */
import { gzipSync } from "node:zlib";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { compileHistoryRules, type HistoryRule } from "../../../runtime/features/mcp/compile-history.ts";
import { planCall } from "../../../runtime/limits/history/plan.ts";
import { argumentsOf } from "../../../runtime/policy/mcp/argument-values.ts";
import { RateLimits } from "../../../runtime/limits/rate-limits.ts";
import { StoreHistory } from "../../../runtime/limits/history/store-history.ts";
import { createTaskOutcomes } from "../../../runtime/limits/history/task-outcomes.ts";
import type { Authenticator } from "../../../runtime/identity/interfaces.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";
import { snapshotFrom } from "../../support/config.ts";
import { modernMeta } from "../../support/mcp.ts";
import { createTestAuthenticator, startPipeline, testPrincipal, type Pipeline } from "../../support/pipeline.ts";
import { openRaw, sendRaw } from "../../support/raw-client.ts";
import { createBreakableStore, type BreakableStore } from "../../support/store.ts";
import { startVictim, type Victim } from "../../support/victim.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

let victim: Victim;
let breakable: BreakableStore;
let clocks: readonly TestClock[];
let replicas: readonly Pipeline[];
/** Body of the next responses, instead of a successful result; "events": in an event stream. */
let answer: ((id: unknown) => object) | undefined;
let isStream = false;
/** More of the stream after its response. */
let rest = "";
/** What the store waits for. */
let stalled: Promise<unknown> = Promise.resolve();
/** Requests to the store's counts, now and at most. */
let asking = 0;
let mostAsking = 0;

const GREETINGS: Readonly<Record<string, object>> = {
  "server/discover": { error: { code: -32601, message: "Method not found" } },
  initialize: { result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "s" } } },
};

const RULES = `
  - { name: reviewed, calls: { or: [{ mcp_tool: publish }] }, after: { calls: { or: [{ mcp_tool: review }] }, within: 1h, same_argument: /document } }
  - { name: no-export, calls: { or: [{ mcp_tool: send }, { mcp_prompt: send }] }, not_after: { calls: { or: [{ mcp_tool: browse }, { mcp_resource: { starts_with: "web:" } }] }, within: 10m } }
  - { name: few, calls: { or: [{ mcp_tool: search }] }, per: client, at_most: { count: 3, within: 1m } }
  - { name: refunds, calls: { or: [{ mcp_tool: refund }] }, total: { argument: /amount, limit: "10.3", within: 1d } }
  - { name: run-order, calls: { or: [{ mcp_tool: deploy }] }, per: run, after: { calls: { or: [{ mcp_tool: check }] }, within: 1h } }
  - { name: run-few, calls: { or: [{ mcp_tool: notify }] }, per: run, at_most: { count: 1, within: 1h } }
  - { name: tried, shadow: true, calls: { or: [{ mcp_tool: review }] }, at_most: { count: 1, within: 1m } }
`;

beforeEach(async () => {
  answer = undefined;
  isStream = false;
  rest = "";
  stalled = Promise.resolve();
  mostAsking = 0;
  victim = await startVictim(({ body }, socket) => {
    const { id, method = "" } = JSON.parse(body.toString()) as { id: unknown; method?: string };
    const own = GREETINGS[method] ?? { result: { content: [] } };
    const json = JSON.stringify(answer?.(id) ?? { jsonrpc: "2.0", id, ...own });
    const text = isStream ? `event: message\ndata: {"jsonrpc":"2.0","method":"n"}\n\ndata: ${json}\n\n${rest}` : json;
    const type = isStream ? "text/event-stream" : "application/json";
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
    );
  });
  const yaml = `
    runtime_flags: { mcp: true }
    routes:
      - { name: all, from: https://mcp.example, prefix: /all, mcp: { server: { members: { t: tools } } }, policy: [{ allow: { and: [{ authenticated_user: true }] } }] }
      - name: tools
        from: https://mcp.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ authenticated_user: true }] } }]
        mcp:
          server:
            history_rules: ${RULES.replaceAll("\n", "\n            ")}
  `;
  const storeClock = createTestClock();
  const memory = createMemoryStore({ clock: storeClock });
  const allot = memory.allot.bind(memory);
  memory.allot = async (...args) => {
    asking += 1;
    mostAsking = Math.max(mostAsking, asking);
    try {
      await stalled;
      return await allot(...args);
    } finally {
      asking -= 1;
    }
  };
  breakable = createBreakableStore(storeClock, memory);
  const later = createTestClock(storeClock.now() + 90_000);
  clocks = [storeClock, later];
  replicas = await Promise.all(clocks.map((clock) => startReplica(yaml, clock)));
  open.push(victim);
});

async function startReplica(yaml: string, clock: TestClock): Promise<Pipeline> {
  const snapshots = { current: () => snapshotFrom(yaml), subscribe: () => () => {} };
  const { store } = breakable;
  const log = silentLog();
  const limits = new RateLimits({ store, snapshots, clock, log, countProcesses: async () => 2 });
  const history = new StoreHistory({ counts: limits.shared, clock });
  const taskOutcomes = createTaskOutcomes({ store, history, clock, log });
  const pipeline = await startPipeline(yaml, { limits, history, taskOutcomes, authenticator: withRuns(clock) });
  open.push(limits, history, { close: () => pipeline.close({ timeoutMs: 100 }) });
  return pipeline;
}

/** The tokens gwt_runa and gwt_runb belong to agent runs of alice, in the same grant. */
function withRuns(clock: TestClock): Authenticator {
  const real = createTestAuthenticator(clock);
  const expiresAt = Math.floor(clock.now() / 1000) + 86_400;
  const { user } = testPrincipal("alice", expiresAt);
  const bearer: Authenticator["bearer"] = (token, ...rest) => {
    const run = /^gwt_(run[ab])$/.exec(token)?.[1];
    if (run === undefined) return real.bearer(token, ...rest);
    const actor = {
      id: "workload:pods/a",
      run,
      claims: {},
      assertedBy: { name: "pods", issuer: "https://pods.example", origin: "https://mcp.example" },
    };
    return {
      ok: true,
      principal: testPrincipal("alice", expiresAt, { kind: "grant", grantId: "g", user: { ...user, actor } }),
    };
  };
  return { ...real, bearer };
}

const advance = (ms: number): void => {
  for (const clock of clocks) clock.advance(ms);
};

interface Answer {
  readonly status: number;
  readonly body: { readonly error?: { code: number; message: string; data: Record<string, unknown> } };
}

function requestOf(message: object, user = "alice", headers: readonly string[] = []): string {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 7, ...message });
  return [
    "POST / HTTP/1.1",
    "Host: mcp.example",
    "Connection: close",
    `Authorization: Bearer gwt_${user}`,
    "Accept: application/json, text/event-stream",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...headers,
    "",
    body,
  ].join("\r\n");
}

async function post(message: object, replica = 0, user?: string, headers?: readonly string[]): Promise<Answer> {
  const pipeline = replicas[replica];
  if (!pipeline) throw new Error("no such replica");
  const { status, body: text } = await sendRaw(pipeline.port, requestOf(message, user, headers));
  return { status, body: text.startsWith("{") ? (JSON.parse(text) as Answer["body"]) : {} };
}

const call = (name: string, args: object = {}, replica = 0, user?: string): Promise<Answer> =>
  post({ method: "tools/call", params: { name, arguments: args } }, replica, user);

const denied = (reason: string) => ({ status: 200, body: { error: { code: -31403, data: { reason } } } });

describe("after", () => {
  test("permits a call at any process once an earlier one with the same argument has succeeded, within the window", async () => {
    const refused = await call("publish", { document: "d1" });
    expect(refused).toMatchObject(denied("history-after"));
    expect(refused.body.error?.message).toContain(
      'Tool call denied by history rule "reviewed": an earlier call that it requires has not succeeded',
    );
    expect(replicas[0]?.records.at(-1)).toMatchObject({ allow: false, "allow-why-false": ["history-after:reviewed"] });
    await call("review", { document: "d1" });
    expect(await call("publish", { document: "d2" }, 1)).toMatchObject(denied("history-after"));
    expect((await call("publish", { document: "d1" }, 1)).body.error).toBeUndefined();
    expect(await call("publish", { document: "d1" }, 1, "bob")).toMatchObject(denied("history-after"));
    expect(await call("publish", {}, 1)).toMatchObject(denied("history-argument-unknown"));
    expect(await call("publish", { document: ["d1"] }, 1)).toMatchObject(denied("history-argument-unknown"));
    advance(3_600_002);
    expect(await call("publish", { document: "d1" }, 1)).toMatchObject(denied("history-after"));
    expect(await call("publish", { document: "d1" })).toMatchObject(denied("history-after"));
  });

  test.each([
    ["a tool's own error", (id: unknown) => ({ jsonrpc: "2.0", id, result: { content: [], isError: true } })],
    ["a JSON-RPC error", (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -1, message: "no" } })],
    ["a request for input", (id: unknown) => ({ jsonrpc: "2.0", id, result: { resultType: "input_required" } })],
    ["the response to another request", () => ({ jsonrpc: "2.0", id: 99, result: { content: [] } })],
  ])("%s does not count as a success, as JSON and as an event", async (_name, body) => {
    answer = body;
    await call("review", { document: "d" });
    isStream = true;
    await call("review", { document: "d" });
    expect(await call("publish", { document: "d" })).toMatchObject(denied("history-after"));
    answer = undefined;
    await call("review", { document: "d" });
    expect((await call("publish", { document: "d" }, 1)).body.error).toBeUndefined();
  });

  test("a success is stored before the client has the response, and one that cannot be stored permits nothing", async () => {
    breakable.broken = true;
    expect((await call("review", { document: "d" })).status).toBe(200);
    breakable.broken = false;
    advance(6_000);
    expect(await call("publish", { document: "d" }, 1)).toMatchObject(denied("history-after"));
  });

  test("a stream that continues while a success is being stored is retained within a bound", async () => {
    isStream = true;
    rest = `: ${"x".repeat(2 * 1024 * 1024)}\n\n`;
    let release = (): void => {};
    answer = (id) => {
      stalled = new Promise<void>((resolve) => (release = resolve));
      return { jsonrpc: "2.0", id, result: { content: [] } };
    };
    const params = { name: "review", arguments: { document: "d" } };
    const { port = 0 } = replicas[0] ?? {};
    const connection = openRaw(port, requestOf({ method: "tools/call", params }));
    await connection.closed;
    release();
    expect(connection.text.length).toBeLessThan(1024 * 1024);
  });

  test("long values of the argument are kept as hashes", async () => {
    const long = "d".repeat(3_000);
    await call("review", { document: `${long}1` });
    expect(await call("publish", { document: `${long}2` }, 1)).toMatchObject(denied("history-after"));
    expect((await call("publish", { document: `${long}1` }, 1)).body.error).toBeUndefined();
    const [rule] = compileHistoryRules([
      {
        name: "r",
        calls: { or: [{ mcp_tool: "t" }] },
        after: { calls: { or: [{ mcp_tool: "t" }] }, within: "1h", same_argument: "/a" },
      },
    ]) as [HistoryRule];
    const facts = {
      http: { method: "POST", path: "/", host: "h", ip: "" },
      mcp: { method: "tools/call", tool: "t", arguments: argumentsOf({ a: "x".repeat(100_000) }) },
    };
    const caller = { user: "u", grant: undefined, client: undefined, run: undefined };
    const [key] = planCall({ key: "o/r", rules: [rule] }, facts, caller)?.outcomes ?? [];
    expect(key?.text.length).toBeLessThan(500);
  });

  test("a call that becomes a task counts once its result is known, at any process", async () => {
    const declared = { task: { ttl: 60_000 } };
    answer = (id) => ({ jsonrpc: "2.0", id, result: { task: { taskId: "t1", status: "working" } } });
    const made = await post({
      method: "tools/call",
      params: { name: "review", arguments: { document: "d" }, ...declared },
    });
    const { taskId } = (made.body as unknown as { result: { task: { taskId: string } } }).result.task;
    expect(await call("publish", { document: "d" })).toMatchObject(denied("history-after"));
    answer = (id) => ({ jsonrpc: "2.0", id, result: { taskId: "t1", status: "working" } });
    await post({ method: "tasks/get", params: { taskId } });
    expect(await call("publish", { document: "d" })).toMatchObject(denied("history-after"));
    answer = undefined;
    // Another user's task with the same ID of the upstream is another one.
    answer = (id) => ({ jsonrpc: "2.0", id, result: { task: { taskId: "t1", status: "working" } } });
    const params = { name: "review", arguments: { document: "e" }, ...declared };
    const other = await post({ method: "tools/call", params }, 1, "bob");
    const { task } = (other.body as unknown as { result: { task: { taskId: string } } }).result;
    answer = undefined;
    await post({ method: "tasks/result", params: { taskId } }, 1);
    expect(await call("publish", { document: "e" }, 0, "bob")).toMatchObject(denied("history-after"));
    await post({ method: "tasks/result", params: { taskId: task.taskId } }, 1, "bob");
    expect((await call("publish", { document: "e" }, 0, "bob")).body.error).toBeUndefined();
    expect((await call("publish", { document: "d" })).body.error).toBeUndefined();
  });
});

describe("not_after", () => {
  test("denies tools and prompts at any process after a permitted call or a read resource, until the window ends", async () => {
    expect((await call("send")).body.error).toBeUndefined();
    answer = (id) => ({ jsonrpc: "2.0", id, error: { code: -1, message: "whatever the outcome" } });
    await post({ method: "resources/read", params: { uri: "web:page" } });
    answer = undefined;
    expect(await call("send", {}, 1)).toMatchObject(denied("history-not-after"));
    expect((await post({ method: "prompts/get", params: { name: "send" } }, 1)).status).toBe(403);
    expect((await call("send", {}, 1, "bob")).body.error).toBeUndefined();
    advance(11 * 60_000 + 2);
    expect((await call("send", {}, 1)).body.error).toBeUndefined();
  });

  test("the result of a task counts when it is read, and that of a long call when it arrives", async () => {
    answer = (id) => ({ jsonrpc: "2.0", id, result: { task: { taskId: "t9", status: "working" } } });
    const made = await post({ method: "tools/call", params: { name: "browse", arguments: {}, task: { ttl: 60_000 } } });
    const { taskId } = (made.body as unknown as { result: { task: { taskId: string } } }).result.task;
    advance(12 * 60_000);
    answer = undefined;
    expect((await call("send", {}, 1)).body.error).toBeUndefined();
    expect((await post({ method: "tasks/result", params: { taskId } })).body.error).toBeUndefined();
    expect(await call("send", {}, 1)).toMatchObject(denied("history-not-after"));
    advance(12 * 60_000);
    expect((await call("send", {}, 1)).body.error).toBeUndefined();
    isStream = true;
    answer = () => ({ jsonrpc: "2.0", method: "notifications/tasks", params: { taskId: "t9", status: "completed" } });
    const _meta = {
      ...modernMeta(),
      "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
    };
    const listen = { method: "subscriptions/listen", params: { _meta, notifications: { taskIds: [taskId] } } };
    const headers = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen"];
    expect((await post(listen, 0, "alice", headers)).status).toBe(200);
    isStream = false;
    answer = undefined;
    expect(await call("send", {}, 1)).toMatchObject(denied("history-not-after"));
    for (const isEvent of [false, true]) {
      advance(12 * 60_000);
      expect((await call("send", {}, 1)).body.error).toBeUndefined();
      isStream = isEvent;
      answer = (id) => {
        advance(12 * 60_000);
        return { jsonrpc: "2.0", id, result: { content: [] } };
      };
      await call("browse");
      answer = undefined;
      isStream = false;
      expect(await call("send", {}, 1)).toMatchObject(denied("history-not-after"));
    }
  });

  test("a new MCP session does not reset it", async () => {
    await call("browse");
    const message = {
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: {} },
    };
    expect((await post(message)).status).toBe(200);
    expect(await call("send", {}, 1)).toMatchObject(denied("history-not-after"));
  });
});

describe("limits", () => {
  test("at_most counts permitted calls of all processes exactly, and denied ones not at all", async () => {
    for (const replica of [0, 1, 0]) expect((await call("search", {}, replica)).body.error).toBeUndefined();
    for (const replica of [0, 1]) expect(await call("search", {}, replica)).toMatchObject(denied("history-at-most"));
    advance(60_002);
    expect((await call("search", {}, 1)).body.error).toBeUndefined();
  });

  test("50 parallel calls never exceed a total, whose sums are exact decimals", async () => {
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, index) => call("refund", { amount: 0.3 }, index % 2)),
    );
    // In doubles, 34 * 0.3 is 10.2, and 10.2 + 0.1 is 10.299999999999999.
    expect(answers.filter(({ body }) => body.error === undefined)).toHaveLength(34);
    expect((await call("refund", { amount: 0.1 })).body.error).toBeUndefined();
    expect(await call("refund", { amount: 0.000001 })).toMatchObject(denied("history-total"));
    expect((await call("refund", { amount: 0 })).body.error).toBeUndefined();
  });

  const refund = (args: string, more = ""): string =>
    `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"refund","arguments":${args}}${more}}`;
  const ABOVE = refund('{"amount":11}');
  test.each<[name: string, body: string | Buffer, headers?: readonly string[]]>([
    ["in escapes", refund('{"\\u0061mount":11}')],
    ["with an exponent", refund('{"amount":1.1e1}')],
    ["twice", refund('{"amount":1,"amount":11}')],
    ["twice, once in escapes", refund('{"amount":1,"am\\u006funt":11}')],
    ["in a prototype", refund('{"__proto__":{"amount":11}}')],
    ["in a list", refund('[{"amount":11}]')],
    ["as a notification", ABOVE.replace('"id":7,', "")],
    ["in a batch", `[${ABOVE}]`],
    ["after another message", `{"jsonrpc":"2.0","id":6,"method":"ping"}\n${ABOVE}`],
    ["before another message", `${ABOVE}{"jsonrpc":"2.0","id":6,"method":"ping"}`],
    ["with two methods", ABOVE.replace('"method"', '"method":"tools/list","method"')],
    ["with a method in capitals", ABOVE.replace("tools/call", "Tools/Call")],
    ["with two params", ABOVE.replace('"params"', '"params":{"name":"other"},"params"')],
    ["of two names", ABOVE.replace('"name"', '"name":"other","name"')],
    ["with a space in its name", ABOVE.replace("refund", "refund ")],
    ["with an invisible character", ABOVE.replace("refund", "ref\\u200bund")],
    ["with a name in a list", ABOVE.replace('"refund"', '["refund"]')],
    ["with a byte order mark", `\ufeff${ABOVE}`],
    ["in UTF-16", Buffer.from(ABOVE, "utf16le"), ["Content-Type: application/json; charset=utf-16le"]],
    ["as text", ABOVE, ["Content-Type: text/plain"]],
    ["compressed", gzipSync(ABOVE), ["Content-Encoding: gzip"]],
    ["as another method's", ABOVE, ["Mcp-Method: tools/list", "MCP-Protocol-Version: 2026-07-28"]],
  ])("an amount above the limit, written %s, does not reach the server", async (_name, body, headers = []) => {
    const { port = 0 } = replicas[0] ?? {};
    const bytes = Buffer.from(body);
    const type = headers.some((each) => each.startsWith("Content-Type")) ? [] : ["Content-Type: application/json"];
    const head = ["POST / HTTP/1.1", "Host: mcp.example", "Connection: close", "Authorization: Bearer gwt_alice"];
    const accept = ["Accept: application/json, text/event-stream", `Content-Length: ${bytes.length}`];
    const sent = [...head, ...accept, ...type, ...headers, "", ""].join("\r\n") + bytes.toString("latin1");
    const { status, body: text } = await sendRaw(port, sent);
    expect(victim.requests.map((each) => each.body.toString())).toEqual([]);
    expect(status === 200 ? text : "rejected").toMatch(/rejected|-31403|"error"/);
  });

  test("parallel calls of one user ask the store one after another, and wait for no other user", async () => {
    let release = (): void => {};
    stalled = new Promise<void>((resolve) => (release = resolve));
    const all = Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        at % 2 === 0 ? call("refund", { amount: 0.01 }) : call("publish", { document: `d${at}` }),
      ),
    );
    await expect.poll(() => asking).toBe(1);
    const other = call("refund", { amount: 1 }, 0, "bob");
    await expect.poll(() => asking).toBe(2);
    release();
    expect((await other).body.error).toBeUndefined();
    const reasons = (await all).map(({ body }) => body.error?.data["reason"] ?? "");
    expect(reasons).toEqual(Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? "" : "history-after")));
    expect(mostAsking).toBe(2);
  });

  test.each([
    ["absent", {}],
    ["a text", { amount: "5" }],
    ["negative", { amount: -5 }],
    ["finer than a millionth", { amount: 0.0000001 }],
    ["written in two ways", { amount: 1, Amount: 2 }],
  ])("an amount that is %s is denied", async (_name, args) => {
    expect(await call("refund", args)).toMatchObject(denied("history-argument-unknown"));
  });

  test("an amount above every limit is denied as such", async () => {
    for (const amount of ["11", "1e30"]) {
      const text = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"refund","arguments":{"amount":${amount}}}}`;
      expect(await post(JSON.parse(text) as object)).toMatchObject(denied("history-total"));
    }
  });
});

test("a rule per run counts the calls of one agent run, and is not about calls without a run", async () => {
  for (const tool of ["check", "check", "notify", "notify", "deploy"])
    expect((await call(tool)).body.error, tool).toBeUndefined();
  expect(await call("deploy", {}, 1, "runa")).toMatchObject(denied("history-after"));
  await call("check", {}, 0, "runa");
  expect((await call("deploy", {}, 1, "runa")).body.error).toBeUndefined();
  expect(await call("deploy", {}, 1, "runb")).toMatchObject(denied("history-after"));
  for (const run of ["runa", "runb"]) expect((await call("notify", {}, 0, run)).body.error, run).toBeUndefined();
  for (const run of ["runa", "runb"])
    expect(await call("notify", {}, 1, run), run).toMatchObject(denied("history-at-most"));
  expect((await call("notify")).body.error).toBeUndefined();
  breakable.broken = true;
  expect(await call("deploy", {}, 0, "runb")).toMatchObject(denied("history-unknown"));
  expect((await call("deploy")).body.error).toBeUndefined();
});

test("the rules of a member apply at the federated route, to the calls of both", async () => {
  const federated = async (name: string, given: object = {}): Promise<Answer["body"]> => {
    const message = { method: "tools/call", params: { name: `t__${name}`, arguments: given } };
    const { port = 0 } = replicas[0] ?? {};
    const { body } = await sendRaw(port, requestOf(message).replace("POST / ", "POST /all "));
    return JSON.parse(body) as Answer["body"];
  };
  expect((await federated("review", { document: "d" })).error).toBeUndefined();
  expect((await call("publish", { document: "d" }, 1)).body.error).toBeUndefined();
  expect((await call("browse")).body.error).toBeUndefined();
  expect((await federated("send")).error).toMatchObject(denied("history-not-after").body.error);
  expect((await federated("refund", { amount: 10 })).error).toBeUndefined();
  expect(await call("refund", { amount: 0.4 }, 1)).toMatchObject(denied("history-total"));
});

test("two agent runs of one workload for one user share no task", async () => {
  answer = (id) => ({ jsonrpc: "2.0", id, result: { task: { taskId: "t2", status: "working" } } });
  const params = { name: "other", arguments: {}, task: { ttl: 60_000 } };
  const made = await post({ method: "tools/call", params }, 0, "runa");
  const { taskId } = (made.body as unknown as { result: { task: { taskId: string } } }).result.task;
  answer = undefined;
  const read = (user: string): Promise<Answer> => post({ method: "tasks/result", params: { taskId } }, 1, user);
  expect((await read("runb")).body.error?.data).toMatchObject({ reason: "mcp-task-unknown" });
  expect((await read("alice")).body.error?.data).toMatchObject({ reason: "mcp-task-unknown" });
  expect((await read("runa")).body.error).toBeUndefined();
});

test("without the store nothing is known: calls of all rules are denied, others pass", async () => {
  breakable.broken = true;
  for (const [name, args] of [
    ["publish", { document: "d" }],
    ["send", {}],
    ["search", {}],
    ["refund", { amount: 1 }],
  ] as const)
    expect(await call(name, args), name).toMatchObject(denied("history-unknown"));
  // It would have to be remembered.
  expect(await call("browse")).toMatchObject(denied("history-unknown"));
  expect((await call("other")).body.error).toBeUndefined();
  expect((await post({ method: "tools/list" })).status).toBe(200);
});

test("a rule in shadow denies nothing, and its verdict is recorded like that of a shadow policy", async () => {
  await call("review", { document: "d" });
  expect(replicas[0]?.records.at(-1)).not.toHaveProperty("shadow");
  expect((await call("review", { document: "d" }, 1)).body.error).toBeUndefined();
  expect(replicas[1]?.records.at(-1)).toMatchObject({
    allow: true,
    shadow: [{ candidate: "history_rules.tried", outcome: "deny", flip: "loses", reasons: ["history-at-most:tried"] }],
  });
});
