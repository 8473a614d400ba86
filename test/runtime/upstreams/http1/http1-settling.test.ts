/** Upstreams that close connections behind their answers without saying so: no POST is sent on one that may be closing. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { Transport } from "../../../../runtime/upstreams/transport-types.ts";
import { Settling } from "../../../../runtime/upstreams/http1/settling.ts";
import { ask, loopTurns, outcome } from "../../../support/ask-upstream.ts";
import { ok, okText, type Script, type ScriptedUpstream } from "../../../support/scripted-upstream.ts";
import { upstreamsOfEachTest } from "../../../support/upstream-suite.ts";
import { createHttp1Transport } from "../../../../runtime/upstreams/transport.ts";

const POST = { method: "POST", body: Buffer.from("x") };
/** Behind a close of no time at all. */
const MOMENT_MS = 2;

let transport: Transport;
beforeEach(() => {
  // Time moves only when a test says so; sockets do not wait for it.
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  transport = createHttp1Transport();
});
afterEach(() => void vi.useRealTimers());
const start = upstreamsOfEachTest(() => transport.close());

/** Its close is on the way when its first response has come: a second request is not read. */
const closesBehindFirst: Script = (socket, _request, count) => {
  if (count === 0) socket.write(okText("ok"));
  else socket.destroy();
};

/** Time stands still meanwhile, which it does not in `vi.waitUntil()`. */
async function until(isSo: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + 20_000;
  while (!isSo()) {
    if (Date.now() > giveUpAt) throw new Error(`still not so: ${isSo.toString()}`);
    await loopTurns();
  }
}

/** One answered request, and behind it, so much later, the upstream's close. */
async function showClose({ open, upstream }: ScriptedUpstream, afterMs = 0): Promise<void> {
  expect((await outcome(transport, upstream)).failure).toBeUndefined();
  vi.advanceTimersByTime(afterMs);
  for (const socket of open) socket.end();
  await until(() => open.size === 0);
  await loopTurns();
}

describe("an upstream that closed connections right after responses", () => {
  test("gets each POST on a connection that it is not closing", async () => {
    const server = await start(closesBehindFirst);
    await showClose(server);
    for (let index = 0; index < 20; index += 1) {
      expect((await outcome(transport, server.upstream, POST)).failure).toBeUndefined();
    }
    expect(server.connections).toBe(21);
  });

  test("has cost one POST at most, which was on the connection that showed it", async () => {
    const server = await start(closesBehindFirst);
    const failures: unknown[] = [];
    for (let index = 0; index < 20; index += 1) {
      failures.push((await outcome(transport, server.upstream, POST)).failure);
    }
    expect(failures.filter((failure) => failure !== undefined)).toEqual(["kept-closed"]);
  });

  test("has its connections used again when they have outlived the moment", async () => {
    const server = await start();
    await showClose(server);
    for (let index = 0; index < 5; index += 1) {
      await outcome(transport, server.upstream, POST);
      vi.advanceTimersByTime(MOMENT_MS);
    }
    expect(server.connections).toBe(2);
  });

  test("later than that has them used again later", async () => {
    const server = await start();
    await showClose(server, 10);
    await outcome(transport, server.upstream);
    vi.advanceTimersByTime(21);
    await outcome(transport, server.upstream);
    expect(server.connections).toBe(3);
    vi.advanceTimersByTime(22);
    await outcome(transport, server.upstream);
    expect(server.connections).toBe(3);
  });

  test("serves requests that wait for one of a limited number of connections after the delay", async () => {
    const server = await start();
    const upstream = {
      ...server.upstream,
      connect: {
        poolKey: "one",
        http2: false,
        limits: { maxConnections: 1, maxPending: 10, maxRequests: undefined },
        tls: { rejectUnauthorized: false },
      },
    };
    await showClose({ ...server, open: server.open, upstream });
    await outcome(transport, upstream, POST);
    const waiting = [ask(transport, upstream, POST), ask(transport, upstream, POST)];
    await loopTurns(10);
    expect(server.requests).toHaveLength(2);
    vi.advanceTimersByTime(MOMENT_MS);
    await waiting[0]?.over;
    await loopTurns(10);
    expect(server.requests).toHaveLength(3);
    vi.advanceTimersByTime(MOMENT_MS);
    expect((await waiting[1]?.over)?.failure).toBeUndefined();
    expect(server.connections).toBe(2);
  });

  test("has them used again at once after 2,000 that outlived the moment", async () => {
    const server = await start();
    await showClose(server);
    for (let index = 0; index < 2_000; index += 1) {
      await outcome(transport, server.upstream);
      vi.advanceTimersByTime(MOMENT_MS);
    }
    for (let index = 0; index < 3; index += 1) await outcome(transport, server.upstream);
    expect(server.connections).toBe(2);
  });

  test("may close quarantined connections, even while requests wait", async () => {
    const server = await start();
    await showClose(server);
    await showClose(server);
    vi.advanceTimersByTime(MOMENT_MS);
    expect((await outcome(transport, server.upstream, POST)).failure).toBeUndefined();
    expect(server.connections).toBe(3);
  });

  test("has its quarantined connections closed when no route names it", async () => {
    const server = await start();
    await showClose(server);
    await outcome(transport, server.upstream);
    expect(server.open.size).toBe(1);
    transport.retain(new Set());
    await until(() => server.open.size === 0);
  });

  test("and was retired meanwhile has none kept aside", async () => {
    const server = await start();
    await showClose(server);
    server.answer(() => {});
    const last = ask(transport, server.upstream);
    await until(() => server.requests.length === 2);
    transport.retain(new Set());
    for (const socket of server.open) socket.write(okText("ok"));
    await last.over;
    await until(() => server.open.size === 0);
  });
});

describe("an upstream shows nothing by", () => {
  const isUsedAtOnce = async (server: ScriptedUpstream): Promise<void> => {
    server.answer(ok("ok"));
    const before = server.connections;
    for (let index = 0; index < 3; index += 1) await outcome(transport, server.upstream);
    expect(server.connections).toBe(before + 1);
  };

  test("closing a connection that was idle for longer", async () => {
    const server = await start();
    await showClose(server, 26);
    await isUsedAtOnce(server);
  });

  test("closing a connection that says so", async () => {
    const server = await start((socket) => {
      socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
    });
    await outcome(transport, server.upstream);
    await isUsedAtOnce(server);
  });

  test("ending an answer without a length", async () => {
    const server = await start((socket) => void socket.end("HTTP/1.1 200 OK\r\n\r\nok"));
    await outcome(transport, server.upstream);
    await isUsedAtOnce(server);
  });

  test("breaking a connection before its first answer", async () => {
    const server = await start((socket) => socket.destroy());
    expect((await outcome(transport, server.upstream, POST)).failure).toBe("reset");
    await isUsedAtOnce(server);
  });

  test("breaking a connection in the middle of an answer", async () => {
    const server = await start((socket, _request, count) => {
      if (count === 0) socket.write(okText("ok"));
      else socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab");
    });
    await outcome(transport, server.upstream);
    expect((await outcome(transport, server.upstream, POST)).failure).toBe("reset");
    expect(server.connections).toBe(1);
    await isUsedAtOnce(server);
  });
});

describe("Settling", () => {
  test("waits for twice as long as was seen, and 2 ms; an outlier fades", () => {
    const settling = new Settling();
    expect(settling.ms).toBe(0);
    settling.closed(25.1);
    expect(settling.ms).toBe(0);
    settling.closed(25);
    expect(settling.ms).toBe(52);
    settling.closed(25.1);
    for (let index = 0; index < 10_000; index += 1) settling.closed(1);
    expect(settling.ms).toBe(4);
  });

  test("trusts again after 2,000 connections that outlived the moment without one that did not", () => {
    const settling = new Settling();
    settling.closed(1);
    for (let index = 0; index < 1_999; index += 1) settling.outlived();
    settling.closed(1);
    for (let index = 0; index < 1_999; index += 1) settling.outlived();
    expect(settling.ms).toBe(4);
    settling.outlived();
    expect(settling.ms).toBe(0);
  });
});
