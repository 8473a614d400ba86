/** Upstreams that fail, lie and overwhelm, seen from the client's side of the whole proxy. */
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";

import { afterEach, describe, expect, test } from "vitest";

import { POLL_MS } from "../support/limits.ts";
import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { freePort } from "../support/ports.ts";
import { openRaw, sendRaw } from "../support/raw-client.ts";
import { ok, okText, startScriptedUpstream, type ScriptedUpstream } from "../support/scripted-upstream.ts";

const open: { close(): Promise<unknown> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

async function start(...parameters: Parameters<typeof startScriptedUpstream>): Promise<ScriptedUpstream> {
  const server = await startScriptedUpstream(...parameters);
  open.push(server);
  return server;
}

async function proxy(to: string | readonly string[], more: Record<string, unknown> = {}): Promise<Pipeline> {
  const route = {
    name: "app",
    from: "https://app.example",
    to,
    policy: [{ allow: { and: [{ accept: true }] } }],
    ...more,
  };
  const pipeline = await startPipeline(`routes: [${JSON.stringify(route)}]`);
  open.unshift({ close: () => pipeline.close({ timeoutMs: 100 }) });
  return pipeline;
}

const request = (method = "GET", more = ""): string => `${method} /x HTTP/1.1\r\nHost: app.example\r\n${more}\r\n`;
const CHUNKS = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

describe("error responses to clients", () => {
  test.each([
    ["closes before it answers", (socket: Socket) => socket.end(), 502, "upstream.reset"],
    ["resets before it answers", (socket: Socket) => socket.resetAndDestroy(), 502, "upstream.reset"],
    ["breaks off in the head", (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nx: se"), 502, "upstream.reset"],
    ["speaks no HTTP", (socket: Socket) => socket.write("220 secret.example ESMTP\r\n"), 502, "upstream.protocol"],
    [
      "has two lengths",
      (socket: Socket) => socket.write(okText("secret").replace("\r\n\r\n", "\r\nContent-Length: 1\r\n\r\n")),
      502,
      "upstream.protocol",
    ],
    ["says nothing", () => {}, 504, "upstream.timeout"],
    [
      "says a part of its head",
      (socket: Socket) => socket.write("HTTP/1.1 200 OK\r\nsecret: "),
      504,
      "upstream.timeout",
    ],
  ] as const)("of an upstream that %s", async (_what, script, status, code) => {
    const server = await start((socket) => void script(socket));
    const pipeline = await proxy(server.origin, status === 504 ? { timeout: "200ms" } : {});
    for (const method of ["GET", "POST"]) {
      const answer = await sendRaw(
        pipeline.port,
        request(method, "Content-Length: 0\r\nConnection: close\r\n"),
        POLL_MS,
      );
      expect(answer.status).toBe(status);
      expect(answer.body).toContain(code);
      expect(answer.text).not.toContain("secret");
    }
    await expect.poll(() => pipeline.proxy.underWay).toBe(0);
  });

  test("for a missing upstream, unless another one exists: also with a body", async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}`;
    const alone = await proxy(nowhere);
    const refused = await sendRaw(alone.port, request("GET", "Connection: close\r\n"));
    expect([refused.status, refused.body.includes("upstream.unreachable")]).toEqual([502, true]);
    const server = await start();
    const pipeline = await proxy([nowhere, server.origin]);
    const upload = "Transfer-Encoding: chunked\r\nConnection: close\r\n";
    for (let round = 0; round < 6; round += 1) {
      const answer = await sendRaw(pipeline.port, `${request("POST", upload)}3\r\nabc\r\n0\r\n\r\n`);
      expect(answer.status).toBe(200);
    }
    expect(server.requests.map(({ body }) => body.toString())).toEqual(Array.from({ length: 6 }, () => "abc"));
  });
});

describe("a request is sent", () => {
  test("once more, when it has no effects and the first connection broke; no other one is", async () => {
    const server = await start((socket) => void socket.destroy());
    const pipeline = await proxy(server.origin);
    for (const [method, times] of [
      ["GET", 2],
      ["HEAD", 2],
      ["OPTIONS", 2],
      ["POST", 1],
      ["PUT", 1],
      ["DELETE", 1],
    ] as const) {
      const before = server.requests.length;
      const answer = await sendRaw(pipeline.port, request(method, "Content-Length: 0\r\nConnection: close\r\n"));
      expect(answer.status).toBe(502);
      expect([method, server.requests.length - before]).toEqual([method, times]);
    }
  });

  test("and answered, though the upstream has just closed all that was open", async () => {
    const server = await start();
    const pipeline = await proxy(server.origin);
    for (let round = 0; round < 10; round += 1) {
      const all = await Promise.all(
        Array.from({ length: 10 }, () => sendRaw(pipeline.port, request("GET", "Connection: close\r\n"))),
      );
      expect(all.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
      for (const socket of server.open) socket.destroy();
    }
  });
});

describe("each client gets his own answer", () => {
  test("from an upstream that answers twice, closes, resets and breaks off at random", async () => {
    let turn = 0;
    const server = await start((socket, asked) => {
      const mine = asked.header("x-mark") ?? "";
      turn += 1;
      const bytes = okText(mine);
      if (turn % 7 === 0) socket.write(bytes + okText("forged"));
      else if (turn % 11 === 0) socket.write(bytes, () => setImmediate(() => socket.write(okText("forged"))));
      else if (turn % 13 === 0) socket.end(bytes);
      else if (turn % 17 === 0) socket.resetAndDestroy();
      else socket.write(bytes);
    });
    const pipeline = await proxy(server.origin, { pass_identity_headers: false });
    const ask = async (mark: string): Promise<void> => {
      const { status, body } = await sendRaw(pipeline.port, request("GET", `X-Mark: ${mark}\r\nConnection: close\r\n`));
      if (status === 200) expect(body).toBe(mark);
      else expect(status).toBe(502);
    };
    for (let round = 0; round < 20; round += 1) {
      await Promise.all(Array.from({ length: 20 }, (_, index) => ask(`${round}-${index}`)));
    }
  });
});

describe("an upstream cannot tire the gateway out", () => {
  const timed = async (server: ScriptedUpstream, enough: string): Promise<number> => {
    const pipeline = await proxy(server.origin);
    // Warm.
    await sendRaw(pipeline.port, request("GET", "Connection: close\r\n"), 500);
    const began = process.cpuUsage();
    const client = openRaw(pipeline.port, request("GET", "Connection: close\r\n"));
    await client.contains(enough);
    client.socket.destroy();
    const { user, system } = process.cpuUsage(began);
    return (user + system) / 1_000;
  };

  test("by chunks of one byte, without listener warnings", async () => {
    const warnings: string[] = [];
    const hear = (warning: Error): void => void warnings.push(warning.name);
    process.on("warning", hear);
    const server = await start(
      (socket) => void socket.write(`${CHUNKS}${"1\r\na\r\n".repeat(1_500_000)}1\r\nz\r\n0\r\n\r\n`),
    );
    const pipeline = await proxy(server.origin);
    const client = connect(pipeline.port, "127.0.0.1");
    client.write(request("GET", "Connection: close\r\n"));
    client.pause();
    await expect.poll(() => server.requests.length).toBe(1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    let text = "";
    for await (const chunk of client) text += String(chunk);
    expect(text).toMatch(/\r\n0\r\n\r\n$/);
    process.off("warning", hear);
    expect(warnings).toEqual([]);
  });

  test("by a Connection header that names thousands of fields", async () => {
    const names = Array.from({ length: 900 }, (_, index) => `n${index}`);
    const unknown = "q,".repeat(25_000);
    const fields = names.map((name) => `${name}: v\r\n`).join("");
    const server = await start((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\nconnection: ${unknown}${names[0]}\r\n${fields}content-length: 2\r\n\r\nok`);
    });
    expect(await timed(server, "\r\n\r\nok")).toBeLessThan(100);
  });
});

describe("bodies of any size", () => {
  const GIB = 1_073_741_824;

  /** Maximum growth of the process's memory. */
  async function growthWhile(work: () => Promise<void>): Promise<number> {
    const before = process.memoryUsage.rss();
    let most = before;
    const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 5);
    try {
      await work();
    } finally {
      clearInterval(watch);
    }
    return most - before;
  }

  test.each([
    ["with a length", `HTTP/1.1 200 OK\r\ncontent-length: ${GIB}\r\n\r\n`],
    ["without", "HTTP/1.1 200 OK\r\n\r\n"],
  ])("1 GiB %s comes down through a client that stops and goes, in bounded memory", async (_how, head) => {
    const block = Buffer.alloc(1_048_576, "d");
    let sent = 0;
    const server = await start((socket) => {
      socket.write(head);
      const more = (): void => {
        while (sent < GIB) {
          sent += block.length;
          if (!socket.write(block)) return void socket.once("drain", more);
        }
        if (!head.includes("length")) socket.end();
      };
      more();
    });
    const pipeline = await proxy(server.origin, { timeout: "60s" });
    let received = 0;
    const growth = await growthWhile(async () => {
      const client = connect(pipeline.port, "127.0.0.1");
      client.write(request("GET", "Connection: close\r\n"));
      client.pause();
      await expect.poll(() => sent).toBeGreaterThan(0);
      // Until nothing moves: all buffers between the two are full.
      for (let known = -1; known !== sent;) {
        known = sent;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(sent).toBeLessThan(64 * 1_048_576);
      client.on("data", (chunk: Buffer) => {
        received += chunk.length;
        if (received % 97 === 0) {
          client.pause();
          setImmediate(() => client.resume());
        }
      });
      client.resume();
      await new Promise((resolve) => client.once("close", resolve));
    });
    expect(received).toBeGreaterThan(GIB);
    expect(growth).toBeLessThan(200 * 1_048_576);
  });

  test("256 MiB go up to an upstream that stops and goes, in bounded memory", async () => {
    const size = 268_435_456;
    let received = 0;
    let held: Socket | undefined;
    const server = await start(undefined, {
      raw: true,
      onConnection(socket) {
        socket.on("data", (chunk: Buffer) => {
          received += chunk.length;
          if (held === undefined) {
            held = socket;
            socket.pause();
          }
          if (received > size) socket.write(okText("all"));
        });
      },
    });
    const pipeline = await proxy(server.origin, { timeout: "60s" });
    const growth = await growthWhile(async () => {
      const client = openRaw(pipeline.port, request("POST", `Content-Length: ${size}\r\nConnection: close\r\n`));
      let left = size;
      Readable.from(
        (function* () {
          for (; left > 0; left -= 65_536) yield Buffer.alloc(65_536, "u");
        })(),
      ).pipe(client.socket, { end: false });
      await expect.poll(() => held).toBeDefined();
      for (let known = -1; known !== left;) {
        known = left;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      expect(size - left).toBeLessThan(64 * 1_048_576);
      held?.resume();
      await client.contains("all");
      await client.closed;
    });
    expect(received).toBeGreaterThan(size);
    expect(growth).toBeLessThan(200 * 1_048_576);
  });
});

test("an event stream has no time limit, and its client closes the connection with it", async () => {
  const server = await start(
    (socket) => void socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: 1\n\n"),
  );
  const pipeline = await proxy(server.origin, { timeout: "1s" });
  const client = openRaw(pipeline.port, request("GET", "Accept: text/event-stream\r\n"));
  await client.contains("data: 1");
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  for (const socket of server.open) socket.write("data: 2\n\n");
  await client.contains("data: 2");
  client.socket.destroy();
  await expect.poll(() => server.open.size).toBe(0);
  server.answer(ok("next"));
  expect((await sendRaw(pipeline.port, request("GET", "Connection: close\r\n"))).body).toBe("next");
});
