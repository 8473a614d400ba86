/** Assignment of requests to connections: a response reaches its own request, or none. */
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { Readable } from "node:stream";

import { beforeEach, describe, expect, test } from "vitest";

import type { Transport } from "../../../../runtime/upstreams/transport-types.ts";
import { ask, loopTurns, outcome } from "../../../support/ask-upstream.ts";
import { makeTestCertificate } from "../../../support/certificates.ts";
import { ok, okText, type Script, type ScriptedUpstream } from "../../../support/scripted-upstream.ts";
import { upstreamsOfEachTest } from "../../../support/upstream-suite.ts";
import { createHttp1Transport } from "../../../../runtime/upstreams/transport.ts";

const FORGED = okText("forged");
/** Bytes of one read of our connections. */
const READ_BYTES = 65_536;

let transport: Transport;
beforeEach(() => {
  transport = createHttp1Transport();
});
const start = upstreamsOfEachTest(() => transport.close());

/** The same upstream with at most one connection, so that requests wait for each other. */
const single = ({ upstream }: ScriptedUpstream, poolKey = "single"): ScriptedUpstream["upstream"] => ({
  ...upstream,
  connect: {
    poolKey,
    http2: false,
    limits: { maxConnections: 1, maxPending: 100, maxRequests: undefined },
    tls: { rejectUnauthorized: false },
  },
});

/**
 * Linux, with busy processors, hands over what came on loopback a moment after it was sent: it is waited for, without a look at the
 * sockets by the event loop.
 *
 * @param ways both ports of connections on which something comes to us, ours first
 */
function untilArrived(ways: readonly (readonly [ours: number, upstreams: number])[]): void {
  const hex = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const waiting = new Set(ways.map(([ours, upstreams]) => hex(ours) + hex(upstreams)));
  const isOpenAndEmpty = (line: string): boolean => {
    const [, local = "", remote = "", state, queues = ""] = line.trim().split(/\s+/);
    return waiting.has(local.slice(-5) + remote.slice(-5)) && state === "01" && queues.endsWith(":00000000");
  };
  while (existsSync("/proc/net/tcp") && readFileSync("/proc/net/tcp", "utf8").split("\n").some(isOpenAndEmpty));
}

/** One look at the sockets brings both: what the upstream does, and behind it what makes us ask. */
async function inTheSameTurn<T>(sockets: readonly Socket[], upstreamDoes: () => unknown, weDo: () => T): Promise<T> {
  const ways = sockets.map(({ remotePort = 0, localPort = 0 }) => [remotePort, localPort] as const);
  const bell = createServer();
  await new Promise<void>((resolve) => bell.listen(0, "127.0.0.1", resolve));
  const ringer = connect((bell.address() as AddressInfo).port, "127.0.0.1");
  const [[rung]] = await Promise.all([once(bell, "connection"), once(ringer, "connect")]);
  const done = new Promise<T>((resolve) => {
    (rung as Socket).once("data", () => resolve(weDo()));
  });
  // From a timer: what is written now is seen by the next look, all of it.
  await new Promise((resolve) => setTimeout(resolve, 1));
  ringer.write("now");
  upstreamDoes();
  untilArrived(ways);
  const result = await done;
  ringer.destroy();
  bell.close();
  return result;
}

describe("a connection", () => {
  test("carries one request after another", async () => {
    const server = await start((socket, { target }) => void socket.write(okText(target)));
    for (let index = 0; index < 20; index += 1) {
      const { body } = await outcome(transport, server.upstream, { path: `/${index}` });
      expect(body.toString()).toBe(`/${index}`);
    }
    expect(server.connections).toBe(1);
  });

  test("long simultaneous responses stay intact: passed-on bytes are not overwritten", async () => {
    const bodies = [3, 2, 1].map((times) =>
      Buffer.from(Array.from({ length: times * 100_000 }, (_, index) => `${times}:${index};`).join("")),
    );
    const server = await start((socket, { target }) => {
      const body = bodies[Number(target.slice(1))] ?? Buffer.alloc(0);
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`);
      socket.write(body);
    });
    // A second time over the same connections, which have read into buffers of their own.
    for (let round = 0; round < 2; round += 1) {
      const found = await Promise.all(
        bodies.map((_, index) => outcome(transport, server.upstream, { path: `/${index}` })),
      );
      for (const [index, { body }] of found.entries()) expect(body.equals(bodies[index] as Buffer)).toBe(true);
    }
    expect(server.connections).toBe(bodies.length);
  });

  test.each([
    ["of known length", false],
    ["in chunks", true],
  ])("a long answer %s is read over where its receiver is done with it, and only there", async (_, isChunked) => {
    const piece = (index: number): Buffer => Buffer.alloc(50_000, `${index};`);
    const all = Buffer.concat(Array.from({ length: 40 }, (_, index) => piece(index)));
    const server = await start((socket) => {
      const framing = isChunked ? "transfer-encoding: chunked" : `content-length: ${all.length}`;
      socket.write(`HTTP/1.1 200 OK\r\n${framing}\r\n\r\n`);
      if (!isChunked) return void socket.write(all);
      // More than one chunk, and their lines, in each read.
      for (let at = 0; at < all.length; at += 5_000)
        socket.write(Buffer.concat([Buffer.from("1388\r\n"), all.subarray(at, at + 5_000), Buffer.from("\r\n")]));
      return void socket.write("0\r\n\r\n");
    });
    const read = (keeps: (index: number) => boolean, isReleased = false) => {
      const { promise, resolve, reject } = Promise.withResolvers<{ body: Buffer; memory: readonly unknown[] }>();
      const kept: Buffer[] = [];
      const memory: unknown[] = [];
      transport.send(
        {
          upstream: single(server),
          method: "GET",
          path: "/",
          headers: ["host", "app.example"],
          body: undefined,
          headTimeoutMs: 10_000,
          idleTimeoutMs: 10_000,
        },
        {
          onHead() {},
          onData(chunk) {
            const isKept = keeps(kept.length);
            kept.push(isKept ? chunk : Buffer.from(chunk));
            if (chunk.length >= READ_BYTES / 4) memory.push(chunk.buffer);
            return !isKept;
          },
          onEnd: () => {
            resolve({ body: Buffer.concat(kept), memory });
            return isReleased;
          },
          onFailure: (_, detail) => reject(new Error(detail)),
        },
      );
      return promise;
    };
    for (let round = 0; round < 2; round += 1) {
      const done = await read(() => false);
      expect(done.body.equals(all)).toBe(true);
      expect(new Set(done.memory).size).toBe(1);
      const kept = await read(() => true);
      expect(kept.body.equals(all)).toBe(true);
      expect(new Set(kept.memory).size).toBe(kept.memory.length);
      const both = await read((index) => index % 3 === 0);
      expect(both.body.equals(all)).toBe(true);
      const released = await read(() => true, true);
      // Not necessarily first: after a short last read, the buffer of that read is also free, and is taken before.
      const next = await read(() => true);
      expect([released.body.equals(all), next.body.equals(all)]).toEqual([true, true]);
      expect(next.memory).toContain(released.memory.at(-1));
    }
  });

  test("carries one request at a time", async () => {
    const waiting: Socket[] = [];
    const server = await start((socket) => void waiting.push(socket));
    const both = [outcome(transport, server.upstream), outcome(transport, server.upstream)];
    await expect.poll(() => waiting.length).toBe(2);
    expect(new Set(waiting).size).toBe(2);
    for (const [index, socket] of waiting.entries()) socket.write(okText(String(index)));
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([200, 200]);
  });

  test.each([
    ["the upstream says close", "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok"],
    [
      "the upstream says close among others",
      "HTTP/1.1 200 OK\r\nConnection: Foo , CLOSE\r\ncontent-length: 2\r\n\r\nok",
    ],
    [
      "close and keep-alive are both said",
      "HTTP/1.1 200 OK\r\nconnection: keep-alive, close\r\ncontent-length: 2\r\n\r\nok",
    ],
    ["it is HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok"],
    ["its idle time is as good as over", "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok"],
    ["a 204 declares a body", "HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\n"],
    ["a 204 declares chunks", "HTTP/1.1 204 No Content\r\ntransfer-encoding: chunked\r\n\r\n"],
    ["bytes follow the answer", `${okText("ok")}\r\n`],
    ["a whole answer follows the answer", okText("ok") + FORGED],
    ["an answer follows the empty one", `HTTP/1.1 204 No Content\r\n\r\n${FORGED}`],
    [
      "an answer follows the last chunk",
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n${FORGED}`,
    ],
  ])("is not used again when %s", async (_name, bytes) => {
    const server = await start((socket, _request, count) => void (count === 0 && socket.write(bytes)));
    for (let round = 0; round < 3; round += 1) {
      const { status, body } = await outcome(transport, server.upstream);
      expect([status, body.toString()]).toEqual(bytes.includes(" 204 ") ? [204, ""] : [200, "ok"]);
    }
    expect(server.connections).toBe(3);
  });

  test.each([
    ["HTTP/1.0 says keep-alive", "HTTP/1.0 200 OK\r\nconnection: Keep-Alive\r\ncontent-length: 2\r\n\r\nok"],
    ["a HEAD has a length", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n"],
    ["a HEAD has chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"],
    ["a 304 has a length", "HTTP/1.1 304 Not Modified\r\ncontent-length: 2\r\n\r\n"],
    ["trailers follow", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nx-sum: 1\r\n\r\n"],
    [
      "interim answers came first",
      `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: <a>\r\n\r\n${okText("ok")}`,
    ],
    ["the idle time is long", "HTTP/1.1 200 OK\r\nkeep-alive: max=5, timeout=60\r\ncontent-length: 2\r\n\r\nok"],
  ])("is used again when %s", async (name, bytes) => {
    const server = await start((socket) => void socket.write(bytes));
    const method = name.includes("HEAD") ? "HEAD" : "GET";
    for (let round = 0; round < 3; round += 1) {
      const { failure, body } = await outcome(transport, server.upstream, { method });
      expect(failure).toBeUndefined();
      expect(body.toString()).toBe(/HEAD|304/.test(name) ? "" : "ok");
    }
    expect(server.connections).toBe(1);
  });

  test("ends when unsolicited bytes come", async () => {
    const server = await start();
    await outcome(transport, server.upstream);
    const [socket] = server.open;
    socket?.write(FORGED);
    await expect.poll(() => server.open.size).toBe(0);
    server.answer(ok("mine"));
    expect((await outcome(transport, server.upstream)).body.toString()).toBe("mine");
  });

  test("that the upstream closes while idle fails no request", async () => {
    const server = await start();
    await outcome(transport, server.upstream);
    for (const socket of server.open) socket.end();
    await expect.poll(() => server.open.size).toBe(0);
    await loopTurns();
    expect((await outcome(transport, server.upstream, { method: "POST" })).failure).toBeUndefined();
  });

  test("is not used after the time that the upstream named, even before it is closed", async () => {
    const server = await start((socket) => void socket.write(`HTTP/1.1 204 No\r\nkeep-alive: timeout=2\r\n\r\n`));
    await outcome(transport, server.upstream);
    await expect.poll(() => server.open.size, { timeout: 4_000 }).toBe(0);
    expect(server.connections).toBe(1);
    await outcome(transport, server.upstream);
    expect(server.connections).toBe(2);
  });
});

describe("a second answer to one request", () => {
  const key = makeTestCertificate({ name: "localhost", dns: ["localhost"] });

  test("never reaches the next request, if it came before that", async () => {
    let sent = Promise.withResolvers<void>();
    const server = await start((socket, _request, count) => {
      const forge = (): void => void socket.write(FORGED, () => sent.resolve());
      if (count > 0) socket.write(okText("mine"));
      else socket.write(okText("first"), () => setImmediate(forge));
    });
    for (let round = 0; round < 10; round += 1) {
      sent = Promise.withResolvers();
      await outcome(transport, server.upstream);
      await sent.promise;
      const { body, failure } = await outcome(transport, server.upstream);
      expect([body.toString(), failure]).not.toContain("forged");
      for (const socket of server.open) socket.destroy();
      await expect.poll(() => server.open.size).toBe(0);
      await loopTurns();
    }
  });

  // A waiting request gets the connection at the end of the first response.
  test("never reaches a request that waits for the connection, if a read ends between the two", async () => {
    const head = (length: number): string => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`;
    for (const reads of [1, 2, 32]) {
      const length = READ_BYTES * reads - head(READ_BYTES * reads - 50).length;
      const first = head(length) + "a".repeat(length);
      expect(first.length % READ_BYTES).toBe(0);
      const server = await start();
      // On the second connection the second asker is served honestly.
      server.answer((socket, _request, count) => {
        if (server.connections === 1 && count === 0) socket.write(first + FORGED);
        else if (server.connections > 1) socket.write(okText("mine"));
      });
      const one = outcome(transport, single(server, `clear ${reads}`));
      const two = outcome(transport, single(server, `clear ${reads}`));
      expect((await one).body.length).toBe(length);
      expect((await two).body.toString()).toBe("mine");
    }
  });

  test("never reaches a request that waits for the connection over TLS, if a record ends between the two", async () => {
    const server: ScriptedUpstream = await start(undefined, { tls: { cert: key.cert, key: key.key } });
    server.answer((socket, _request, count) => {
      if (server.connections > 1) socket.write(okText("mine"));
      if (server.connections > 1 || count > 0) return;
      // Two records that arrive together.
      socket.write(okText("first"));
      socket.write(FORGED);
    });
    const one = outcome(transport, single(server, "tls"));
    const two = outcome(transport, single(server, "tls"));
    expect((await one).body.toString()).toBe("first");
    expect((await two).body.toString()).toBe("mine");
  });

  // Both are in what one look at the sockets brings: the request could be written before the old bytes are read.
  test("never reaches the next request in the same turn of the loop", async () => {
    const server = await start();
    expect((await outcome(transport, server.upstream)).body.toString()).toBe("ok");
    const [socket] = server.open;
    if (socket === undefined) throw new Error("no connection");
    server.answer((from) => void (from === socket ? undefined : from.write(okText("mine"))));
    const next = await inTheSameTurn(
      [socket],
      () => socket.write(FORGED),
      () => ask(transport, server.upstream, { method: "POST" }),
    );
    expect((await next.over).body.toString()).toBe("mine");
    expect(server.connections).toBe(2);
  });

  test("that comes after the next request was sent fails that request, if it does not look like a response", async () => {
    const server = await start((socket, _request, count) => void socket.write(count === 0 ? okText("ok") : "\r\n"));
    await outcome(transport, server.upstream);
    const { failure, detail } = await outcome(transport, server.upstream);
    expect(failure).toBe("protocol");
    expect(detail).toContain("status line");
  });
});

describe("an upstream that closes an idle connection", () => {
  test("just when it is reused fails no request, not even a POST", async () => {
    const server = await start();
    for (let round = 0; round < 20; round += 1) {
      expect((await outcome(transport, server.upstream)).failure).toBeUndefined();
      const closing = [...server.open];
      const next = await inTheSameTurn(
        closing,
        () => closing.forEach((socket) => socket.destroy()),
        () => ask(transport, server.upstream, { method: "POST", body: Buffer.from("x") }),
      );
      expect((await next.over).failure).toBeUndefined();
    }
  });

  test("just when it is first used fails no request: the request that it was opened for was aborted", async () => {
    const server = await start();
    ask(transport, server.upstream).call.abort();
    await expect.poll(() => server.connections).toBe(1);
    await loopTurns();
    const closing = [...server.open];
    const next = await inTheSameTurn(
      closing,
      () => closing.forEach((socket) => socket.destroy()),
      () => ask(transport, server.upstream, { method: "POST", body: Buffer.from("x") }),
    );
    expect((await next.over).failure).toBeUndefined();
    expect(server.connections).toBe(2);
  });

  test("among many that it closes at the same time fails no request", async () => {
    const held: Socket[] = [];
    const server = await start((socket) => void held.push(socket));
    const first = Array.from({ length: 20 }, () => outcome(transport, server.upstream));
    await expect.poll(() => held.length).toBe(20);
    for (const socket of held) socket.write(okText("ok"));
    await Promise.all(first);
    server.answer(ok("again"));
    const again = await inTheSameTurn(
      held,
      () => held.forEach((socket) => socket.destroy()),
      () => Array.from({ length: 20 }, () => ask(transport, server.upstream, { method: "POST" })),
    );
    for (const { over } of again) expect((await over).failure).toBeUndefined();
  });
});

describe("receivers", () => {
  const UPLOAD = {
    method: "POST",
    path: "/",
    headers: ["host", "app"],
    headTimeoutMs: 5_000,
    idleTimeoutMs: 5_000,
  };
  const boom = (): never => {
    throw new Error("a mistake of ours");
  };
  const script: Script = (socket, { target }) => void socket.write(okText(target));

  test("keep the bytes that they were given", async () => {
    const server = await start((socket, { target }) => {
      const letter = target.at(-1) ?? "";
      socket.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n`);
      for (let part = 0; part < 20; part += 1) socket.write(`3e8\r\n${letter.repeat(1_000)}\r\n`);
      socket.write("0\r\n\r\n");
    });
    const all = await Promise.all(
      Array.from("abcdefghij", (letter) => outcome(transport, server.upstream, { path: `/${letter}` })),
    );
    for (const [index, { body }] of all.entries()) {
      expect(body.toString()).toBe("abcdefghij".charAt(index).repeat(20_000));
    }
  });

  test("that throw affect no later receiver", async () => {
    const server = await start(script);
    expect(await outcome(transport, server.upstream, { onHead: boom })).toMatchObject({ failure: "protocol" });
    expect(await outcome(transport, server.upstream, { onData: boom })).toMatchObject({ failure: "protocol" });
    const limited = single(server);
    const thrower = ask(transport, limited, { path: "/one", onEnd: boom });
    const waiter = ask(transport, limited, { path: "/two" });
    await thrower.over;
    expect((await waiter.over).body.toString()).toBe("/two");
  });

  test("that throw on a failure do not keep later requests from being sent", async () => {
    const server = await start(script);
    await Promise.all([1, 2].map(() => outcome(transport, server.upstream)));
    const gone = new Readable({ read: () => {} });
    gone.destroy();
    transport.send(
      { ...UPLOAD, upstream: server.upstream, body: gone },
      { onHead() {}, onData() {}, onEnd() {}, onFailure: boom },
    );
    expect((await outcome(transport, server.upstream, { path: "/next" })).body.toString()).toBe("/next");
  });

  test("may ask again in each of their calls", async () => {
    const server = await start(script);
    for (const upstream of [server.upstream, single(server)]) {
      const more: Promise<{ readonly body: Buffer }>[] = [];
      const again = (): void => void more.push(outcome(transport, upstream, { path: "/again" }));
      const first = await outcome(transport, upstream, { path: "/first", onHead: again, onData: again, onEnd: again });
      expect(first.body.toString()).toBe("/first");
      expect(more).toHaveLength(3);
      for (const { body } of await Promise.all(more)) expect(body.toString()).toBe("/again");
    }
  });
});
