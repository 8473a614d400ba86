/** How requests end: by an answer, by silence, by a break, by giving up; each once, and at each stage. */
import type { Socket } from "node:net";

import { beforeEach, describe, expect, test } from "vitest";

import type { Transport } from "../../../../runtime/upstreams/transport-types.ts";
import { failureOfEstablished, failureOfOpening } from "../../../../runtime/upstreams/failure.ts";
import { ask, loopTurns, outcome } from "../../../support/ask-upstream.ts";
import { freePort } from "../../../support/ports.ts";
import { ok, okText } from "../../../support/scripted-upstream.ts";
import { upstreamsOfEachTest } from "../../../support/upstream-suite.ts";
import { createHttp1Transport } from "../../../../runtime/upstreams/transport.ts";

let transport: Transport;
beforeEach(() => {
  transport = createHttp1Transport({ connectTimeoutMs: 2_000 });
});
const start = upstreamsOfEachTest(() => transport.close());

const CHUNKS = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
const TO_THE_END = "HTTP/1.1 200 OK\r\n\r\n";
const PARTS: readonly (readonly [where: string, bytes: string])[] = [
  ["before the answer", ""],
  ["in the status line", "HTTP/1.1 20"],
  ["in the head", "HTTP/1.1 200 OK\r\ncontent-len"],
  ["behind an interim answer", "HTTP/1.1 100 Continue\r\n\r\n"],
  ["behind the head", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"],
  ["in a body with a length", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc"],
  ["in a chunk", `${CHUNKS}5\r\nabc`],
  ["between chunks", `${CHUNKS}3\r\nabc\r\n`],
  ["before the trailers", `${CHUNKS}3\r\nabc\r\n0\r\n`],
];

describe("a connection that breaks", () => {
  test.each(PARTS.flatMap(([where, bytes]) => ["ends", "is reset"].map((how) => [how, where, bytes] as const)))(
    "%s %s is one failure",
    async (how, _where, bytes) => {
      const server = await start((socket) => {
        const finish = (): void => void (how === "ends" ? socket.end() : socket.resetAndDestroy());
        if (bytes === "") finish();
        else socket.write(bytes, () => setImmediate(finish));
      });
      for (const method of ["GET", "POST"]) {
        const { failure, body } = await outcome(transport, server.upstream, { method });
        expect(failure).toBe("reset");
        expect("abc").toContain(body.toString());
      }
    },
  );

  test("ends an answer without a length well, and a reset does not", async () => {
    const server = await start((socket) => void socket.end(`${TO_THE_END}all of it`));
    expect(await outcome(transport, server.upstream)).toMatchObject({ failure: undefined, status: 200 });
    const half = ask(transport, server.upstream);
    server.answer((socket) => void socket.write(`${TO_THE_END}half`));
    await expect.poll(() => half.received).toBe(4);
    for (const socket of server.open) socket.resetAndDestroy();
    expect((await half.over).failure).toBe("reset");
  });

  test("is never taken for one that sent nothing, once something may have been sent", () => {
    const error = (code: string, syscall?: string): Error => Object.assign(new Error("made"), { code, syscall });
    for (const code of [
      "ETIMEDOUT",
      "EHOSTUNREACH",
      "ENETUNREACH",
      "ECONNRESET",
      "EPIPE",
      "ECONNABORTED",
      "EHOSTDOWN",
    ]) {
      expect(failureOfEstablished(error(code, "read"))).toBe("reset");
    }
    expect(failureOfEstablished(undefined)).toBe("reset");
    expect(failureOfEstablished(error("ERR_SSL_SSLV3_ALERT_BAD_RECORD_MAC"))).toBe("protocol");
    expect(failureOfEstablished(error("EPROTO", "write"))).toBe("protocol");
    expect(failureOfOpening(error("ETIMEDOUT", "connect"))).toBe("connect-timeout");
    expect(failureOfOpening(error("ECONNREFUSED", "connect"))).toBe("unreachable");
    expect(failureOfOpening(error("ECONNRESET", "read"))).toBe("unreachable");
    expect(failureOfOpening(undefined)).toBe("unreachable");
    expect(failureOfOpening(error("CERT_HAS_EXPIRED"))).toBe("protocol");
  });
});

describe("an upstream that is not there", () => {
  test("is unreachable, by number and by name", async () => {
    const port = await freePort();
    for (const host of ["127.0.0.1", "localhost"]) {
      const origin = `http://${host}:${port}`;
      const { failure } = await outcome(transport, { origin, host, basePath: "", weight: 1 });
      expect(failure).toBe("unreachable");
    }
    const origin = "http://nowhere.invalid";
    expect((await outcome(transport, { origin, host: "x", basePath: "", weight: 1 })).failure).toMatch(
      /^(unreachable|connect-timeout)$/,
    );
  });

  test("fails each of many requests, and is there again as soon as it is", async () => {
    const port = await freePort();
    const gone = { origin: `http://127.0.0.1:${port}`, host: "x", basePath: "", weight: 1 };
    const all = await Promise.all(Array.from({ length: 50 }, () => outcome(transport, gone)));
    expect(new Set(all.map(({ failure }) => failure))).toEqual(new Set(["unreachable"]));
    const server = await start();
    expect((await outcome(transport, server.upstream)).failure).toBeUndefined();
  });
});

describe("silence", () => {
  test.each(PARTS)("%s ends the request in time", async (where, bytes) => {
    const server = await start((socket) => void (bytes !== "" && socket.write(bytes)));
    const isInBody = /body|chunk|trailers|behind the head/.test(where);
    const times = isInBody
      ? { headTimeoutMs: 60_000, idleTimeoutMs: 60 }
      : { headTimeoutMs: 60, idleTimeoutMs: 60_000 };
    const began = performance.now();
    const { failure, detail } = await outcome(transport, server.upstream, times);
    expect(failure).toBe("timeout");
    expect(detail).toBe(isInBody ? "the answer stopped coming" : "no answer came in time");
    expect(performance.now() - began).toBeGreaterThan(58);
    await expect.poll(() => server.open.size).toBe(0);
  });

  test("may last for ever where no limit is set", async () => {
    const server = await start((socket) => void socket.write(CHUNKS));
    const asked = ask(transport, server.upstream, { headTimeoutMs: 0, idleTimeoutMs: 0 });
    await asked.head;
    // Longer than the connection might take, whose timer it is.
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    expect(asked.isOver).toBe(false);
    for (const socket of server.open) socket.write("0\r\n\r\n");
    expect((await asked.over).failure).toBeUndefined();
  });

  test("of up to ten years does not fire the timer immediately", async () => {
    const warnings: string[] = [];
    const hear = ({ name }: Error): void => void warnings.push(name);
    process.on("warning", hear);
    let held: Socket | undefined;
    const server = await start((socket) => void (held = socket));
    const tenYears = 3_650 * 86_400_000;
    const asked = ask(transport, server.upstream, { headTimeoutMs: tenYears, idleTimeoutMs: tenYears });
    await expect.poll(() => held).toBeDefined();
    await loopTurns(10);
    held?.write(okText("late"));
    expect((await asked.over).body.toString()).toBe("late");
    process.off("warning", hear);
    expect(warnings).toEqual([]);
  });

  test("of a head that comes drop by drop is counted from its request, not from the last drop", async () => {
    const server = await start((socket) => {
      const drops = setInterval(() => socket.write("a"), 5);
      socket.write("HTTP/1.1 200 OK\r\nx: ");
      socket.on("close", () => clearInterval(drops));
    });
    expect((await outcome(transport, server.upstream, { headTimeoutMs: 100 })).failure).toBe("timeout");
  });

  test("of interim answers without end neither", async () => {
    const server = await start((socket) => {
      const drops = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 10);
      socket.on("close", () => clearInterval(drops));
    });
    expect((await outcome(transport, server.upstream, { headTimeoutMs: 100 })).failure).toBe("timeout");
  });

  test("is over with each byte of a body", async () => {
    const server = await start((socket) => {
      let left = 11;
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n");
      const drops = setInterval(() => {
        socket.write("a");
        if ((left -= 1) === 0) clearInterval(drops);
      }, 200);
    });
    expect((await outcome(transport, server.upstream, { idleTimeoutMs: 2_000 })).body.toString()).toBe("a".repeat(11));
  });

  test("of a slow client is not the upstream's", async () => {
    const server = await start((socket) => void socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc`));
    const asked = ask(transport, server.upstream, { idleTimeoutMs: 1_000, onData: (call) => call.pause() });
    await expect.poll(() => asked.received).toBe(3);
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(asked.isOver).toBe(false);
    for (const socket of server.open) socket.write("def");
    asked.call.resume();
    expect((await asked.over).body.toString()).toBe("abcdef");
  });

  test("after a pause is the upstream's again", async () => {
    const server = await start((socket) => void socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nabc`));
    const asked = ask(transport, server.upstream, { idleTimeoutMs: 50 });
    await expect.poll(() => asked.received).toBe(3);
    asked.call.pause();
    asked.call.resume();
    expect((await asked.over).failure).toBe("timeout");
  });
});

describe("a pause", () => {
  test("stops the bytes, and loses none", async () => {
    const size = 3_000_000;
    const server = await start((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`);
      socket.write(Buffer.alloc(size, "p"));
    });
    let cooldowns = 0;
    const { body } = await outcome(transport, server.upstream, {
      onData(call) {
        cooldowns += 1;
        call.pause();
        setImmediate(() => call.resume());
      },
    });
    expect(body.equals(Buffer.alloc(size, "p"))).toBe(true);
    expect(cooldowns).toBeGreaterThan(10);
  });

  test("at the end of an answer does not stop the next one on the connection", async () => {
    const server = await start(ok("abc"));
    for (let round = 0; round < 5; round += 1) {
      const asked = ask(transport, server.upstream, { onHead: (call) => call.pause(), onData: (call) => call.pause() });
      expect((await asked.over).body.toString()).toBe("abc");
      // A late drain of the client has no effect.
      asked.call.pause();
      asked.call.resume();
    }
    expect(server.connections).toBe(1);
  });
});

describe("giving up", () => {
  const heard = async (asked: { readonly isOver: boolean }): Promise<void> => {
    await loopTurns(5);
    expect(asked.isOver).toBe(false);
  };

  test("while connecting, while waiting and just after sending notifies no receiver and holds nothing", async () => {
    const server = await start();
    const connecting = ask(transport, server.upstream);
    connecting.call.abort();
    connecting.call.abort();
    await heard(connecting);
    expect((await outcome(transport, server.upstream)).failure).toBeUndefined();
    const unsent = ask(transport, server.upstream, { path: "/never" });
    unsent.call.abort();
    await heard(unsent);
    expect(server.requests.map(({ target }) => target)).not.toContain("/never");
    expect((await outcome(transport, server.upstream)).failure).toBeUndefined();
  });

  test.each(PARTS)("%s closes the connection and says nothing more", async (where, bytes) => {
    const server = await start((socket) => void (bytes !== "" && socket.write(bytes)));
    const asked = ask(transport, server.upstream);
    await expect.poll(() => server.requests.length).toBe(1);
    if (/body|chunk|trailers|behind the head/.test(where)) await asked.head;
    asked.call.abort();
    await expect.poll(() => server.open.size).toBe(0);
    await heard(asked);
    server.answer(ok("next"));
    expect((await outcome(transport, server.upstream)).body.toString()).toBe("next");
  });

  test.each(["onHead", "onData"] as const)("in %s stops all that lies in the same read", async (where) => {
    const server = await start((socket) => void socket.write(`${CHUNKS}1\r\na\r\n1\r\nb\r\n0\r\n\r\n`));
    const asked = ask(transport, server.upstream, { [where]: (call: { abort(): void }) => call.abort() });
    await expect.poll(() => server.open.size === 0 && server.requests.length === 1).toBe(true);
    await heard(asked);
    expect(asked.received).toBe(where === "onHead" ? 0 : 2);
  });
});
