/** Bodies on their way to an upstream: whole or not at all, and never the beginning of what another one asks. */
import { Readable } from "node:stream";

import { beforeEach, describe, expect, test } from "vitest";

import type { Transport } from "../../../../runtime/upstreams/transport-types.ts";
import { ask, loopTurns, outcome } from "../../../support/ask-upstream.ts";
import { freePort } from "../../../support/ports.ts";
import { ok, okText } from "../../../support/scripted-upstream.ts";
import { upstreamsOfEachTest } from "../../../support/upstream-suite.ts";
import { createHttp1Transport } from "../../../../runtime/upstreams/transport.ts";

let transport: Transport;
beforeEach(() => {
  transport = createHttp1Transport({ connectTimeoutMs: 5_000 });
});
const start = upstreamsOfEachTest(() => transport.close());

const CHUNKS = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

describe("a request body", () => {
  const slowly = (parts: readonly string[], ms: number): Readable =>
    Readable.from(
      (async function* () {
        for (const part of parts) {
          await new Promise((resolve) => setTimeout(resolve, ms));
          yield Buffer.from(part);
        }
      })(),
    );
  const POST = { method: "POST" };

  test("that breaks off is never complete upstream, and fails as the client's", async () => {
    const server = await start();
    for (const headers of [
      ["host", "a"],
      ["host", "a", "content-length", "10"],
    ]) {
      const body = new Readable({ read: () => {} });
      const asked = ask(transport, server.upstream, { ...POST, headers, body });
      body.push("half");
      await expect.poll(() => server.open.size).toBe(1);
      body.destroy(new Error("gone"));
      expect((await asked.over).failure).toBe("request-body");
      await expect.poll(() => server.open.size).toBe(0);
    }
    expect(server.requests).toEqual([]);
  });

  test("that was aborted before there was a connection is not waited for", async () => {
    const server = await start();
    const fresh = new Readable({ read: () => {} });
    const one = ask(transport, server.upstream, { ...POST, body: fresh });
    fresh.destroy();
    expect((await one.over).failure).toBe("request-body");
    await outcome(transport, server.upstream);
    const gone = new Readable({ read: () => {} });
    gone.destroy();
    await loopTurns();
    expect((await outcome(transport, server.upstream, { ...POST, body: gone })).failure).toBe("request-body");
  });

  test("is destroyed with its request, wherever that ends", async () => {
    const port = await freePort();
    const nowhere = { origin: `http://127.0.0.1:${port}`, host: "x", basePath: "", weight: 1 };
    const refused = new Readable({ read: () => {} });
    expect((await outcome(transport, nowhere, { ...POST, body: refused })).failure).toBe("unreachable");
    const given = new Readable({ read: () => {} });
    ask(transport, nowhere, { ...POST, body: given }).call.abort();
    const bad = new Readable({ read: () => {} });
    const server = await start();
    const headers = ["host", "a\nb"];
    expect((await outcome(transport, server.upstream, { ...POST, headers, body: bad })).failure).toBe("protocol");
    expect([refused.destroyed, given.destroyed, bad.destroyed]).toEqual([true, true, true]);
    expect(server.requests).toEqual([]);
  });

  test("that must not be sent is rejected when the caller has the call", async () => {
    const server = await start();
    await outcome(transport, server.upstream);
    const asked = ask(transport, server.upstream, { headers: ["host", "a\nb"] });
    expect(asked.isOver).toBe(false);
    const { failure, detail } = await asked.over;
    expect(failure).toBe("protocol");
    expect(detail).not.toContain("a\nb");
    expect((await outcome(transport, server.upstream)).failure).toBeUndefined();
    expect(server.connections).toBe(1);
  });

  test("in progress keeps the head from timing out, also after an interim response", async () => {
    for (const early of ["", "HTTP/1.1 102 Processing\r\n\r\n"]) {
      const server = await start(ok("done"), {
        onConnection: (socket) => void (early !== "" && setTimeout(() => socket.write(early), 60)),
      });
      const body = slowly(
        Array.from({ length: 12 }, () => "part"),
        100,
      );
      const answer = await outcome(transport, server.upstream, { ...POST, body, headTimeoutMs: 1_000 });
      expect(answer).toMatchObject({ failure: undefined, status: 200 });
      expect(server.requests[0]?.body.length).toBe(48);
    }
  });

  test("that is on its way keeps a begun answer from being late", async () => {
    const server = await start((socket) => void socket.write("2\r\nok\r\n0\r\n\r\n"), {
      onConnection: (socket) => void socket.once("data", () => socket.write(CHUNKS)),
    });
    const body = slowly(
      Array.from({ length: 12 }, () => "part"),
      100,
    );
    const answer = await outcome(transport, server.upstream, { ...POST, body, idleTimeoutMs: 1_000 });
    expect([answer.failure, answer.body.toString()]).toEqual([undefined, "ok"]);
  });

  test("whose response comes early is not sent further, and its connection not reused", async () => {
    const early = "HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig";
    const server = await start(ok("next"), {
      onConnection: (socket) =>
        void socket.once("data", (bytes: Buffer) => void (bytes.includes("POST") && socket.write(early))),
    });
    const body = new Readable({ read: () => {} });
    body.push("a");
    const { status, failure } = await outcome(transport, server.upstream, { ...POST, body });
    expect([status, failure]).toEqual([413, undefined]);
    expect(body.destroyed).toBe(true);
    expect((await outcome(transport, server.upstream)).body.toString()).toBe("next");
    expect(server.connections).toBe(2);
  });

  test("that is still in our buffers when the response comes also ends the connection", async () => {
    const early = "HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig";
    const server = await start(ok("next"), {
      onConnection(socket) {
        if (server.connections > 1) return;
        socket.once("data", () => {
          socket.pause();
          socket.write(early);
        });
      },
    });
    const body = Buffer.alloc(30_000_000, "x");
    expect((await outcome(transport, server.upstream, { ...POST, body })).status).toBe(413);
    expect((await outcome(transport, server.upstream)).body.toString()).toBe("next");
    expect(server.connections).toBe(2);
  });

  test("goes up as fast as the upstream takes it", async () => {
    const size = 20_000_000;
    let left = size;
    const body = new Readable({
      read(wanted) {
        const length = Math.min(left, wanted, 65_536);
        left -= length;
        this.push(length === 0 ? null : Buffer.alloc(length, "u"));
      },
    });
    const server = await start(undefined, {
      raw: true,
      onConnection(socket) {
        let received = 0;
        socket.on("data", (chunk: Buffer) => {
          received += chunk.length;
          socket.pause();
          setImmediate(() => socket.resume());
          if (received > size) socket.write(okText("all"));
        });
      },
    });
    const headers = ["host", "a", "content-length", String(size)];
    expect((await outcome(transport, server.upstream, { ...POST, headers, body })).body.toString()).toBe("all");
  });
});
