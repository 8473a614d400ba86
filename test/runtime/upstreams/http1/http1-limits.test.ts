/** How many connections and requests an upstream gets, who waits for them, and that nothing is left of any of it. */
import type { Socket } from "node:net";

import { beforeEach, describe, expect, test } from "vitest";

import type { Upstream, UpstreamLimits } from "../../../../runtime/features/connection/compiled.ts";
import type { Transport } from "../../../../runtime/upstreams/transport-types.ts";
import { poolKeyOf } from "../../../../runtime/features/connection/pool-key.ts";
import { ask, loopTurns, outcome } from "../../../support/ask-upstream.ts";
import { freePort } from "../../../support/ports.ts";
import { ok, okText, type ScriptedUpstream } from "../../../support/scripted-upstream.ts";
import { upstreamsOfEachTest } from "../../../support/upstream-suite.ts";
import { createHttp1Transport } from "../../../../runtime/upstreams/transport.ts";

let transport: Transport;
beforeEach(() => {
  transport = createHttp1Transport({ maxPerUpstream: 50 });
});
const start = upstreamsOfEachTest(() => transport.close());

function limited(upstream: Upstream, limits: Partial<UpstreamLimits>): Upstream {
  return {
    ...upstream,
    connect: {
      poolKey: `${upstream.origin} ${JSON.stringify(limits)}`,
      http2: false,
      limits: { maxConnections: undefined, maxPending: undefined, maxRequests: undefined, ...limits },
      tls: { rejectUnauthorized: true },
    },
  };
}

/** Responds when the test says so, in order of arrival. */
async function holding(): Promise<{
  readonly server: ScriptedUpstream;
  readonly held: Socket[];
  readonly release: () => void;
}> {
  const held: Socket[] = [];
  const server = await start((socket) => void held.push(socket));
  return { server, held, release: () => void held.shift()?.write(okText("ok")) };
}

describe("limits", () => {
  test("of requests refuse the next one at once, and count no one twice", async () => {
    const { server, held, release } = await holding();
    const upstream = limited(server.upstream, { maxRequests: 3 });
    const three = [1, 2, 3].map(() => outcome(transport, upstream));
    const fourth = ask(transport, upstream);
    expect(fourth.isOver).toBe(false);
    expect((await fourth.over).failure).toBe("overloaded");
    const silent = ask(transport, upstream);
    silent.call.abort();
    await loopTurns();
    expect(silent.isOver).toBe(false);
    await expect.poll(() => held.length).toBe(3);
    while (held.length > 0) release();
    await Promise.all(three);
    // Ends of every kind give their place back, once.
    for (let round = 0; round < 4; round += 1) {
      const aborted = ask(transport, upstream);
      aborted.call.abort();
      aborted.call.abort();
      const late = await outcome(transport, upstream, { headTimeoutMs: 20 });
      expect(late.failure).toBe("timeout");
    }
    held.length = 0;
    const again = [1, 2, 3].map(() => outcome(transport, upstream));
    expect((await outcome(transport, upstream)).failure).toBe("overloaded");
    await expect.poll(() => held.length).toBe(3);
    while (held.length > 0) release();
    for (const each of again) expect((await each).failure).toBeUndefined();
  });

  test("without settings are those of the transport", async () => {
    const { server } = await holding();
    for (let index = 0; index < 50; index += 1) ask(transport, server.upstream);
    expect((await outcome(transport, server.upstream)).failure).toBe("overloaded");
  });

  test("count requests outside of the pool", async () => {
    const server = await start();
    const upstream = limited(server.upstream, { maxRequests: 1 });
    const release = transport.reserve(upstream);
    expect(transport.reserve(upstream)).toBeUndefined();
    expect((await outcome(transport, upstream)).failure).toBe("overloaded");
    release?.();
    release?.();
    expect((await outcome(transport, upstream)).failure).toBeUndefined();
    expect(transport.reserve(upstream)).toBeDefined();
    expect(transport.reserve(upstream)).toBeUndefined();
  });

  test("of connections let the rest wait in order of arrival", async () => {
    const { server, held, release } = await holding();
    const upstream = limited(server.upstream, { maxConnections: 2, maxPending: 3 });
    const asked = Array.from({ length: 5 }, (_, index) => ask(transport, upstream, { path: `/${index}` }));
    expect((await outcome(transport, upstream)).failure).toBe("overloaded");
    for (let index = 0; index < 5; index += 1) {
      await expect.poll(() => held.length).toBeGreaterThan(0);
      expect(server.open.size).toBeLessThanOrEqual(2);
      release();
    }
    await Promise.all(asked.map(({ over }) => over));
    expect(server.requests.map(({ target }) => target)).toEqual(["/0", "/1", "/2", "/3", "/4"]);
    expect(server.connections).toBe(2);
  });

  test("of connections still apply when connections break, and waiting requests are served", async () => {
    let most = 0;
    const server = await start((socket, _request, count) => {
      most = Math.max(most, server.open.size);
      if (count === 1) socket.destroy();
      else socket.write(okText("ok"));
    });
    const upstream = limited(server.upstream, { maxConnections: 3, maxPending: 40 });
    const all = await Promise.all(Array.from({ length: 40 }, () => outcome(transport, upstream)));
    expect(all.filter(({ failure }) => failure === undefined).length).toBeGreaterThanOrEqual(20);
    expect(all.every(({ failure }) => failure === undefined || /^(reset|kept-closed)$/.test(failure))).toBe(true);
    expect(most).toBeLessThanOrEqual(3);
  });

  test("keep their order when a waiting request is aborted", async () => {
    const { server, held, release } = await holding();
    const upstream = limited(server.upstream, { maxConnections: 1, maxPending: 3 });
    const [, second, third] = [1, 2, 3].map((path) => ask(transport, upstream, { path: `/${path}` }));
    second?.call.abort();
    await expect.poll(() => held.length).toBe(1);
    release();
    await expect.poll(() => held.length).toBe(1);
    release();
    expect((await third?.over)?.failure).toBeUndefined();
    expect(server.requests.map(({ target }) => target)).toEqual(["/1", "/3"]);
  });

  test("of time also apply to waiting, and when the route is removed meanwhile", async () => {
    const { server } = await holding();
    const upstream = limited(server.upstream, { maxConnections: 1, maxPending: 3 });
    ask(transport, upstream, { headTimeoutMs: 0 });
    const late = ask(transport, upstream, { headTimeoutMs: 50 });
    const endless = ask(transport, upstream, { headTimeoutMs: 0 });
    expect(await late.over).toMatchObject({ failure: "timeout", detail: "no connection became free in time" });
    const orphan = ask(transport, upstream, { headTimeoutMs: 50 });
    transport.retain(new Set());
    expect((await orphan.over).failure).toBe("timeout");
    expect(endless.isOver).toBe(false);
  });

  test("leave one connection attempt, not one each, for requests that are aborted while connecting hangs", async () => {
    // Its handshake never ends: to us that is still connecting.
    const server = await start(undefined, { raw: true });
    const upstream = { ...server.upstream, origin: `https://127.0.0.1:${server.port}` };
    for (let round = 0; round < 100; round += 1) {
      const asked = ask(transport, upstream);
      asked.call.abort();
      await loopTurns(1);
    }
    await expect.poll(() => server.connections).toBe(1);
    await loopTurns(10);
    expect(server.connections).toBe(1);
  });

  test("an attempt that began before one asked does not fail him", async () => {
    const sockets: Socket[] = [];
    const server = await start(undefined, { raw: true, onConnection: (socket) => void sockets.push(socket) });
    const upstream = { ...server.upstream, origin: `https://127.0.0.1:${server.port}` };
    ask(transport, upstream).call.abort();
    await expect.poll(() => sockets.length).toBe(1);
    const asked = ask(transport, upstream);
    sockets[0]?.destroy();
    await expect.poll(() => sockets.length).toBe(2);
    expect(asked.isOver).toBe(false);
    sockets[1]?.destroy();
    expect((await asked.over).failure).toBe("unreachable");
  });
});

describe("nothing is left open", () => {
  const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;

  test("of an upstream that no route names: idle connections close immediately, others with their response", async () => {
    const { server, held, release } = await holding();
    const other = await start();
    const [one, two] = [1, 2].map(() => ask(transport, server.upstream));
    await expect.poll(() => held.length).toBe(2);
    release();
    await one?.over;
    await outcome(transport, other.upstream);
    transport.retain(new Set([poolKeyOf(other.upstream)]));
    await expect.poll(() => server.open.size).toBe(1);
    release();
    expect((await two?.over)?.body.toString()).toBe("ok");
    await expect.poll(() => server.open.size).toBe(0);
    await outcome(transport, other.upstream);
    expect(other.connections).toBe(1);
  });

  test("of a closed transport, in any state, and each caller is notified", async () => {
    await expect.poll(sockets).toBe(0);
    const { server, held, release } = await holding();
    const [idle] = [1].map(() => ask(transport, server.upstream));
    await expect.poll(() => held.length).toBe(1);
    release();
    await idle?.over;
    const upstream = limited(server.upstream, { maxConnections: 1, maxPending: 5 });
    const kept = [
      ask(transport, server.upstream, { path: "/reused" }),
      ask(transport, server.upstream, { path: "/fresh" }),
      ask(transport, upstream, { path: "/limited" }),
      ask(transport, upstream, { path: "/waiting" }),
    ];
    const body = await start((socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab"));
    const inBody = ask(transport, body.upstream);
    await inBody.head;
    await expect.poll(() => held.length).toBe(3);
    const connecting = ask(transport, server.upstream, { path: "/connecting" });
    // A route that is gone by then.
    transport.retain(new Set([poolKeyOf(server.upstream)]));
    await transport.close();
    for (const { over } of [...kept, inBody, connecting]) expect((await over).failure).toBe("closed");
    expect((await outcome(transport, server.upstream)).failure).toBe("closed");
    await expect.poll(() => [server.open.size, body.open.size]).toEqual([0, 0]);
    await server.close();
    await body.close();
    await expect.poll(sockets).toBe(0);
  });

  test("of a thousand requests to nowhere", async () => {
    await expect.poll(sockets).toBe(0);
    const many = createHttp1Transport();
    const port = await freePort();
    const nowhere = { origin: `http://127.0.0.1:${port}`, host: "x", basePath: "", weight: 1 };
    const all = await Promise.all(Array.from({ length: 1_000 }, () => outcome(many, nowhere)));
    expect(all.every(({ failure }) => failure === "unreachable")).toBe(true);
    await expect.poll(sockets).toBe(0);
    await many.close();
  });

  test("of a thousand connections that were used at the same time and are idle too long", async () => {
    const many = createHttp1Transport();
    const server = await start(ok("ok"));
    const brief = (socket: Socket): void => void socket.write("HTTP/1.1 204 No\r\nkeep-alive: timeout=2\r\n\r\n");
    server.answer(brief);
    const all = await Promise.all(Array.from({ length: 1_000 }, () => outcome(many, server.upstream)));
    expect(all.every(({ status }) => status === 204)).toBe(true);
    expect(server.connections).toBeGreaterThan(100);
    await expect.poll(() => server.open.size).toBe(0);
    await many.close();
  });
});
