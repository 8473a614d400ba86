/** What a federated route carries between its clients and members beside calls: streams, rounds, tasks, apps, kept lists. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";

import { NO_BLOCKS, type Blocks } from "../../../runtime/identity/blocks.ts";
import type { Principal } from "../../../runtime/identity/principal.ts";
import type { UpstreamTokens } from "../../../runtime/proxy/upstream-tokens.ts";
import { modernHeaders, modernMeta } from "../../support/mcp.ts";
import { startPipeline, type Pipeline, type PipelineOptions } from "../../support/pipeline.ts";
import {
  events,
  modern,
  resultOf,
  startScriptedMembers,
  withSession,
  type Asked,
  type Script,
  type ScriptedMembers,
  type ScriptedMessage,
} from "../../support/scripted-members.ts";

let servers: ScriptedMembers;
const pipelines: Pipeline[] = [];

beforeAll(async () => {
  servers = await startScriptedMembers();
});
afterAll(() => servers.close());
let ending = new AbortController();
beforeEach(() => {
  ending = new AbortController();
});
afterEach(async () => {
  ending.abort();
  await Promise.all(pipelines.splice(0).map((each) => each.close()));
  servers.scripts.clear();
  servers.seen.length = 0;
});

/** Users who are in no group by now. */
const left = (principal: Principal): Promise<Principal> =>
  Promise.resolve({ ...principal, user: { ...principal.user, groups: [], version: 2 } });
const STAFF_ONLY = ", { deny: { nor: [{ groups: { has: staff } }] } }";

const ALLOW = "{ allow: { and: [{ domain: example.com }] } }";

interface Setup extends PipelineOptions {
  /** More settings of the federated route's `mcp.server`. */
  readonly server?: string;
  /** Default: all. */
  readonly members?: readonly string[];
  /** More rules. */
  readonly all?: string;
  readonly member?: string;
}

/** A federated route over members "one" and "two". */
async function serve(scripts: Readonly<Record<string, Script>>, setup: Setup = {}): Promise<Pipeline> {
  for (const [name, script] of Object.entries(scripts)) servers.scripts.set(`/${name}`, script);
  const pipeline = await startPipeline("routes: []", setup);
  pipelines.push(pipeline);
  configure(pipeline, Object.keys(scripts), setup);
  return pipeline;
}

function configure(pipeline: Pipeline, names: readonly string[], setup: Setup): void {
  const { server = "", all = "", member = "" } = setup;
  const route = (name: string, rest: string): string =>
    `  - { name: ${name}, from: "http://localhost:${pipeline.port}", prefix: /${name}, ${rest} }`;
  const members = (setup.members ?? names).map((name) => `${name}: ${name}`).join(", ");
  pipeline.swap(`
runtime_flags: { mcp: true }
routes:
${route("all", `mcp: { server: { members: { ${members} }${server} } }, policy: [${ALLOW}${all}]`)}
${names.map((name) => route(name, `to: "${servers.origin}", mcp: { server: { path: /${name} } }, policy: [${ALLOW}${member}]`)).join("\n")}
`);
}

interface Body {
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

interface Sending {
  readonly user?: string;
  /** Of the earlier revisions; "" has none yet. Absent: 2026-07-28. */
  readonly session?: string;
  readonly id?: unknown;
  readonly capabilities?: object;
  /** As some libraries write JSON. */
  readonly escapesSlashes?: boolean;
}

function fetchAll(port: number, init: RequestInit, user = "alice", more: readonly string[] = []): Promise<Response> {
  const headers: [string, string][] = [["authorization", `Bearer gwt_${user}`]];
  for (let at = 0; at < more.length; at += 2) headers.push([more[at] as string, more[at + 1] as string]);
  return fetch(`http://localhost:${port}/all`, { ...init, headers, signal: ending.signal });
}

function send(
  { port }: Pipeline,
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  { user, session, id = "mine", capabilities = {}, escapesSlashes = false }: Sending = {},
): Promise<Response> {
  const accept = ["accept", "application/json, text/event-stream"];
  // As clients send it: such a call is not parsed.
  const all = method === "tools/call" ? { arguments: {}, ...params } : params;
  if (session !== undefined) {
    const headers = [
      ...accept,
      "content-type",
      "application/json",
      ...(session === "" ? [] : ["mcp-session-id", session]),
    ];
    return fetchAll(
      port,
      { method: "POST", body: JSON.stringify({ jsonrpc: "2.0", id, method, params: all }) },
      user,
      headers,
    );
  }
  const named = method.startsWith("tasks/")
    ? params["taskId"]
    : method === "resources/read"
      ? params["uri"]
      : params["name"];
  const _meta = { ...modernMeta(), "io.modelcontextprotocol/clientCapabilities": capabilities };
  const text = JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...all, _meta } });
  const body = escapesSlashes ? text.replaceAll("/", "\\/") : text;
  return fetchAll(port, { method: "POST", body }, user, [
    ...accept,
    ...modernHeaders(method, named as string | undefined),
  ]);
}

async function ask(...of: Parameters<typeof send>): Promise<Body> {
  return (await (await send(...of)).json()) as Body;
}

/** A session of a client with these capabilities. */
async function initialize(pipeline: Pipeline, capabilities: object = {}, user?: string): Promise<string> {
  const params = { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "c", version: "1" } };
  const response = await send(pipeline, "initialize", params, { session: "", ...(user !== undefined && { user }) });
  expect(response.status).toBe(200);
  return String(response.headers.get("mcp-session-id"));
}

interface Event {
  readonly id: string | undefined;
  readonly message: ScriptedMessage & Body;
}

/** Events of a stream, one by one; comments are skipped. */
async function* eventsOf(response: Response): AsyncGenerator<Event, undefined> {
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    for (let at = text.indexOf("\n\n"); at !== -1; at = text.indexOf("\n\n")) {
      const block = text.slice(0, at);
      text = text.slice(at + 2);
      const data = /^data: ?(.*)$/m.exec(block)?.[1];
      if (data === undefined) continue;
      const message = (data === "" ? {} : JSON.parse(data)) as Event["message"];
      yield { id: /^id: ?(.*)$/m.exec(block)?.[1], message };
    }
  }
}

async function next(stream: AsyncGenerator<Event, undefined>): Promise<Event> {
  const { value } = await stream.next();
  if (value === undefined) throw new Error("the stream has ended");
  return value;
}

const asksOf = (path: string, method: string): readonly Asked[] =>
  servers.seen.filter((asked) => asked.path === path && asked.message.method === method);
const namesIn = ({ result }: Body): readonly string[] =>
  ((result?.["tools"] ?? []) as { name: string }[]).map(({ name }) => name);

describe("kept lists", () => {
  const listing = (ttlMs: number): Script =>
    modern(({ message }) =>
      message.method === "tools/list"
        ? resultOf(message, {
            resultType: "complete",
            tools: [{ name: "a" }, { name: "b" }],
            ttlMs,
            cacheScope: "private",
          })
        : undefined,
    );

  test("a list is kept for its user and client as long as the member's hint allows, and no longer", async () => {
    let now = 1_000_000_000_000;
    const pipeline = await serve({ one: listing(60_000), two: listing(0) }, { clock: { now: () => now } });
    const first = await ask(pipeline, "tools/list");
    expect(namesIn(first)).toEqual(["one__a", "one__b", "two__a", "two__b"]);
    expect([first.result?.["ttlMs"], first.result?.["cacheScope"]]).toEqual([0, "private"]);
    now += 59_000;
    await ask(pipeline, "tools/list");
    expect([asksOf("/one", "tools/list").length, asksOf("/two", "tools/list").length]).toEqual([1, 2]);
    await ask(pipeline, "tools/list", {}, { user: "bob" });
    expect(asksOf("/one", "tools/list")).toHaveLength(2);
    now += 2_000;
    await ask(pipeline, "tools/list");
    expect(asksOf("/one", "tools/list")).toHaveLength(3);
  });

  test("long lists are kept as well", async () => {
    const tools = Array.from({ length: 2_000 }, (_, index) => ({ name: `t${index}`, description: "x".repeat(400) }));
    const long = modern(({ message }) =>
      message.method === "tools/list" ? resultOf(message, { resultType: "complete", tools, ttlMs: 60_000 }) : undefined,
    );
    const pipeline = await serve({ one: long });
    for (let use = 0; use < 3; use += 1) expect(namesIn(await ask(pipeline, "tools/list"))).toHaveLength(2_000);
    expect(asksOf("/one", "tools/list")).toHaveLength(1);
  });

  test("the rest of its time is the client's hint, and policy decides at each use", async () => {
    let now = 1_000_000_000_000;
    const pipeline = await serve({ one: listing(60_000) }, { clock: { now: () => now } });
    expect((await ask(pipeline, "tools/list")).result?.["ttlMs"]).toBe(60_000);
    now += 20_000;
    expect((await ask(pipeline, "tools/list")).result?.["ttlMs"]).toBe(40_000);
    configure(pipeline, ["one"], { member: ", { deny: { and: [{ mcp_tool: a }] } }" });
    expect(namesIn(await ask(pipeline, "tools/list"))).toEqual(["one__b"]);
  });

  test("a kept list has the prefix of the route that is asked, and no tool that was blocked meanwhile", async () => {
    let blocked: string | undefined;
    const block = (name: string) => ({ kind: "tool", name, since: 0, by: "operator", reason: "" }) as const;
    const blocks: Blocks = {
      ...NO_BLOCKS,
      size: 1,
      find: ({ tool }) => (tool !== undefined && tool === blocked ? block(tool) : undefined),
      hasTools: () => blocked !== undefined,
      blockedTools: () => (blocked === undefined ? [] : [blocked]),
    };
    const pipeline = await serve({ one: listing(60_000) }, { blocks });
    const route = (name: string, rest: string): string =>
      `  - { name: ${name}, from: "http://localhost:${pipeline.port}", prefix: /${name}, ${rest}, policy: [${ALLOW}] }`;
    pipeline.swap(`
runtime_flags: { mcp: true }
routes:
${route("all", "mcp: { server: { members: { one: one } } }")}
${route("hub", "mcp: { server: { members: { other: one } } }")}
${route("one", `to: "${servers.origin}", mcp: { server: { path: /one, filter_lists: false } }`)}
`);
    const listed = async (path: string): Promise<readonly string[]> => {
      const response = await fetch(`http://localhost:${pipeline.port}${path}`, {
        method: "POST",
        headers: [
          ["authorization", "Bearer gwt_alice"],
          ["content-type", "application/json"],
        ],
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
      });
      return namesIn((await response.json()) as Body);
    };
    expect([await listed("/all"), await listed("/hub")]).toEqual([
      ["one__a", "one__b"],
      ["other__a", "other__b"],
    ]);
    blocked = "a";
    expect(await listed("/all")).toEqual(["one__b"]);
    blocked = "one__b";
    expect([await listed("/all"), await listed("/hub")]).toEqual([["one__a"], ["other__a", "other__b"]]);
    expect(asksOf("/one", "tools/list")).toHaveLength(1);
  });

  test("a list of another connected account is not used", async () => {
    let account = "first";
    const attach = () => ({ kind: "token", accessToken: account, authorization: `Bearer ${account}` }) as const;
    const refusals = { concerns: () => false, passed: () => {}, handle: () => Promise.reject(new Error("never")) };
    const upstream: UpstreamTokens = { tokens: { attach }, refusals };
    const pipeline = await serve({ one: listing(60_000) }, { upstream });
    await ask(pipeline, "tools/list");
    await ask(pipeline, "tools/list");
    account = "second";
    await ask(pipeline, "tools/list");
    expect(asksOf("/one", "tools/list").map(({ headers }) => headers.authorization)).toEqual([
      "Bearer first",
      "Bearer second",
    ]);
  });
});

describe("changes", () => {
  /** Tells its changes in the response to `subscriptions/listen`, or in the stream of its session. */
  const telling = (streams: Map<string, Asked>): Script => {
    const own: Script = (asked) => {
      const { message, path, httpMethod, response } = asked;
      if (httpMethod === "GET") {
        streams.set(path, asked);
        events(response).flushHeaders();
        return "taken";
      }
      if (message.method === "resources/subscribe") return resultOf(message, {});
      if (message.method === "resources/list") {
        const name = path.slice(1);
        return resultOf(message, { resources: [{ name: "r", uri: `${name}://r` }] });
      }
      if (message.method !== "subscriptions/listen") return undefined;
      streams.set(path, asked);
      const { notifications } = message.params ?? {};
      events(response, {
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: { notifications, _meta: { "io.modelcontextprotocol/subscriptionId": message.id } },
      });
      return "taken";
    };
    return own;
  };
  const tell = (streams: Map<string, Asked>, path: string, method: string, params?: object): void => {
    const asked = streams.get(path);
    const _meta = { "io.modelcontextprotocol/subscriptionId": asked?.message.id };
    const isListen = asked?.message.method === "subscriptions/listen";
    if (asked) events(asked.response, { jsonrpc: "2.0", method, params: { ...params, ...(isListen && { _meta }) } });
  };
  const CHANGES = { tools: { listChanged: true }, resources: { subscribe: true, listChanged: true } };

  test("a client of 2026-07-28 hears of members of both revisions, under its own subscription ID", async () => {
    const streams = new Map<string, Asked>();
    const scripts = { one: modern(telling(streams)), two: withSession(telling(streams), CHANGES) };
    const pipeline = await serve(scripts, { all: ', { deny: { and: [{ mcp_resource: "one://hidden" }] } }' });
    const notifications = {
      toolsListChanged: true,
      resourceSubscriptions: ["one://r", "two://r", "one://hidden", "none://r"],
    };
    const stream = eventsOf(await send(pipeline, "subscriptions/listen", { notifications }, { id: 7 }));
    const { message } = await next(stream);
    expect(message.params).toEqual({
      notifications: { toolsListChanged: true, resourceSubscriptions: ["one://r", "two://r"] },
      _meta: { "io.modelcontextprotocol/subscriptionId": 7 },
    });
    expect(asksOf("/two", "resources/subscribe").map((asked) => asked.message.params)).toEqual([{ uri: "two://r" }]);
    for (const path of ["/one", "/two"]) {
      tell(streams, path, "notifications/prompts/list_changed");
      tell(streams, path, "notifications/resources/updated", { uri: "one://hidden" });
      tell(streams, path, "notifications/resources/updated", { uri: `${path.slice(1)}://r` });
      const { params } = (await next(stream)).message;
      expect(params).toEqual({
        uri: `${path.slice(1)}://r`,
        _meta: { "io.modelcontextprotocol/subscriptionId": 7 },
      });
      tell(streams, path, "notifications/tools/list_changed");
      expect((await next(stream)).message.method).toBe("notifications/tools/list_changed");
    }
    await stream.return(undefined);
    // The session that was opened for the stream ends with it.
    await expect.poll(() => servers.seen.some(({ httpMethod }) => httpMethod === "DELETE")).toBe(true);
  });

  test("a member reports changes of its own resources only", async () => {
    const streams = new Map<string, Asked>();
    const pipeline = await serve({ one: modern(telling(streams)), two: modern(telling(streams)) });
    const notifications = { resourceSubscriptions: ["one://r", "two://r"] };
    const stream = eventsOf(await send(pipeline, "subscriptions/listen", { notifications }));
    await next(stream);
    tell(streams, "/two", "notifications/resources/updated", { uri: "one://r" });
    tell(streams, "/two", "notifications/resources/updated", { uri: "two://r" });
    expect((await next(stream)).message.params?.["uri"]).toBe("two://r");
  });

  test("nor does a member report others' resources in the stream of a session, and each such report is counted", async () => {
    const streams = new Map<string, Asked>();
    const failures: string[] = [];
    const counted = (route: { readonly name: string }, reason: string): void =>
      void failures.push(`${route.name} ${reason}`);
    const none = (): void => {};
    const metrics = new Proxy({} as NonNullable<PipelineOptions["metrics"]>, {
      get: (_, name) => (name === "memberFailed" ? counted : none),
    });
    const scripts = { one: withSession(telling(streams), CHANGES), two: modern(telling(streams)) };
    const pipeline = await serve(scripts, { metrics, server: ', resource_prefixes: { "file:///": two }' });
    const session = await initialize(pipeline);
    const get = ["accept", "text/event-stream", "mcp-session-id", session];
    const stream = eventsOf(await fetchAll(pipeline.port, { method: "GET" }, "alice", get));
    await expect.poll(() => [...streams.keys()].toSorted()).toEqual(["/one", "/two"]);
    for (const uri of ["two://r", "file:///a", "none://r", 1, undefined, "one://r"])
      tell(streams, "/one", "notifications/resources/updated", { uri });
    expect((await next(stream)).message.params).toEqual({ uri: "one://r" });
    tell(streams, "/two", "notifications/resources/updated", { uri: "one://r" });
    tell(streams, "/two", "notifications/resources/updated", { uri: "file:///a" });
    expect((await next(stream)).message.params).toEqual({ uri: "file:///a" });
    expect(failures).toEqual([...Array<string>(5).fill("one foreign"), "two foreign"]);
  });

  test("a client with a session hears of members of both revisions, and of changes of the policy", async () => {
    const streams = new Map<string, Asked>();
    const scripts = { one: modern(telling(streams)), two: withSession(telling(streams), CHANGES) };
    const pipeline = await serve(scripts);
    const session = await initialize(pipeline);
    const get = ["accept", "text/event-stream", "mcp-session-id", session];
    const stream = eventsOf(await fetchAll(pipeline.port, { method: "GET" }, "alice", get));
    await expect.poll(() => [...streams.keys()].toSorted()).toEqual(["/one", "/two"]);
    for (const path of ["/one", "/two"]) {
      tell(streams, path, "notifications/tools/list_changed");
      const { method, params } = (await next(stream)).message;
      expect([method, params]).toEqual(["notifications/tools/list_changed", {}]);
    }
    configure(pipeline, Object.keys(scripts), { all: ", { deny: { and: [{ mcp_tool: one__t0 }] } }" });
    expect((await next(stream)).message.method).toBe("notifications/tools/list_changed");
    pipeline.revocations.revokeNow("session:session-alice");
    // The lists that changed as well, then the end.
    for await (const { message } of stream) expect(message.method).toMatch(/list_changed$/);
  });

  test.each<[string, readonly string[], "listen" | "GET"]>([
    ["another route of the same gateway", ["one", "two"], "listen"],
    ["another route of the same gateway", ["one", "two"], "GET"],
    ["gone", ["one"], "listen"],
    ["gone", ["one"], "GET"],
  ])("the part of a member that is now %s ends, and its client is notified (%s, %s)", async (_, routes, kind) => {
    const streams = new Map<string, Asked>();
    const scripts = { one: modern(telling(streams)), two: withSession(telling(streams), CHANGES) };
    const pipeline = await serve(scripts);
    const open = async (): Promise<Response> => {
      if (kind === "GET") {
        const get = ["accept", "text/event-stream", "mcp-session-id", await initialize(pipeline)];
        return fetchAll(pipeline.port, { method: "GET" }, "alice", get);
      }
      const notifications = { toolsListChanged: true, resourceSubscriptions: ["two://r"] };
      return send(pipeline, "subscriptions/listen", { notifications });
    };
    const stream = eventsOf(await open());
    if (kind === "listen") await next(stream);
    await expect.poll(() => [...streams.keys()].toSorted()).toEqual(["/one", "/two"]);
    const left = Promise.withResolvers<unknown>();
    streams.get("/two")?.response.on("close", left.resolve);
    configure(pipeline, routes, { members: ["one"] });
    await left.promise;
    expect((await next(stream)).message.method).toMatch(/list_changed$/);
    const opened = servers.seen.length;
    tell(streams, "/one", "notifications/tools/list_changed");
    tell(streams, "/one", "notifications/resources/updated", { uri: "one://r" });
    for await (const { message } of stream) {
      if (message.method === "notifications/tools/list_changed") break;
    }
    expect(servers.seen.slice(opened).filter(({ path }) => path === "/two")).toEqual([]);
  });

  test("a member's stream that ends is opened again with the groups that its user has by then", async () => {
    const streams = new Map<string, Asked>();
    const scripts = { one: withSession(telling(streams), CHANGES) };
    const pipeline = await serve(scripts, { member: STAFF_ONLY, current: left });
    const session = await initialize(pipeline);
    await fetchAll(pipeline.port, {}, "alice", ["accept", "text/event-stream", "mcp-session-id", session]);
    await expect.poll(() => streams.get("/one")?.httpMethod).toBe("GET");
    streams.get("/one")?.response.end();
    const denied = () => pipeline.records.filter(({ federated, allow }) => federated !== undefined && allow === false);
    await expect.poll(denied, { timeout: 4_000 }).toHaveLength(1);
    expect(servers.seen.filter(({ httpMethod }) => httpMethod === "GET")).toHaveLength(1);
  });

  test("a stream that cannot be opened again is tried later, until the member says that there is none", async () => {
    const streams = new Map<string, Asked>();
    let status = 200;
    const opened = (): number => servers.seen.filter(({ httpMethod }) => httpMethod === "GET").length;
    const script = telling(streams);
    const failing: Script = (asked) => {
      if (asked.httpMethod !== "GET" || status === 200) return script(asked);
      asked.response.writeHead(status).end();
      return "taken";
    };
    const pipeline = await serve({ one: withSession(failing, CHANGES) });
    const session = await initialize(pipeline);
    await fetchAll(pipeline.port, {}, "alice", ["accept", "text/event-stream", "mcp-session-id", session]);
    await expect.poll(opened).toBe(1);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const after = (ms: number, count: number): Promise<void> =>
        expect
          .poll(() => {
            vi.advanceTimersByTime(ms / 10);
            return opened();
          })
          .toBe(count);
      status = 503;
      streams.get("/one")?.response.end();
      await after(1_000, 2);
      await after(2_000, 3);
      status = 200;
      await after(4_000, 4);
      status = 405;
      streams.get("/one")?.response.end();
      await after(1_000, 5);
      vi.advanceTimersByTime(10_000);
    } finally {
      vi.useRealTimers();
    }
    expect((await send(pipeline, "tools/list")).status).toBe(200);
    expect(opened()).toBe(5);
  });

  test("a kept list of a member that tells of a change is asked for again", async () => {
    const streams = new Map<string, Asked>();
    let name = "before";
    const one = modern((asked) => {
      const list = { resultType: "complete", tools: [{ name }], ttlMs: 60_000 };
      return asked.message.method === "tools/list" ? resultOf(asked.message, list) : telling(streams)(asked);
    });
    const pipeline = await serve({ one });
    const notifications = { toolsListChanged: true };
    const stream = eventsOf(await send(pipeline, "subscriptions/listen", { notifications }));
    await next(stream);
    expect(namesIn(await ask(pipeline, "tools/list"))).toEqual(["one__before"]);
    name = "after";
    tell(streams, "/one", "notifications/tools/list_changed");
    await next(stream);
    expect(namesIn(await ask(pipeline, "tools/list"))).toEqual(["one__after"]);
  });

  test("a member that cannot listen takes nothing from the others, and the acknowledgement says what is left", async () => {
    const streams = new Map<string, Asked>();
    const scripts = { one: modern(telling(streams)), two: modern(() => undefined), dead: () => "taken" as const };
    const pipeline = await serve(scripts);
    const notifications = { toolsListChanged: true, resourceSubscriptions: ["one://r", "two://r"] };
    servers.scripts.set("/dead", ({ response }) => {
      response.destroy();
      return "taken";
    });
    const stream = eventsOf(await send(pipeline, "subscriptions/listen", { notifications }));
    expect((await next(stream)).message.params?.["notifications"]).toEqual({
      toolsListChanged: true,
      resourceSubscriptions: ["one://r"],
    });
    tell(streams, "/one", "notifications/tools/list_changed");
    expect((await next(stream)).message.method).toBe("notifications/tools/list_changed");
  });
});

describe("rounds", () => {
  const question = { method: "elicitation/create", params: { message: "Sure?", requestedSchema: { type: "object" } } };
  /** Asks once, then repeats what it was told. */
  const asking: Script = modern(({ message }) => {
    if (message.method !== "tools/call") return undefined;
    const { inputResponses, requestState } = message.params ?? {};
    if (inputResponses === undefined)
      return resultOf(message, { resultType: "input_required", inputRequests: { q: question }, requestState: "s" });
    const content = [{ type: "text", text: JSON.stringify([inputResponses, requestState]) }];
    return resultOf(message, { resultType: "complete", content });
  });
  const answer = { action: "accept", content: { ok: true } };
  const respond = ({ port }: Pipeline, id: unknown, user = "alice"): Promise<Response> => {
    const headers = ["accept", "application/json, text/event-stream", "content-type", "application/json"];
    const body = JSON.stringify({ jsonrpc: "2.0", id, result: answer });
    return fetchAll(port, { method: "POST", body }, user, headers);
  };
  const told = JSON.stringify([{ q: answer }, "s"]);
  const textOf = ({ result }: Body): unknown => (result?.["content"] as { text: string }[] | undefined)?.[0]?.text;

  test("the state of a member is of use to the caller who got it, at that member alone", async () => {
    const pipeline = await serve({ one: asking, two: asking });
    const capabilities = { elicitation: {} };
    const first = await ask(pipeline, "tools/call", { name: "one__t0" }, { capabilities });
    expect(first.result).toMatchObject({ resultType: "input_required", inputRequests: { q: question } });
    const requestState = first.result?.["requestState"];
    expect(requestState).not.toBe("s");
    const inputResponses = { q: answer };
    for (const [name, state, user] of [
      ["two__t0", requestState, "alice"],
      ["one__t0", requestState, "bob"],
      ["one__t0", "s", "alice"],
      ["one__t0", "", "alice"],
      ["one__t0", 1, "alice"],
    ] as const) {
      const refused = await ask(pipeline, "tools/call", { name, inputResponses, requestState: state }, { user });
      expect(refused.error).toMatchObject({ code: -32602, message: "Unknown request state" });
    }
    expect(asksOf("/two", "tools/call")).toEqual([]);
    const last = await ask(pipeline, "tools/call", { name: "one__t0", inputResponses, requestState });
    expect(textOf(last)).toBe(told);
  });

  test.each(["the same process", "another process"])(
    "a client with a session is asked while its call is open, and %s takes the answer",
    async (process) => {
      const left = new Map<string, unknown>();
      const answerStore = {
        put: (key: string, value: unknown) => Promise.resolve(left.set(key, value)),
        take: (key: string) => {
          const value = left.get(key);
          return Promise.resolve(left.delete(key) ? { value } : undefined);
        },
      };
      const pipeline = await serve({ one: asking }, { answerStore });
      const other = process === "another process" ? await serve({ one: asking }, { answerStore }) : pipeline;
      const session = await initialize(pipeline, { elicitation: {} });
      // A call without arguments is parsed before the first round, one with arguments after it.
      const own = { arguments: process === "another process" ? { a: 1 } : undefined };
      const stream = eventsOf(await send(pipeline, "tools/call", { name: "one__t0", ...own }, { session }));
      const { message } = await next(stream);
      expect(message).toMatchObject(question);
      expect((await respond(other, message.id, "bob")).status).toBe(404);
      expect((await respond(other, message.id)).status).toBe(202);
      const { message: last } = await next(stream);
      expect([last.id, textOf(last)]).toEqual(["mine", told]);
      expect(left.size).toBe(0);
      expect(asksOf("/one", "tools/call")[0]?.message.params?.["_meta"]).toMatchObject({
        "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
      });
      const rounds = asksOf("/one", "tools/call").map(({ message: { params } }) => [
        params?.["name"],
        params?.["arguments"],
      ]);
      expect(rounds).toEqual([0, 1].map(() => ["t0", own.arguments]));
    },
  );

  test.each<[string, Sending, object]>([
    ["its ID", { id: "__proto__" }, {}],
    ["the name of its client", {}, { "io.modelcontextprotocol/clientInfo": JSON.parse('{"__proto__":{}}') as unknown }],
  ])("a call that cannot be read reaches no member: __proto__ in %s", async (_, sending, meta) => {
    const pipeline = await serve({ one: asking });
    const session = await initialize(pipeline, { elicitation: {} });
    const params = { name: "one__t0", arguments: { a: 1 }, _meta: meta };
    const { error } = await ask(pipeline, "tools/call", params, { session, ...sending });
    expect(error).toMatchObject({ code: -32600, message: "Message cannot be read" });
    expect(asksOf("/one", "tools/call")).toEqual([]);
  });

  test("a call that waited for its user continues with the groups that they have by then", async () => {
    const pipeline = await serve({ one: asking }, { member: STAFF_ONLY, current: left });
    const session = await initialize(pipeline, { elicitation: {} });
    const stream = eventsOf(await send(pipeline, "tools/call", { name: "one__t0" }, { session }));
    const { message } = await next(stream);
    await respond(pipeline, message.id);
    const { message: last } = await next(stream);
    expect([last.result, last.error?.message]).toEqual([undefined, expect.stringContaining("denied")]);
    expect(asksOf("/one", "tools/call")).toHaveLength(1);
  });

  const gone = new Set<() => void>();
  const stopped = { is: false };
  const blocks: Blocks = {
    ...NO_BLOCKS,
    get size() {
      return stopped.is ? 1 : 0;
    },
    find: () => (stopped.is ? { kind: "user", name: "alice", since: 0, by: "operator", reason: "" } : undefined),
    subscribe(listener) {
      gone.add(listener);
      return () => gone.delete(listener);
    },
  };
  const holding: Script = withSession(({ message, response }) => {
    if (message.method !== "tools/call") return undefined;
    events(response, { jsonrpc: "2.0", id: "q", ...question });
    return "taken";
  });

  test.each<[string, Script, (pipeline: Pipeline) => void]>(
    (
      [
        ["without sessions", asking],
        ["with sessions", holding],
      ] as const
    ).flatMap(([kind, script]): [string, Script, (pipeline: Pipeline) => void][] => [
      [`${kind}: a block`, script, () => ((stopped.is = true), gone.forEach((each) => each()))],
      [`${kind}: a revocation`, script, (pipeline) => pipeline.revocations.revokeNow("session:session-alice")],
      [
        `${kind}: the end of the member`,
        script,
        (pipeline) => configure(pipeline, ["one", "two"], { members: ["two"] }),
      ],
      [
        `${kind}: the end of the federated route`,
        script,
        (pipeline) =>
          pipeline.swap(
            `routes: [{ name: other, from: "http://localhost:${pipeline.port}", to: "${servers.origin}", policy: [${ALLOW}] }]`,
          ),
      ],
      [
        `${kind}: a rule of the federated route`,
        script,
        (pipeline) => configure(pipeline, ["one", "two"], { all: ", { deny: { and: [{ mcp_tool: one__t0 }] } }" }),
      ],
    ]),
  )("a call that waits for its user ends with the access to it (%s)", async (_, script, end) => {
    stopped.is = false;
    const pipeline = await serve({ one: script, two: script }, { blocks });
    const session = await initialize(pipeline, { elicitation: {} });
    const stream = eventsOf(await send(pipeline, "tools/call", { name: "one__t0" }, { session }));
    expect((await next(stream)).message).toMatchObject({ method: question.method });
    pipeline.proxy.streams.endExpired();
    end(pipeline);
    const { message } = await next(stream);
    expect([message.id, message.error?.data]).toMatchObject(["mine", { reason: "access-ended", may_have_run: true }]);
    expect((await stream.next()).done).toBe(true);
  });

  test("what the client did not declare is not asked, and a member that asks without end is stopped", async () => {
    const pipeline = await serve({ one: asking });
    const bare = await initialize(pipeline);
    const error = (response: Body): string | undefined => response.error?.message;
    expect(error(await ask(pipeline, "tools/call", { name: "one__t0" }, { session: bare }))).toBe(
      "one asks the client something that it cannot be asked",
    );
    const many = Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`q${index}`, question]));
    servers.scripts.set(
      "/one",
      modern(({ message }) =>
        message.method === "tools/call"
          ? resultOf(message, { resultType: "input_required", inputRequests: many })
          : undefined,
      ),
    );
    const able = await initialize(pipeline, { elicitation: {} });
    expect(error(await ask(pipeline, "tools/call", { name: "one__t0" }, { session: able }))).toBe(
      "one asks more than 16 questions at once",
    );
    servers.scripts.set("/one", asking);
    const open = Array.from({ length: 16 }, () => send(pipeline, "tools/call", { name: "one__t0" }, { session: able }));
    for (const response of await Promise.all(open))
      expect((await next(eventsOf(response))).message).toMatchObject(question);
    expect(error(await ask(pipeline, "tools/call", { name: "one__t0" }, { session: able }))).toBe(
      "Too many questions are open",
    );
    expect(error(await ask(pipeline, "tools/call", { name: "one__t0" }, { session: "" }))).toContain(
      "must open a session",
    );
  });

  test("a member with sessions that asks a client of 2026-07-28 gets no answer, and the client learns what it lacks", async () => {
    const two = withSession(({ message }) =>
      message.method === "tools/call" ? [{ jsonrpc: "2.0", id: 1, ...question }] : undefined,
    );
    const pipeline = await serve({ two });
    const { error } = await ask(pipeline, "tools/call", { name: "two__t0" });
    expect(error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } });
  });
});

describe("tasks", () => {
  const TASKS = { "io.modelcontextprotocol/tasks": {} };
  const task = { resultType: "task", taskId: "1", status: "working" };
  const working: Script = modern(
    ({ message }) => {
      if (message.method === "tools/call") return resultOf(message, task);
      return message.method?.startsWith("tasks/") === true
        ? resultOf(message, { ...message.params, resultType: "complete", status: "completed" })
        : undefined;
    },
    { extensions: TASKS },
  );
  const capabilities = { extensions: TASKS };

  test("of 2026-07-28: their IDs lead to their member, for the caller who made them", async () => {
    const pipeline = await serve({ one: working, two: working });
    const { result: discovered } = await ask(pipeline, "server/discover");
    expect(discovered?.["capabilities"]).toMatchObject({ extensions: TASKS });
    const made = await ask(pipeline, "tools/call", { name: "one__t0" }, { capabilities });
    const taskId = String(made.result?.["taskId"]);
    expect([made.result?.["resultType"], taskId.startsWith("one.")]).toEqual(["task", true]);
    const got = await ask(pipeline, "tasks/get", { taskId }, { capabilities });
    expect([got.result?.["status"], got.result?.["taskId"]]).toEqual(["completed", taskId]);
    expect(asksOf("/one", "tasks/get")[0]?.headers["mcp-name"]).toBe("1");
    for (const [id, user] of [
      [taskId, "bob"],
      [taskId.replace("one", "two"), "alice"],
      ["one.1", "alice"],
      ["1", "alice"],
    ] as const)
      expect((await ask(pipeline, "tasks/cancel", { taskId: id }, { capabilities, user })).error?.code).toBe(-32602);
    expect([...asksOf("/one", "tasks/cancel"), ...asksOf("/two", "tasks/cancel")]).toEqual([]);
  });

  test("are sealed for clients that escape each slash", async () => {
    const pipeline = await serve({ one: working });
    const escaped = { capabilities, escapesSlashes: true };
    for (const name of [{}, { task: {} }]) {
      const made = await ask(pipeline, "tools/call", { name: "one__t0", ...name }, escaped);
      const taskId = String(made.result?.["taskId"]);
      const got = await ask(pipeline, "tasks/get", { taskId }, escaped);
      expect(got.result?.["status"]).toBe("completed");
    }
  });

  test("of revisions with sessions: made, queried and fetched at their member", async () => {
    const two = withSession(
      ({ message }) => {
        if (message.method === "tools/call" && message.params?.["task"] !== undefined)
          return resultOf(message, { task: { taskId: "1", status: "working" } });
        if (message.method === "tasks/get") return resultOf(message, { taskId: "1", status: "completed" });
        const related = { "io.modelcontextprotocol/related-task": { taskId: "1" } };
        return message.method === "tasks/result" ? resultOf(message, { content: [], _meta: related }) : undefined;
      },
      { tasks: { cancel: {}, requests: { tools: { call: {} } } } },
    );
    const pipeline = await serve({ one: working, two });
    const session = await initialize(pipeline);
    const made = await ask(pipeline, "tools/call", { name: "two__t0", task: {} }, { session });
    const { taskId } = (made.result?.["task"] ?? {}) as { taskId: string };
    expect(taskId.startsWith("two.")).toBe(true);
    const got = await ask(pipeline, "tasks/get", { taskId }, { session });
    expect(got.result).toMatchObject({ taskId, status: "completed" });
    const fetched = await ask(pipeline, "tasks/result", { taskId }, { session });
    expect(fetched.result?.["_meta"]).toEqual({ "io.modelcontextprotocol/related-task": { taskId } });
    // The other one has no tasks for this revision, and answers at once or says so.
    const plain = await ask(pipeline, "tools/call", { name: "one__t0", task: {} }, { session });
    expect(asksOf("/one", "tools/call")[0]?.message.params).not.toHaveProperty("task");
    expect(plain.error ?? plain.result).toBeDefined();
  });
});

describe("resumption", () => {
  /** Ends its stream before the response, as servers may from 2025-11-25 on. */
  const polling: Script = withSession(({ message, httpMethod, headers, response }) => {
    const rest = { jsonrpc: "2.0", id: "mine", result: { content: [{ type: "text", text: "done" }] } };
    if (httpMethod === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      if (headers["last-event-id"] === "e1") response.end(`id: e2\ndata: ${JSON.stringify(rest)}\n\n`);
      else response.write(": open\n\n");
      return "taken";
    }
    if (message.method !== "tools/call") return undefined;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("id: e0\nretry: 1\ndata: \n\n");
    const progress = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "1" } };
    response.write(`id: e1\ndata: ${JSON.stringify(progress)}\n\n`);
    if (message.params?.["name"] === "t0") response.end();
    return "taken";
  });

  test("a response that its member continues in another stream arrives, for clients of both revisions", async () => {
    const pipeline = await serve({ one: polling });
    const session = await initialize(pipeline);
    for (const sending of [{ session }, {}]) {
      const stream = eventsOf(await send(pipeline, "tools/call", { name: "one__t0" }, sending));
      const last: Event[] = [];
      for await (const event of stream) last.push(event);
      expect(last.at(-1)?.message).toMatchObject({ id: "mine", result: { content: [{ text: "done" }] } });
      expect(last[0]?.id === undefined).toBe(sending.session === undefined);
    }
  });

  test("a client that lost its connection gets the rest, and nobody else does", async () => {
    const pipeline = await serve({ one: polling });
    const session = await initialize(pipeline);
    const stream = eventsOf(await send(pipeline, "tools/call", { name: "one__t1" }, { session }));
    expect((await next(stream)).message).toEqual({});
    const { id } = await next(stream);
    await stream.return(undefined);
    const resume = async (user: string, own: string): Promise<AsyncGenerator<Event, undefined>> => {
      const headers = ["accept", "text/event-stream", "mcp-session-id", own, "last-event-id", String(id)];
      return eventsOf(await fetchAll(pipeline.port, { method: "GET" }, user, headers));
    };
    const { message } = await next(await resume("alice", session));
    expect(message).toMatchObject({ id: "mine", result: { content: [{ text: "done" }] } });
    const others = await initialize(pipeline, {}, "bob");
    const before = servers.seen.filter(({ headers }) => headers["last-event-id"] !== undefined).length;
    await resume("bob", others);
    await expect.poll(() => servers.seen.filter(({ httpMethod }) => httpMethod === "GET").length).toBeGreaterThan(1);
    expect(servers.seen.filter(({ headers }) => headers["last-event-id"] !== undefined)).toHaveLength(before);
  });
});

test("any process serves the requests of a session, without asking its members for another one", async () => {
  const scripts = { one: withSession(() => undefined), two: withSession(() => undefined) };
  const [here, there] = [await serve(scripts), await serve(scripts)];
  const session = await initialize(here);
  for (const pipeline of [there, here, there])
    expect((await ask(pipeline, "tools/call", { name: "two__t0" }, { session })).result).toBeDefined();
  expect(namesIn(await ask(there, "tools/list", {}, { session }))).toHaveLength(8);
  expect([asksOf("/one", "initialize").length, asksOf("/two", "initialize").length]).toEqual([1, 1]);
});

test("sessions leave nothing behind: no map and no set grows with their number", async () => {
  const pipeline = await serve({ one: withSession(() => undefined), two: modern(() => undefined) });
  const use = async (): Promise<void> => {
    const session = await initialize(pipeline);
    for (const name of ["one__t0", "two__t0"])
      expect((await ask(pipeline, "tools/call", { name }, { session })).result).toBeDefined();
    expect(namesIn(await ask(pipeline, "tools/list", {}, { session }))).toHaveLength(8);
  };
  await use();
  // The last ones that were opened are remembered, and displaced by the next.
  for (let session = 0; session < 256; session += 1)
    await ask(pipeline, "ping", {}, { session: await initialize(pipeline) });
  const SESSIONS = 40;
  const grown = await grownDuring(async () => {
    for (let session = 0; session < SESSIONS; session += 1) await use();
  });
  expect(grown.touched).toBeGreaterThan(10);
  expect(grown.most).toBeLessThan(SESSIONS / 2);
});

/** What maps and sets of the whole process grow by meanwhile. */
async function grownDuring(run: () => Promise<void>): Promise<{ readonly touched: number; readonly most: number }> {
  const before = new Map<{ readonly size: number }, number>();
  const watched = [
    [Map.prototype, "set"],
    [Set.prototype, "add"],
  ] as const;
  const restores = watched.map(([prototype, name]) => {
    const own = Object.getOwnPropertyDescriptor(prototype, name) as {
      readonly value: (...given: unknown[]) => unknown;
    };
    const value = function (this: { readonly size: number }, ...given: unknown[]): unknown {
      if (this !== before && !before.has(this)) before.set(this, this.size);
      return Reflect.apply(own.value, this, given);
    };
    Reflect.defineProperty(prototype, name, { ...own, value });
    return () => Reflect.defineProperty(prototype, name, own);
  });
  try {
    await run();
  } finally {
    for (const restore of restores) restore();
  }
  const growth = [...before].map(([entries, size]) => entries.size - size);
  return { touched: growth.length, most: Math.max(...growth) };
}

describe("addresses", () => {
  const app = modern(({ message }) => {
    const { method, params } = message;
    if (method === "tools/list")
      return resultOf(message, { tools: [{ name: "t0", _meta: { ui: { resourceUri: "ui://x/app" }, other: 1 } }] });
    if (method === "resources/list")
      return resultOf(message, {
        resources: [
          { name: "a", uri: "ui://x/app" },
          { name: "f", uri: "file:///repo/f" },
        ],
      });
    if (method === "resources/read") return resultOf(message, { contents: [{ uri: params?.["uri"], text: "read" }] });
    return method === "tools/call"
      ? resultOf(message, { content: [{ type: "resource_link", name: "a", uri: "ui://x/app" }] })
      : undefined;
  });

  test("apps of two members with one address stay apart, in lists, results and reads", async () => {
    const pipeline = await serve({ one: app, two: app });
    const { result } = await ask(pipeline, "tools/list");
    expect(((result?.["tools"] ?? []) as { _meta: object }[]).map(({ _meta }) => _meta)).toEqual([
      { ui: { resourceUri: "ui://one/x/app" }, other: 1 },
      { ui: { resourceUri: "ui://two/x/app" }, other: 1 },
    ]);
    const { result: listed } = await ask(pipeline, "resources/list");
    expect(((listed?.["resources"] ?? []) as { uri: string }[]).map(({ uri }) => uri)).toEqual([
      "ui://one/x/app",
      "file:///repo/f",
      "ui://two/x/app",
    ]);
    const read = await ask(pipeline, "resources/read", { uri: "ui://two/x/app" });
    expect(read.result?.["contents"]).toEqual([{ uri: "ui://two/x/app", text: "read" }]);
    expect(asksOf("/two", "resources/read")[0]?.message.params?.["uri"]).toBe("ui://x/app");
    const called = await ask(pipeline, "tools/call", { name: "two__t0" });
    expect(called.result?.["content"]).toEqual([{ type: "resource_link", name: "a", uri: "ui://two/x/app" }]);
    expect((await ask(pipeline, "resources/read", { uri: "ui://x/app" })).error?.code).toBe(-32602);
  });

  test("a URI with a configured start belongs to its member, whatever others list", async () => {
    const server = ', resource_prefixes: { "file:///repo/": two }';
    const pipeline = await serve({ one: app, two: modern(() => undefined) }, { server });
    const { result } = await ask(pipeline, "resources/list");
    expect(((result?.["resources"] ?? []) as { uri: string }[]).map(({ uri }) => uri)).toEqual(["ui://one/x/app"]);
    expect((await ask(pipeline, "resources/read", { uri: "file:///repo/f" })).result).toBeDefined();
    expect([asksOf("/one", "resources/read").length, asksOf("/two", "resources/read").length]).toEqual([0, 1]);
  });
});
