/** Streams of one user, WebSocket connections among an upstream's limits, and requests that come back to the gateway. */
import { createServer } from "node:http";
import { connect, createServer as createTcpServer, type AddressInfo } from "node:net";

import { afterEach, describe, expect, test } from "vitest";

import { createKeys } from "../../../runtime/shared/keys.ts";
import { createHopCounter, RequestLoop } from "../../../runtime/proxy/forwarding/hop-count.ts";
import { HOP_COUNT_HEADER } from "../../../runtime/shared/http/header-traits.ts";
import { POLL_MS } from "../../support/limits.ts";
import { startPipeline, type Pipeline, type PipelineOptions } from "../../support/pipeline.ts";
import { openRaw, sendRaw, type RawConnection } from "../../support/raw-client.ts";
import { startVictim } from "../../support/victim.ts";
import { startWebSocketUpstream } from "../../support/websocket-upstream.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function pipeline(yaml: string, options: PipelineOptions = {}): Promise<Pipeline> {
  const started = await startPipeline(yaml, options);
  open.push({ close: () => started.close({ timeoutMs: 100 }) });
  return started;
}

/** Streams events to every caller. */
async function eventUpstream(): Promise<{ readonly origin: string; readonly asked: () => number }> {
  let asked = 0;
  const server = createServer((_request, response) => {
    asked += 1;
    response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => server.close() }, { close: () => server.closeAllConnections() });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked: () => asked };
}

const events = (user: string, method = "GET"): string =>
  `${method} / HTTP/1.1\r\nHost: app.example\r\nAccept: text/event-stream\r\nCookie: gateway_session=${user}\r\nContent-Length: 0\r\n\r\n`;
const handshake = (user: string, ...more: readonly string[]): string =>
  [
    "GET /ws HTTP/1.1",
    "Host: app.example",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
    `Cookie: gateway_session=${user}`,
    ...more,
    "",
    "",
  ].join("\r\n");

function client(proxy: Pipeline, bytes: string): RawConnection {
  const opened = openRaw(proxy.port, bytes);
  open.push({ close: () => opened.socket.destroy() });
  return opened;
}

describe("max_streams_per_user", () => {
  const yaml = (to: string, ws: string): string => `
max_streams_per_user: 2
routes:
  - { name: app, from: https://app.example, to: "${to}", policy: [{ allow: { and: [{ authenticated_user: true }] } }] }
  - { name: ws, from: https://app.example, prefix: /ws, to: "${ws}", allow_websockets: true, policy: [{ allow: { and: [{ authenticated_user: true }] } }] }`;

  test("event streams and WebSocket connections of one user count together; more are 429, of others not", async () => {
    const upstream = await eventUpstream();
    const sockets = await startWebSocketUpstream();
    open.push(sockets);
    const proxy = await pipeline(yaml(upstream.origin, sockets.origin));
    const first = client(proxy, events("alice"));
    await first.contains("data: 1");
    const second = client(proxy, handshake("alice"));
    await second.contains("101 Switching");

    for (const bytes of [events("alice"), handshake("alice")]) {
      const refused = await sendRaw(proxy.port, bytes);
      expect(refused.status).toBe(429);
      expect(refused.headers.get("retry-after")).toEqual(["10"]);
      expect(refused.body).toContain("streams.too-many");
    }
    // The upstream did not even hear of the handshake.
    expect(sockets.handshakes).toHaveLength(1);
    await client(proxy, events("bob")).contains("data: 1");
    // A response to a POST ends normally; a tool call in progress is not aborted.
    await client(proxy, events("alice", "POST")).contains("data: 1");

    second.socket.destroy();
    await expect.poll(() => sockets.open.size).toBe(0);
    await expect.poll(async () => (await sendRaw(proxy.port, handshake("alice"))).status).toBe(101);
  });

  test("a hundred handshakes at once open no more than that", async () => {
    const sockets = await startWebSocketUpstream();
    open.push(sockets);
    const proxy = await pipeline(yaml(sockets.origin, sockets.origin));
    const all = Array.from({ length: 100 }, () => client(proxy, handshake("alice")));
    await expect.poll(() => all.filter(({ text }) => text.startsWith("HTTP/1.1 429")).length).toBe(98);
    await expect.poll(() => all.filter(({ text }) => text.startsWith("HTTP/1.1 101")).length).toBe(2);
    await expect.poll(() => sockets.open.size).toBe(2);
    expect(proxy.proxy.streams.size).toBe(2);
  });

  test("leaves nothing counted when streams end", async () => {
    const upstream = await eventUpstream();
    const proxy = await pipeline(yaml(upstream.origin, upstream.origin));
    for (let round = 0; round < 5; round += 1) {
      const clients = [client(proxy, events("alice")), client(proxy, events("alice"))];
      for (const each of clients) await each.contains("data: 1");
      for (const each of clients) each.socket.destroy();
      await expect.poll(() => proxy.proxy.streams.size).toBe(0);
    }
    expect(upstream.asked()).toBe(10);
  });
});

describe("WebSocket connections", () => {
  const yaml = (to: string, more: string): string =>
    `routes: [{ name: app, from: https://app.example, to: "${to}", allow_websockets: true, policy: [{ allow: { and: [{ accept: true }] } }], ${more} }]`;

  test("are requests of circuit_breaker_thresholds, and give their place back", async () => {
    const sockets = await startWebSocketUpstream();
    open.push(sockets);
    const proxy = await pipeline(yaml(sockets.origin, "circuit_breaker_thresholds: { max_requests: 1 }"));
    const first = client(proxy, handshake("alice"));
    await first.contains("101 Switching");
    expect((await sendRaw(proxy.port, handshake("alice"))).status).toBe(503);
    expect((await sendRaw(proxy.port, "GET / HTTP/1.1\r\nHost: app.example\r\n\r\n")).status).toBe(503);
    first.socket.destroy();
    await expect
      .poll(async () => (await sendRaw(proxy.port, "GET / HTTP/1.1\r\nHost: app.example\r\n\r\n")).status)
      .toBe(200);
  });

  test("end after idle_timeout of silence, in whichever direction the last message went", async () => {
    const sockets = await startWebSocketUpstream();
    open.push(sockets);
    const proxy = await pipeline(yaml(sockets.origin, 'idle_timeout: "400ms"'));
    /** Longer than idle_timeout in all, with pauses that are shorter. @returns whether this machine kept to them */
    const talk = async (tunnel: RawConnection): Promise<boolean> => {
      for (let message = 0; message < 4; message += 1) {
        const since = performance.now();
        tunnel.socket.write(`message ${message}`);
        await tunnel.contains(`message ${message}`).catch(() => {});
        await new Promise((resolve) => setTimeout(resolve, 150));
        if (performance.now() - since > 300) return false;
      }
      return true;
    };
    let tunnel: RawConnection;
    do {
      tunnel = client(proxy, handshake("alice"));
      await tunnel.contains("101 Switching");
    } while (!(await talk(tunnel)));
    expect(tunnel.socket.destroyed).toBe(false);
    const silentSince = performance.now();
    await tunnel.closed;
    expect(performance.now() - silentSince).toBeGreaterThan(150);
    await sockets.allClosed();
  });

  test("refused for their Origin or their route leave a record", async () => {
    const sockets = await startWebSocketUpstream();
    open.push(sockets);
    const proxy = await pipeline(
      `routes:
  - { name: app, from: https://app.example, to: "${sockets.origin}", allow_websockets: true, policy: [{ allow: { and: [{ accept: true }] } }] }
  - { name: plain, from: https://plain.example, to: "${sockets.origin}", policy: [{ allow: { and: [{ accept: true }] } }] }`,
    );
    expect((await sendRaw(proxy.port, handshake("alice", "Origin: https://evil.example"))).status).toBe(403);
    expect((await sendRaw(proxy.port, handshake("alice").replace("app.example", "plain.example"))).status).toBe(403);
    expect(proxy.records).toMatchObject([
      { allow: false, "allow-why-false": ["origin-not-allowed"] },
      { allow: false, "allow-why-false": ["websocket-not-allowed"] },
    ]);
    expect(sockets.handshakes).toEqual([]);
  });
});

describe("a request that comes back", () => {
  /** Forwards bytes to a settable port: an upstream without its own server. */
  async function relay(): Promise<{ readonly origin: string; port: number }> {
    const it = { origin: "", port: 0 };
    const server = createTcpServer((socket) => {
      const onward = connect(it.port, "127.0.0.1");
      for (const each of [socket, onward]) each.on("error", () => {});
      socket.on("close", () => onward.destroy());
      onward.on("close", () => socket.destroy());
      socket.pipe(onward).pipe(socket);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    open.push({ close: () => server.close() });
    it.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return it;
  }
  const yaml = (to: string): string =>
    `routes: [{ name: app, from: https://app.example, to: "${to}", preserve_host_header: true, allow_websockets: true, policy: [{ allow: { and: [{ accept: true }] } }] }]`;
  const GET = "GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n";

  test("gets 508 after a few times, also for WebSocket", async () => {
    const back = await relay();
    const proxy = await pipeline(yaml(back.origin));
    back.port = proxy.port;
    const answer = await sendRaw(proxy.port, GET, POLL_MS);
    expect(answer.status).toBe(508);
    expect(answer.body).toContain("upstream.loop");
    expect(proxy.records).toHaveLength(4);
    expect((await sendRaw(proxy.port, handshake("alice"), POLL_MS)).status).toBe(508);
    expect(proxy.records).toHaveLength(8);
  });

  test("also through another gateway", async () => {
    const [back, over] = [await relay(), await relay()];
    const first = await pipeline(yaml(over.origin));
    const second = await pipeline(yaml(back.origin), { keys: createKeys([Buffer.alloc(32, 9)]) });
    over.port = second.port;
    back.port = first.port;
    expect((await sendRaw(first.port, GET, POLL_MS)).status).toBe(508);
    expect(first.records).toHaveLength(4);
    expect(second.records).toHaveLength(3);
  });

  test("a counter that a client invents is not forwarded unchanged, and affects no other client", async () => {
    const victim = await startVictim();
    open.push(victim);
    const proxy = await pipeline(yaml(victim.origin));
    const send = async (mark: string): Promise<string | undefined> => {
      const next = victim.next(victim.requests.length);
      await sendRaw(proxy.port, GET.replace("\r\n\r\n", `\r\nGateway-Passes: ${mark}\r\n\r\n`));
      return (await next).header(HOP_COUNT_HEADER);
    };
    const own = (await send("")) ?? "";
    expect(own).toMatch(/^[0-9a-f]{12}=1$/);
    expect(await send("garbage, =, aaaaaaaaaaaa=99, x=1")).toBe(own);
    expect(await send("aaaaaaaaaaaa=2")).toBe(`aaaaaaaaaaaa=2, ${own}`);
    expect(await send(own)).toBe(own.replace("=1", "=2"));
    expect(await send(own.replace("=1", "=-7"))).toBe(own);
    expect((await sendRaw(proxy.port, GET.replace("\r\n\r\n", `\r\nGateway_Passes: ${own}\r\n\r\n`))).status).toBe(200);
    expect(victim.requests.at(-1)?.headers.has("gateway_passes")).toBe(false);
  });

  test("createPasses() limits counters of other gateways", () => {
    const passes = createHopCounter("0123456789ab");
    const others = Array.from({ length: 8 }, (_, index) => `${String(index).repeat(12)}=1`);
    expect(() => passes.next(others.join(", "))).toThrow(RequestLoop);
    expect(passes.next(others.slice(1).join(", ")).split(", ")).toHaveLength(8);
    expect(() => passes.next("0123456789ab=3")).toThrow(RequestLoop);
    expect(() => passes.next("0123456789ab=1e9")).toThrow(RequestLoop);
  });
});
