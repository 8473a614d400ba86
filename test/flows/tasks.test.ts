/** Tasks through a gateway: their ids are valid only for their user and route. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startGateway } from "../support/gateway.ts";
import { signInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";
import { startVictim, type Victim } from "../support/victim.ts";
import { ODD_ID, startTaskServer, type TaskServer } from "../support/task-server.ts";

const HISTORY_RULES =
  "[{ name: built, calls: { or: [{ mcp_tool: publish }] }, after: { calls: { or: [{ mcp_tool: build }] }, within: 1h } }]";

const guardrail = (): string =>
  `guardrail: { url: "${hook.origin}", secret: "${"A".repeat(43)}=", results: true, timeout: 1m }`;

const routes = (origin: string, denied = "publish"): string => `
routes:
  - { name: v1, from: "{origin}", prefix: /v1, to: "${origin}", mcp: { server: { path: /v1, history_rules: ${HISTORY_RULES} } }, policy: &policy [{ allow: { and: [{ domain: { is: example.com } }] }, deny: { and: [{ mcp_tool: { is: ${denied} } }] } }] }
  - { name: again, from: "{origin}", prefix: /again, to: "${origin}", mcp: { server: { path: /v1, ${guardrail()} } }, policy: *policy }
  - { name: v2, from: "{origin}", prefix: /v2, to: "${origin}", mcp: { server: { path: /v2 } }, policy: *policy }
`;

type Who = "alice" | "alices other client" | "bob";

let server: TaskServer;
/** Removes "built" from results. */
let hook: Victim;
let directory: string;
let world: SignInGateway;
/** Tokens by route and user. */
let tokens: Readonly<Record<string, Readonly<Record<Who, string>>>>;

beforeAll(async () => {
  server = await startTaskServer();
  hook = await startVictim(({ body }, socket) => {
    const { result } = JSON.parse(body.toString()) as { readonly result?: object };
    const text = JSON.stringify(result ?? {}).replaceAll('"built"', '"checked"');
    const verdict = result ? `{"verdict":"mutate","result":${text}}` : '{"verdict":"pass"}';
    socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${verdict.length}\r\n\r\n${verdict}`);
  });
  directory = await mkdtemp(join(tmpdir(), "gateway-tasks-"));
  world = await startSignInGateway({
    yaml: routes(server.origin),
    boot: { audit: true, storage_url: `sqlite:${directory}/gateway.db` },
  });
  const signIn = async (resource: string, user: string): Promise<string> =>
    (await signInClient({ resource, user: `${user}@example.com` })).tokens.access_token;
  const of = async (path: string): Promise<[string, Record<Who, string>]> => {
    const resource = `${world.gateway.origin}${path}`;
    const [alice, other, bob] = [
      await signIn(resource, "alice"),
      await signIn(resource, "alice"),
      await signIn(resource, "bob"),
    ];
    return [path, { alice, "alices other client": other, bob }];
  };
  tokens = Object.fromEntries([await of("/v1/v1"), await of("/again/v1"), await of("/v2/v2")]);
});
afterAll(async () => {
  await world.close();
  await server.close();
  await hook.close();
  await rm(directory, { recursive: true, force: true });
});

/** The SDK's client of 2025-11-25. */
async function connect(path: string, who: Who, origin = world.gateway.origin): Promise<Client> {
  const client = new Client({ name: "tasks", version: "1" }, { capabilities: {} });
  const requestInit = { headers: { authorization: `Bearer ${tokens[path]?.[who]}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(origin + path), { requestInit }));
  return client;
}

/** @returns the id of the task, as its client knows it */
async function build(client: Client): Promise<string> {
  const stream = client.experimental.tasks.callToolStream({ name: "build", arguments: {} }, undefined, { task: {} });
  let id = "";
  for await (const message of stream) {
    if (message.type === "taskCreated") id = message.task.taskId;
    else if (message.type === "result") expect(message.result).toMatchObject({ content: [{ text: "built" }] });
    else if (message.type === "error") throw message.error;
  }
  return id;
}

describe("2025-11-25, with the SDK's server and clients", () => {
  test("a task is made, polled and its result read; only its maker gets at it", async () => {
    const alice = await connect("/v1/v1", "alice");
    const task = await build(alice);
    expect(task.length).toBeGreaterThan(40);
    const { tasks } = alice.experimental;
    expect(await tasks.getTask(task)).toMatchObject({ taskId: task, status: "completed" });
    expect(await tasks.getTaskResult(task, CallToolResultSchema)).toMatchObject({
      content: [{ text: "built" }],
      _meta: { "io.modelcontextprotocol/related-task": { taskId: task } },
    });

    const refused = { code: -32602, message: expect.stringContaining("Task not found") as unknown };
    for (const [path, who] of [
      ["/v1/v1", "bob"],
      ["/v1/v1", "alices other client"],
      ["/again/v1", "alice"],
    ] as const) {
      const other = await connect(path, who);
      const theirs = other.experimental.tasks;
      // Invented ids, ids of the upstream, and other users' ids are rejected alike.
      for (const id of ["nothing", "1", "", "\n", task]) {
        await expect(theirs.getTask(id)).rejects.toMatchObject(refused);
        await expect(theirs.getTaskResult(id, CallToolResultSchema)).rejects.toMatchObject(refused);
        await expect(theirs.cancelTask(id)).rejects.toMatchObject(refused);
      }
      await other.close();
    }
    await expect(tasks.cancelTask(task)).rejects.toMatchObject({
      message: expect.stringContaining("terminal") as unknown,
    });
    await alice.close();
    await world.gateway.runtime.flushRecords();
    const records = await world.gateway.records();
    const outcomes = (method: string): readonly unknown[] => {
      const ids = records.filter((each) => each["mcp-method"] === method && each["allow"] === true);
      return ids.map(({ "request-id": id }) => {
        const outcome = records.find((each) => each["message"] === "request outcome" && each["request-id"] === id);
        return outcome && (outcome["succeeded"] ?? "unknown");
      });
    };
    expect([...new Set(outcomes("tools/call"))]).toEqual(["unknown"]);
    expect([...new Set(outcomes("tasks/result"))]).toEqual([true]);
    expect(records.filter((each) => String(each["allow-why-false"]).includes("mcp-task-unknown"))).toHaveLength(45);
  });

  test("the result of a task passes the guardrail of its route, whose IDs are those of the client", async () => {
    const client = await connect("/again/v1", "alice");
    const { tasks } = client.experimental;
    let task = "";
    const stream = tasks.callToolStream({ name: "build", arguments: {} }, undefined, { task: {} });
    for await (const message of stream) {
      if (message.type === "taskCreated") task = message.task.taskId;
      else if (message.type === "result") expect(message.result).toMatchObject({ content: [{ text: "checked" }] });
      else if (message.type === "error") throw message.error;
    }
    expect(await tasks.getTask(task)).toMatchObject({ taskId: task, status: "completed" });
    expect(await tasks.getTaskResult(task, CallToolResultSchema)).toMatchObject({ content: [{ text: "checked" }] });
    const methods = new Set(
      hook.requests.map(({ body }) => (JSON.parse(body.toString()) as { method: string }).method),
    );
    expect([...methods].toSorted()).toEqual(["tasks/get", "tasks/result", "tools/call"]);
    expect(hook.received).toContain(task);
    await client.close();
  });

  test("lists of tasks are neither shown nor advertised", async () => {
    const alice = await connect("/v1/v1", "alice");
    expect(alice.getServerCapabilities()?.tasks).toEqual({ cancel: {}, requests: { tools: { call: {} } } });
    await expect(alice.experimental.tasks.listTasks()).rejects.toThrow(/list/);
    const answer = await send("/v1/v1", "alice", "tasks/list", {});
    expect(answer).toMatchObject({ error: { code: -32601, data: { reason: "mcp-task-list-not-served" } } });
    await alice.close();
  });

  test("a user without access to its tool has no access to a task", async () => {
    const alice = await connect("/v1/v1", "alice");
    const { tasks } = alice.experimental;
    const task = await build(alice);
    await world.reconfigure(routes(server.origin, "build"));
    await expect(tasks.getTask(task)).rejects.toMatchObject({ code: -32602 });
    await expect(tasks.getTaskResult(task, CallToolResultSchema)).rejects.toMatchObject({ code: -32602 });
    await world.reconfigure(routes(server.origin));
    expect(await tasks.getTask(task)).toMatchObject({ taskId: task });
    await alice.close();
  });
});

/** One message, as a client of either era sends it. */
async function send(
  path: string,
  who: Who,
  method: string,
  params: Readonly<Record<string, unknown>>,
): Promise<unknown> {
  const isModern = path === "/v2/v2";
  const name = params["taskId"] ?? params["name"];
  const modern = {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(typeof name === "string" && { "mcp-name": name }),
  };
  const response = await fetch(world.gateway.origin + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${tokens[path]?.[who]}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(isModern && modern),
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params: isModern ? { _meta: META, ...params } : params }),
  });
  const text = await response.text();
  if (response.headers.get("content-type")?.includes("event-stream") !== true) return JSON.parse(text) as unknown;
  const events = text.split("\n").filter((line) => line.startsWith("data: "));
  return events.length === 1
    ? (JSON.parse(events[0]?.slice(6) ?? "") as unknown)
    : events.map((line) => JSON.parse(line.slice(6)) as unknown);
}

const META = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};

describe("2026-07-28, the tasks extension", () => {
  const make = async (): Promise<string> => {
    const made = await send("/v2/v2", "alice", "tools/call", { name: "build" });
    expect(made).toMatchObject({ result: { resultType: "task", status: "working", pollIntervalMs: 10 } });
    return (made as { result: { taskId: string } }).result.taskId;
  };

  test("the upstream gets its own id, in the message and in the header that repeats it", async () => {
    const task = await make();
    expect(task).toBe(await make());
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      expect(await send("/v2/v2", "alice", method, { taskId: task })).toMatchObject({ result: { taskId: task } });
      const { body, name } = server.seen.at(-1) ?? expect.fail("nothing was sent");
      expect(body.params["taskId"]).toBe(ODD_ID);
      expect(name).toBe(`=?base64?${Buffer.from(ODD_ID).toString("base64")}?=`);
    }
    const before = server.seen.length;
    for (const id of [task, ODD_ID.replace("â", "a"), "1"]) {
      expect(await send("/v2/v2", "bob", "tasks/get", { taskId: id })).toMatchObject({ error: { code: -32602 } });
    }
    // A method of an earlier revision: the upstream that knows it gets no request, regardless of the task's user.
    for (const id of [task, "1"]) {
      expect(await send("/v2/v2", "alice", "tasks/result", { taskId: id })).toMatchObject({ error: { code: -32601 } });
    }
    expect(server.seen.length).toBe(before);
  });

  test("a client that does not declare the extension gets the error of the specification, whosever the task is", async () => {
    const task = await make();
    const before = server.seen.length;
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      for (const id of [task, "1"]) {
        const _meta = { ...META, "io.modelcontextprotocol/clientCapabilities": { extensions: {} } };
        expect(await send("/v2/v2", "alice", method, { taskId: id, _meta })).toMatchObject({
          error: {
            code: -32021,
            data: { requiredCapabilities: { extensions: { "io.modelcontextprotocol/tasks": {} } } },
          },
        });
      }
    }
    expect(server.seen.length).toBe(before);
  });

  test("a listener gets only its own tasks, by the client's id", async () => {
    const task = await make();
    const listen = (who: Who): Promise<unknown> =>
      send("/v2/v2", who, "subscriptions/listen", { notifications: { taskIds: [task, "1"] } });
    expect(await listen("alice")).toMatchObject([
      { params: { notifications: { taskIds: [task] } } },
      { method: "notifications/tasks", params: { taskId: task, status: "completed" } },
      { id: 7, result: {} },
    ]);
    expect(server.seen.at(-1)?.body.params["notifications"]).toEqual({ taskIds: [ODD_ID] });
    await listen("bob");
    expect(server.seen.at(-1)?.body.params["notifications"]).toEqual({ taskIds: [] });
  });

  test("a restarted process knows it", async () => {
    const task = await make();
    const { port } = world.gateway;
    await world.gateway.close();
    const yaml = world.withProvider(routes(server.origin));
    const again = await startGateway({ yaml, port, boot: { storage_url: `sqlite:${directory}/gateway.db` } });
    try {
      expect(await send("/v2/v2", "alice", "tasks/get", { taskId: task })).toMatchObject({ result: { taskId: task } });
      expect(await send("/v2/v2", "bob", "tasks/get", { taskId: task })).toMatchObject({ error: { code: -32602 } });
    } finally {
      await again.close();
    }
  });
});
