/** Sealed ids of tasks: whose they are, and where they stand in messages. */
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { createKeys } from "../../../../runtime/shared/keys.ts";
import { sealTasks, withoutTaskList } from "../../../../runtime/mcp/tasks/task-answers.ts";
import { createTaskIds } from "../../../../runtime/mcp/tasks/task-ids.ts";
import { mayMakeTask, mayNameTask, openListened, openTasks } from "../../../../runtime/mcp/tasks/task-requests.ts";
import { modernHeaders, modernMeta, readMessage, toolCallBody } from "../../../support/mcp.ts";

const secret = Buffer.alloc(32, 1);
const ids = createTaskIds({ keys: createKeys([secret]) });
const binding = { userId: "user-1", clientId: "client-1", route: "acme/github" };
const RELATED = "io.modelcontextprotocol/related-task";

describe("createTaskIds()", () => {
  test.each(["1", "task é \u{1f600} \n \"'\\", "x".repeat(1024), "=?base64?eA==?="])(
    "seals %j into one visible name, the same on every replica, which opens for its caller alone",
    (id) => {
      const sealed = ids.seal({ id, tool: "build" }, binding) ?? "";
      expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/);
      expect(createTaskIds({ keys: createKeys([secret]) }).seal({ id, tool: "build" }, binding)).toBe(sealed);
      expect(ids.open(sealed, binding)).toEqual({ id, tool: "build" });
      const rotated = createTaskIds({ keys: createKeys([Buffer.alloc(32, 2), secret]) });
      expect(rotated.open(sealed, binding)?.id).toBe(id);
      for (const other of [
        { userId: "user-2" },
        { clientId: "client-2" },
        { clientId: "" },
        { route: "acme/gitlab" },
      ]) {
        expect(ids.open(sealed, { ...binding, ...other })).toBeUndefined();
        expect(ids.seal({ id, tool: "build" }, { ...binding, ...other })).not.toBe(sealed);
      }
      expect(ids.seal({ id, tool: "other" }, binding)).not.toBe(sealed);
    },
  );

  test("rejects an ID that is empty, too long or not text", () => {
    for (const id of ["", "x".repeat(1025), "\ud800"]) expect(ids.seal({ id, tool: "" }, binding)).toBeUndefined();
  });

  test("whatever a client sends: nothing opens, nothing throws", () => {
    fc.assert(fc.property(fc.string(), (text) => ids.open(text, binding) === undefined));
    const session = createKeys([secret])
      .sealer("mcp-session")
      .seal('["1",""]', JSON.stringify(Object.values(binding)));
    expect(ids.open(session, binding)).toBeUndefined();
  });
});

const open = (sealed: string) => (sealed.startsWith("S") ? { id: sealed.slice(1), tool: "" } : undefined);

function read(body: object, headers?: readonly string[]) {
  const message = readMessage({ jsonrpc: "2.0", ...body }, headers);
  if (!message.ok) throw new Error(message.reason);
  return message;
}

function opened(body: object): unknown {
  const message = read(body);
  if (!mayNameTask(message)) return "not read";
  const result = openTasks(message, open);
  return result === "unknown" ? result : (JSON.parse(result.bytes.toString()) as unknown);
}

describe("openTasks()", () => {
  test.each(["tasks/get", "tasks/result", "tasks/cancel", "tasks/update", "tasks/of-tomorrow", "Tasks/Of-Tomorrow"])(
    "%s goes upstream with its own id, and not with any other",
    (method) => {
      const body = (taskId: unknown) => ({ id: 1, method, params: { n: 1.0, taskId } });
      expect(opened(body("S7"))).toMatchObject({ method, params: { n: 1, taskId: "7" } });
      for (const taskId of ["7", "", 7, null, ["S7"], undefined]) expect(opened(body(taskId))).toBe("unknown");
      // Who expects no answer gets nothing done either.
      expect(opened({ method, params: { taskId: "7" } })).toBe("unknown");
    },
  );

  test("what relates a request to a task is opened whole; servers' tasks alone may be named", () => {
    const related = (value: unknown) => ({ name: "x", _meta: { [RELATED]: value, more: 1 } });
    const call = (value: unknown) => ({ id: 1, method: "tools/call", params: related(value) });
    expect(opened(call({ taskId: "S7", TaskId: "8" }))).toMatchObject({
      params: { _meta: { [RELATED]: { taskId: "7" }, more: 1 } },
    });
    for (const value of [{ taskId: "7" }, {}, "S7", ["S7"]]) expect(opened(call(value))).toBe("unknown");
    const escaped = JSON.stringify({ jsonrpc: "2.0", ...call({ taskId: "7" }) }).replaceAll("t", "\\u0074");
    const message = readMessage(escaped);
    expect(message.ok && mayNameTask(message) && openTasks(message, open)).toBe("unknown");
    // A client has tasks of its own, about which it answers and notifies.
    const own = { id: 3, result: { _meta: { [RELATED]: { taskId: "own" } } } };
    expect(opened(own)).toMatchObject(own);
    expect(opened({ id: 3, result: { _meta: { [RELATED]: { taskId: "S7" } } } })).toMatchObject({
      result: { _meta: { [RELATED]: { taskId: "7" } } },
    });
  });

  test("a message that names none is not read, and stays byte for byte", () => {
    expect(opened({ id: 1, method: "tools/call", params: { name: "x" } })).toBe("not read");
    const message = read(toolCallBody("task", { text: "my task" }));
    const result = openTasks(message, open);
    expect(result !== "unknown" && result.bytes).toBe(message.bytes);
  });
});

describe("openListened()", () => {
  const listen = (notifications: unknown): Buffer =>
    Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params: { notifications } }));

  test("subscribes only to the caller's tasks; without any, to none", () => {
    const result = openListened(listen({ taskIds: ["S1", "2", 3, "S4"], toolsListChanged: true }), open);
    expect(result !== "unreadable" && JSON.parse(result.bytes.toString())).toMatchObject({
      params: { notifications: { taskIds: ["1", "4"], toolsListChanged: true } },
    });
    const none = listen({});
    expect(openListened(none, open)).toEqual({ bytes: none, known: new Map() });
  });

  test.each([{ TaskIds: ["1"] }, { taskIds: "S1" }, { taskIds: Array(1001).fill("S1") }])("%j is unreadable", (value) =>
    expect(openListened(listen(value), open)).toBe("unreadable"),
  );
});

describe("sealTasks()", () => {
  const seal = (id: string) => (id === "long" ? undefined : `S${id}`);
  const sealed = (message: unknown): unknown => {
    const bytes = sealTasks(Buffer.from(JSON.stringify(message)), seal);
    return bytes && (JSON.parse(bytes.toString()) as unknown);
  };

  test.each<[string, object, object]>([
    ["a task that was made, of 2025", { result: { task: { taskId: "1" } } }, { result: { task: { taskId: "S1" } } }],
    ["of 2026", { result: { resultType: "task", taskId: "1" } }, { result: { resultType: "task", taskId: "S1" } }],
    ["its state", { result: { taskId: "1", status: "working" } }, { result: { taskId: "S1", status: "working" } }],
    [
      "its result",
      { result: { content: [], _meta: { [RELATED]: { taskId: "1" } } } },
      { result: { content: [], _meta: { [RELATED]: { taskId: "S1" } } } },
    ],
    [
      "a notification",
      { method: "notifications/tasks/status", params: { taskId: "1" } },
      { method: "notifications/tasks/status", params: { taskId: "S1" } },
    ],
    [
      "a question about it",
      { id: 1, method: "elicitation/create", params: { _meta: { [RELATED]: { taskId: "1" } } } },
      { id: 1, method: "elicitation/create", params: { _meta: { [RELATED]: { taskId: "S1" } } } },
    ],
    [
      "what is listened to",
      { method: "notifications/subscriptions/acknowledged", params: { notifications: { taskIds: ["1", 2, "long"] } } },
      { method: "notifications/subscriptions/acknowledged", params: { notifications: { taskIds: ["S1", 2, "long"] } } },
    ],
    ["an error", { error: { code: 1, taskId: "1" } }, { error: { code: 1, taskId: "S1" } }],
  ])("%s", (_name, message, expected) => expect(sealed(message)).toEqual(expected));

  test.each<[string, unknown]>([
    ["no JSON", "taskId"],
    ["a server's question about a task of the client", { id: 1, method: "tasks/get", params: { taskId: "own" } }],
    ["what a tool says", { result: { content: [{ text: "taskId" }], structuredContent: { taskId: "1" } } }],
    ["an id that cannot be sealed", { result: { taskId: "long" } }],
    ["an id that is no text", { result: { taskId: 1 } }],
  ])("%s stays", (_name, message) => expect(sealed(message)).toBeUndefined());

  test("the rest stays byte for byte, also with a repeated member", () => {
    const text = '{"id":1e0, "result":{"big":9007199254740993,"taskId" : "1","n":1.0}}';
    expect(sealTasks(Buffer.from(text), seal)?.toString()).toBe(text.replace('"1"', '"S1"'));
    expect(sealTasks(Buffer.from('{"result":{"taskId":"1"},"result":{"taskId":"2"}}'), seal)).toBeDefined();
  });

  test("a list of at most as many IDs as a request may name is sealed, and a longer one is unchanged", () => {
    const message = (count: number): object => {
      const taskIds = Array.from({ length: count }, (_, id) => String(id));
      return { method: "notifications/subscriptions/acknowledged", params: { notifications: { taskIds } } };
    };
    expect(JSON.stringify(sealed(message(1_000)))).toContain('"S999"');
    expect(sealTasks(Buffer.from(JSON.stringify(message(1_001))), seal)).toBeUndefined();
  });
});

test("withoutTaskList() removes only the list from a server's capabilities", () => {
  const text = (tasks: string): Buffer => Buffer.from(`{"id":0,"result":{"capabilities":{"tasks":${tasks},"x":1.0}}}`);
  expect(withoutTaskList(text('{"list":{},"cancel":{}}'))?.toString()).toBe(text('{"cancel":{}}').toString());
  for (const bytes of [text('{"cancel":{}}'), text("true"), Buffer.from('{"tasks"'), Buffer.from("{}")])
    expect(withoutTaskList(bytes)).toBeUndefined();
});

test("mayMakeTask(): where the client accepts tasks", () => {
  const meta = {
    ...modernMeta(),
    "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
  };
  const modern = (_meta: object) =>
    read({ id: 1, method: "tools/call", params: { name: "x", _meta } }, modernHeaders("tools/call", "x"));
  expect(mayMakeTask(modern(meta))).toBe(true);
  expect(mayMakeTask(modern(modernMeta()))).toBe(false);
  expect(mayMakeTask(read({ id: 1, method: "tools/call", params: { name: "x", task: {} } }))).toBe(true);
  expect(mayMakeTask(read(toolCallBody("x")))).toBe(false);
  // Some libraries escape each slash.
  for (const others of [{}, { x: 1 }]) {
    const params = { name: "x", ...others, _meta: meta };
    const text = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const message = readMessage(text.replaceAll("/", "\\/"), modernHeaders("tools/call", "x"));
    expect(message.ok && mayMakeTask(message)).toBe(true);
  }
  // In the arguments it is the tool's matter, wherever they stand.
  const call = { name: "x", arguments: { task: "task" } };
  expect(mayMakeTask(read({ id: 1, method: "tools/call", params: call }))).toBe(false);
  expect(mayMakeTask(read({ id: 1, method: "tools/call", params: { ...call, task: {} } }))).toBe(true);
});
