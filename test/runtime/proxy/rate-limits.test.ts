/** `rate_limits` of routes on the wire: answers of each kind, records, and slots that end with their requests. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { RateLimits } from "../../../runtime/limits/rate-limits.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import { createTestClock } from "../../support/clock.ts";
import { snapshotFrom } from "../../support/config.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { openRaw, sendRaw, type RawAnswer } from "../../support/raw-client.ts";
import { createBreakableStore, type BreakableStore } from "../../support/store.ts";
import { startVictim, type Victim } from "../../support/victim.ts";
import { startWebSocketUpstream } from "../../support/websocket-upstream.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

let victim: Victim;
let pipeline: Pipeline;
let breakable: BreakableStore;
/** Answers that wait for the test. */
let held: (() => void)[] = [];

beforeEach(async () => {
  held = [];
  victim = await startVictim(({ line }, socket) => {
    const answer = (): void => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");
    if (line.includes("/slow")) held.push(answer);
    else answer();
  });
  const sockets = await startWebSocketUpstream();
  const yaml = `
    runtime_flags: { mcp: true }
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ email: alice@example.com }] } }]
        rate_limits:
          - { name: per-user, per: [user], requests: 3 }
          - { name: at-once, concurrency: 2, without_store: refuse }
      - from: https://slots.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ authenticated_user: true }] } }]
        rate_limits: [{ name: at-once, concurrency: 1 }]
      - from: https://ws.example
        to: ${sockets.origin}
        allow_websockets: true
        policy: [{ allow: { and: [{ authenticated_user: true }] } }]
        rate_limits: [{ name: at-once, per: [user], concurrency: 1 }]
      - from: https://mcp.example
        to: ${victim.origin}
        mcp: { server: {} }
        policy:
          - allow: { and: [{ authenticated_user: true }] }
          - deny: { or: [{ mcp_tool: delete_all }] }
        rate_limits:
          - { name: searches, per: [user, tool], tools: [search, delete_all], requests: 1, window: 1m }
          - { name: all, requests: 6, window: 1h, without_store: refuse }
    `;
  const clock = createTestClock();
  breakable = createBreakableStore(clock, createMemoryStore({ clock }));
  const snapshots = { current: () => snapshotFrom(yaml), subscribe: () => () => {} };
  const deps = { store: breakable.store, snapshots, clock, log: silentLog(), countProcesses: async () => 1 };
  const limits = new RateLimits(deps);
  pipeline = await startPipeline(yaml, { limits });
  open.push(victim, sockets, limits, { close: () => pipeline.close({ timeoutMs: 100 }) });
});

const get = (host: string, path: string, user: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}.example\r\nConnection: close\r\nCookie: gateway_session=${user}\r\n\r\n`;

const post = (message: object, user = "alice"): Promise<RawAnswer> => {
  const body = JSON.stringify({ jsonrpc: "2.0", ...message });
  return sendRaw(
    pipeline.port,
    [
      "POST / HTTP/1.1",
      "Host: mcp.example",
      "Connection: close",
      `Authorization: Bearer gwt_${user}`,
      "Accept: application/json, text/event-stream",
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "",
      body,
    ].join("\r\n"),
  );
};
const call = (name: string): object => ({ id: 7, method: "tools/call", params: { name, arguments: {} } });

describe("ordinary routes", () => {
  test("answer 429 with the fields of the draft and a code; a denied request costs nothing, and the record names the limit", async () => {
    for (let times = 0; times < 5; times += 1)
      expect((await sendRaw(pipeline.port, get("app", "/", "bob"))).status).toBe(403);
    for (let times = 0; times < 3; times += 1)
      expect((await sendRaw(pipeline.port, get("app", "/", "alice"))).status).toBe(200);
    const refused = await sendRaw(pipeline.port, get("app", "/", "alice"));
    expect(refused.status).toBe(429);
    expect(refused.headers.get("ratelimit-policy")).toEqual(['"per-user";q=3;w=60, "at-once";q=2;qu="concurrency"']);
    expect(refused.headers.get("ratelimit")).toEqual(['"per-user";r=0;t=60']);
    expect(refused.headers.get("retry-after")).toEqual(["60"]);
    expect(JSON.parse(refused.body)).toMatchObject({
      error: "limits.exceeded",
      message: 'Too many requests: the limit "per-user" of this address is used up, try again in 60 s',
    });
    expect(victim.requests).toHaveLength(3);
    expect(pipeline.records.at(-1)).toMatchObject({
      allow: true,
      limited: { limit: "per-user", "retry-after-ms": 60_001 },
    });
    expect(pipeline.records.filter((record) => "limited" in record)).toHaveLength(1);
  });

  test("a slot is used while a request is in flight, and free after its response or when the client leaves", async () => {
    const first = openRaw(pipeline.port, get("slots", "/slow", "alice"));
    open.push({ close: () => first.socket.destroy() });
    await expect.poll(() => held.length).toBe(1);
    const refused = await sendRaw(pipeline.port, get("slots", "/", "alice"));
    expect([refused.status, refused.headers.get("ratelimit")]).toEqual([429, ['"at-once";r=0']]);
    held[0]?.();
    await first.contains("ok");
    const statusNow = async (): Promise<number> => (await sendRaw(pipeline.port, get("slots", "/", "alice"))).status;
    await expect.poll(statusNow).toBe(200);

    const left = openRaw(pipeline.port, get("slots", "/slow", "bob"));
    await expect.poll(() => held.length).toBe(2);
    expect(await statusNow()).toBe(429);
    left.socket.destroy();
    await expect.poll(statusNow).toBe(200);
  });

  test("a WebSocket connection holds its slot until it closes", async () => {
    const handshake = [
      "GET /ws HTTP/1.1",
      "Host: ws.example",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
      "Sec-WebSocket-Version: 13",
      "Cookie: gateway_session=alice",
      "",
      "",
    ].join("\r\n");
    const first = openRaw(pipeline.port, handshake);
    await first.contains("101 Switching");
    expect((await sendRaw(pipeline.port, handshake)).status).toBe(429);
    first.socket.destroy();
    const again = async (): Promise<string> => {
      const next = openRaw(pipeline.port, handshake);
      open.push({ close: () => next.socket.destroy() });
      await next.contains("HTTP/1.1 ");
      return next.text;
    };
    await expect.poll(again).toContain("101");
  });

  test("a limit that needs the store responds 503 while the store is unavailable", async () => {
    breakable.broken = true;
    const refused = await sendRaw(pipeline.port, get("app", "/", "alice"));
    expect(refused.status).toBe(503);
    expect(refused.headers.get("retry-after")).toEqual(["5"]);
    expect(JSON.parse(refused.body)).toMatchObject({ error: "limits.unavailable" });
    expect(pipeline.records.at(-1)).toMatchObject({ allow: true, limited: { limit: "at-once" } });
    expect(victim.requests).toHaveLength(0);
  });
});

describe("MCP server routes", () => {
  test("a tool call over its limit is a JSON-RPC error, and other messages are 429", async () => {
    expect((await post(call("search"))).status).toBe(200);
    const refused = await post(call("search"));
    expect(refused.status).toBe(200);
    expect(refused.headers.get("retry-after")).toEqual(["60"]);
    expect(refused.headers.get("ratelimit-policy")).toEqual(['"searches";q=1;w=60, "all";q=6;w=3600']);
    expect(JSON.parse(refused.body)).toMatchObject({
      id: 7,
      error: { code: -31429, data: { reason: "rate-limited", limit: "searches", retry_after_ms: 60_001 } },
    });
    // Policy says no: the limit of that tool is not touched, and the answer is a denial.
    for (let times = 0; times < 2; times += 1)
      expect(JSON.parse((await post(call("delete_all"))).body)).toMatchObject({ error: { code: -31403 } });
    expect((await post(call("search"), "bob")).status).toBe(200);
    for (let times = 0; times < 4; times += 1) expect((await post({ id: 1, method: "ping" })).status).toBe(200);
    const list = await post({ id: 1, method: "ping" });
    expect(list.status).toBe(429);
    expect(JSON.parse(list.body)).toMatchObject({ id: 1, error: { code: -31429, data: { limit: "all" } } });
    expect((await post({ method: "notifications/initialized" })).status).toBe(429);
    expect(victim.requests).toHaveLength(6);
  });

  test("a name that an upstream might fold into a limited tool's is refused", async () => {
    const answer = await post(call("search "));
    expect(answer.status).toBe(400);
    expect(victim.requests).toHaveLength(0);
  });
});
