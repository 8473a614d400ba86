/**
 * An upstream with tasks, in both eras: below /v1 the SDK's server of 2025-11-25 with its own store, below /v2 the tasks
 * extension of 2026-07-28, which no SDK serves yet. It knows no users, and its ids are easily guessed.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";

export interface SeenMessage {
  readonly body: { readonly method: string; readonly params: Readonly<Record<string, unknown>> };
  readonly name: string | undefined;
  /** `traceparent`, where there is one. */
  readonly trace: string | undefined;
}

export interface TaskServer {
  readonly origin: string;
  /** Messages of 2026-07-28. */
  readonly seen: readonly SeenMessage[];
  close(): Promise<void>;
}

export async function startTaskServer(): Promise<TaskServer> {
  const seen: SeenMessage[] = [];
  let count = 0;
  const taskStore = new InMemoryTaskStore();
  Object.assign(taskStore, { generateTaskId: () => String((count += 1)) });
  const sessions = new Map<string, StreamableHTTPServerTransport>();

  const serveV1 = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let transport = sessions.get(String(request.headers["mcp-session-id"]));
    if (transport === undefined) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (id) => void sessions.set(id, made),
      });
      transport = made;
      await toolsWithTasks(taskStore).connect(made);
    }
    await transport.handleRequest(request, response);
  };

  const server = createServer((request, response) => {
    if (request.url?.startsWith("/v1") === true) {
      void serveV1(request, response);
      return;
    }
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as SeenMessage["body"] & { readonly id: unknown };
      seen.push({
        body,
        name: request.headers["mcp-name"] as string | undefined,
        trace: request.headers["traceparent"] as string | undefined,
      });
      answerV2(body, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    async close() {
      taskStore.cleanup();
      for (const transport of sessions.values()) await transport.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function toolsWithTasks(taskStore: InMemoryTaskStore): McpServer {
  const tasks = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
  const server = new McpServer({ name: "tasks", version: "1" }, { capabilities: { tasks }, taskStore });
  const handlers = {
    async createTask(extra: { readonly taskStore: { createTask(options: object): Promise<{ taskId: string }> } }) {
      const task = await extra.taskStore.createTask({});
      await taskStore.storeTaskResult(task.taskId, "completed", { content: [{ type: "text", text: "built" }] });
      return { task };
    },
    getTask: (extra: { readonly taskId: string }) => taskStore.getTask(extra.taskId),
    getTaskResult: (extra: { readonly taskId: string }) => taskStore.getTaskResult(extra.taskId),
  };
  for (const name of ["build", "publish"]) {
    server.experimental.tasks.registerToolTask(name, { description: name }, handlers as never);
  }
  return server;
}

/** An id that must travel coded in a header. */
export const ODD_ID = 'tâche "1"';

function answerV2(
  { id, method, params }: SeenMessage["body"] & { readonly id: unknown },
  response: ServerResponse,
): void {
  const task = { taskId: ODD_ID, status: "working", ttlMs: 60_000, pollIntervalMs: 10 };
  if (method === "subscriptions/listen") {
    const about = { _meta: { "io.modelcontextprotocol/subscriptionId": id } };
    const { notifications } = params;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [name, more] of [
      ["notifications/subscriptions/acknowledged", { notifications }],
      ["notifications/tasks", { ...task, status: "completed" }],
    ] as const) {
      const event = { jsonrpc: "2.0", method: name, params: { ...about, ...more } };
      response.write(`event: message\r\ndata: ${JSON.stringify(event)}\r\n\r\n`);
    }
    return void response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result: {} })}\n\n`);
  }
  const result =
    method === "tools/call"
      ? { resultType: "task", ...task }
      : { ...task, taskId: params["taskId"], status: "completed", result: { content: [] } };
  response.writeHead(200, { "content-type": "application/json" });
  return void response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
}
