/** Notifications to clients with an open stream about changes by the gateway itself, and changes without one. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";

import { NO_BLOCKS } from "../../../../runtime/identity/blocks.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { openRaw, type RawConnection } from "../../../support/raw-client.ts";
import { startScriptedUpstream, type ScriptedUpstream } from "../../../support/scripted-upstream.ts";

const DIGEST = `sha256:${"0".repeat(64)}`;
const SOON = { timeout: 10_000, interval: 20 };
const message = (uri: string): string =>
  `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"${uri}"}}`;
const updated = (uri: string): string => `id: 7\ndata: ${message(uri)}\n\n`;
const acknowledged = 'data: {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{}}\n\n';

let upstream: ScriptedUpstream;
let pipeline: Pipeline;
let blocked: string[];

const yaml = (policy: string): string => `
  runtime_flags: { mcp: true }
  routes:
    - from: https://mcp.example
      to: ${upstream.origin}
      mcp: { server: { path: /mcp, tool_lock: { tools: { read: ["${DIGEST}"] }, prompts: { greet: ["${DIGEST}"] } } } }
      policy: [{ allow: { and: [{ domain: example.com }] }${policy} }]
`;

beforeAll(async () => {
  upstream = await startScriptedUpstream();
});
afterAll(() => upstream.close());
beforeEach(async () => {
  blocked = [];
  const blocks = { ...NO_BLOCKS, hasTools: () => blocked.length > 0, blockedTools: () => blocked };
  pipeline = await startPipeline(yaml(", deny: { or: [{ mcp_resource: { starts_with: 'file:///etc/' } }] }"), {
    blocks,
  });
});
afterEach(() => pipeline.close());

/** Sends a request that is answered with events; the last one is incomplete, since additions come between events. */
async function open(first: string, body?: string): Promise<RawConnection> {
  upstream.answer((socket, request) => {
    const [, kind] = /"(tools|prompts)\/list"/.exec(String(request.body)) ?? [];
    if (kind !== undefined) {
      const name = kind === "tools" ? "read" : "greet";
      const list = `{"jsonrpc":"2.0","id":1,"result":{"${kind}":[{"name":"${name}","description":"other"}]}}`;
      socket.write(
        `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${list.length}\r\n\r\n${list}`,
      );
      return;
    }
    socket.write("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n");
    socket.write(`${first}data: {"jsonrpc":"2.0",`);
  });
  const connection = ask(body);
  await connection.contains(first.slice(0, 8));
  return connection;
}

function ask(body?: string): RawConnection {
  const head = `Host: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nAccept: application/json, text/event-stream\r\n`;
  const message = body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  const method = body === undefined ? "GET" : "POST";
  return openRaw(pipeline.port, `${method} /mcp HTTP/1.1\r\n${head}${message}\r\n${body ?? ""}`);
}

const changed = (list: string): string => `"method":"notifications/${list}/list_changed"`;
const times = (connection: RawConnection, list: string): number => connection.text.split(changed(list)).length - 1;
const listen = (notifications: string): string =>
  `{"jsonrpc":"2.0","id":"s1","method":"subscriptions/listen","params":{"notifications":${notifications}}}`;

test("a stream that is opened by GET hears of tools that drift, blocks that come and go, and other rules", async () => {
  const stream = await open(": hello\n\n");
  await ask('{"jsonrpc":"2.0","id":1,"method":"tools/list"}').contains('"tools":[]');
  await vi.waitFor(() => expect(times(stream, "tools")).toBe(1), SOON);
  blocked = ["read"];
  await vi.waitFor(() => expect(times(stream, "tools")).toBe(2), SOON);
  blocked = [];
  await vi.waitFor(() => expect(times(stream, "tools")).toBe(3), SOON);
  expect(times(stream, "prompts")).toBe(0);
  await ask('{"jsonrpc":"2.0","id":1,"method":"prompts/list"}').contains('"prompts":[]');
  await vi.waitFor(() => expect([times(stream, "tools"), times(stream, "prompts")]).toEqual([3, 1]), SOON);
  pipeline.swap(yaml(""));
  await vi.waitFor(() => expect([times(stream, "tools"), times(stream, "prompts")]).toEqual([4, 2]), SOON);
  expect(stream.text).toContain(
    'event: message\ndata: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n',
  );
  stream.socket.destroy();
});

test("a subscription hears of the lists that it has named, by its id, once it is acknowledged", async () => {
  const stream = await open(acknowledged, listen('{"toolsListChanged":true}'));
  const silent = await open(": hello\n\n", listen('{"toolsListChanged":true}'));
  const other = await open(acknowledged, listen('{"promptsListChanged":true}'));
  blocked = ["read"];
  await stream.contains(`${changed("tools")},"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s1"}}}`);
  pipeline.swap(yaml(""));
  await other.contains(changed("prompts"));
  expect([times(silent, "tools"), times(other, "tools"), times(stream, "prompts")]).toEqual([0, 0, 0]);
  for (const each of [stream, silent, other]) each.socket.destroy();
});

test.each([["GET"], ["a subscription"]])(
  "changes of resources that its user may not read are not told: %s",
  async (kind) => {
    const events =
      acknowledged +
      updated("file:///etc/passwd") +
      updated("FILE:///srv/../etc/x") +
      `data: [${message("file:///srv/b")},${message("file:///etc/batched")}]\n\n` +
      updated("file:///srv/a");
    const asked = kind === "GET" ? undefined : listen('{"resourceSubscriptions":["file:///srv/a"]}');
    const stream = await open(events, asked);
    await stream.contains("file:///srv/a");
    expect(stream.text).not.toContain("etc");
    stream.socket.destroy();
  },
);
