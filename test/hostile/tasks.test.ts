/** Upstreams that hide tasks, and answers of any size: nothing breaks, and no id opens that was not sealed. */
import { afterAll, beforeAll, expect, test } from "vitest";

import { createSend } from "../support/browser.ts";
import { type HostileServer, startHostileServer } from "../support/hostile-server.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";

let upstream: HostileServer;
let pipeline: Pipeline;
beforeAll(async () => {
  upstream = await startHostileServer();
  pipeline = await startPipeline(`runtime_flags: { mcp: true }
routes: [{ name: app, from: https://app.example, to: "${upstream.origin}", policy: [{ allow: { and: [{ authenticated_user: true }] } }], mcp: { server: {} } }]`);
});
afterAll(async () => {
  await pipeline.close();
  await upstream.close();
});

async function ask(body: object | undefined, user = "alice"): Promise<string> {
  const headers = { authorization: `Bearer gwt_${user}`, "content-type": "application/json" };
  const text = body && JSON.stringify({ jsonrpc: "2.0", id: 1, ...body });
  const send = createSend({ via: pipeline.port });
  return (
    await send({ method: body ? "POST" : "GET", url: "https://app.example/", headers, ...(text && { body: text }) })
  ).text;
}

const CALL = { method: "tools/call", params: { name: "x", task: {} } };
const answering = (type: string, text: string) =>
  upstream.answer((_request, response) => void response.writeHead(200, { "content-type": type }).end(text));

test.each<[string, string, string]>([
  ["no JSON", "application/json", '{"result":{"task":{"taskId":"1"}}'],
  ["an escaped name", "application/json", '{"id":1,"result":{"task":{"task\\u0049d":"1"}}}'],
  ["another type", "text/plain", '{"id":1,"result":{"task":{"taskId":"1"}}}'],
  ["more than a MiB", "application/json", `{"id":1,"result":{"task":{"taskId":"1"},"x":"${"x".repeat(2 ** 20)}"}}`],
  ["nothing", "application/json", ""],
])("an unreadable response passes unchanged (%s), and its id is invalid", async (_name, type, text) => {
  answering(type, text);
  expect((await ask(CALL)) === text).toBe(true);
  const before = upstream.seen.length;
  expect(JSON.parse(await ask({ method: "tasks/get", params: { taskId: "1" } }))).toMatchObject({
    error: { code: -32602 },
  });
  expect(upstream.seen.length).toBe(before);
});

test("events of any size pass in a stream, those that name tasks sealed up to a MiB", async () => {
  const status = (id: string, more = ""): string =>
    JSON.stringify({ jsonrpc: "2.0", method: "notifications/tasks/status", params: { taskId: id, more } });
  const large = status("2", "x".repeat(2 ** 21));
  const events = [
    ": hello\n\n",
    `event: message\nid: 7\ndata: ${status("1")}\n\n`,
    `data: ${large}\n\n`,
    "data: {}\n\n",
  ];
  answering("text/event-stream", events.join(""));
  const body = await ask(undefined);
  const lines = body.split("\n");
  expect(lines.slice(0, 4)).toEqual([": hello", "", "event: message", "id: 7"]);
  const sealed = JSON.parse(lines[4]?.slice(6) ?? "") as { params: { taskId: string } };
  expect(sealed.params.taskId.length).toBeGreaterThan(40);
  expect(lines.at(-5) === `data: ${large}`).toBe(true);
  expect(lines.slice(-4)).toEqual(["", "data: {}", "", ""]);
  // The user of the stream can query the task.
  answering("application/json", "{}");
  await ask({ method: "tasks/get", params: { taskId: sealed.params.taskId } });
  expect(JSON.parse(upstream.seen.at(-1)?.body ?? "")).toMatchObject({ params: { taskId: "1" } });
  const bobs = await ask({ method: "tasks/get", params: { taskId: sealed.params.taskId } }, "bob");
  expect(JSON.parse(bobs)).toMatchObject({ error: { code: -32602, data: { reason: "mcp-task-unknown" } } });
});

test("thousands of tasks use no memory here, and each has one id", async () => {
  const tasks = Array.from(
    { length: 2_000 },
    (_, id) => `data: {"method":"notifications/tasks","params":{"taskId":"${id}"}}\n\n`,
  );
  answering("text/event-stream", tasks.join(""));
  const bodies = [await ask(undefined), await ask(undefined)];
  expect(bodies[0] === bodies[1]).toBe(true);
  expect(new Set(bodies[0]?.match(/"taskId":"[^"]+"/g)).size).toBe(2_000);
});

test("a stream about unrequested tasks gives no user access to them", async () => {
  answering("application/json", '{"jsonrpc":"2.0","id":1,"result":{"task":{"taskId":"own"}}}');
  const made = JSON.parse(await ask(CALL)) as { result: { task: { taskId: string } } };
  const { taskId } = made.result.task;
  const status = (id: string): string => `data: {"method":"notifications/tasks","params":{"taskId":"${id}"}}\n\n`;
  answering("text/event-stream", status("own") + status("bobs"));
  const body = await ask({ method: "subscriptions/listen", params: { notifications: { taskIds: [taskId] } } });
  expect(body.match(/"taskId":"[^"]+"/g)).toEqual([`"taskId":"${taskId}"`, '"taskId":"bobs"']);
  expect(await ask({ method: "tasks/get", params: { taskId: "bobs" } })).toContain("mcp-task-unknown");
});
