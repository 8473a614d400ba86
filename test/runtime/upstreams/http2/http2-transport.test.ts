/** Our own HTTP/2 connections to upstreams: what counts as an answer, what is sent again, how connections are shared and end. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import type { Transport } from "../../../../runtime/upstreams/transport-types.ts";
import { createTransport } from "../../../../runtime/upstreams/transport.ts";
import { ask, outcome, violations, type Ask, type Outcome } from "../../../support/ask-upstream.ts";
import { ERROR, FLAG, FRAME, frame, block } from "../../../support/raw-h2.ts";
import {
  data,
  goaway,
  headers,
  reset,
  startScriptedHttp2,
  uint,
  type Http2Script,
  type ScriptedHttp2,
} from "../../../support/scripted-http2.ts";

let server: ScriptedHttp2;
let transport: Transport;

beforeAll(async () => {
  server = await startScriptedHttp2(() => {});
  transport = createTransport();
});
afterEach(() => {
  expect(violations).toEqual([]);
});
afterAll(async () => {
  await transport.close();
  await server.close();
});

const END = FLAG.endStream;
const OK = [":status", "200"] as const;
const ok =
  (text: string): Http2Script =>
  (stream) =>
    stream.send(headers(stream, [OK]), data(stream, text, END));

const played = (script: Http2Script, more: Ask = {}): Promise<Outcome> => {
  server.answer(script);
  return outcome(transport, server.upstream(), { headTimeoutMs: 20_000, idleTimeoutMs: 20_000, ...more });
};
const text = ({ body }: Outcome): string => body.toString();
const open = (): Readable => new Readable({ read: () => {} });
const cases = (each: readonly (readonly [string, Http2Script])[]): readonly (readonly [string, Http2Script])[] => each;

test("a request that cannot begin because of an error does not affect others on its connection", async () => {
  const broken = new PassThrough();
  Object.defineProperty(broken, "destroyed", {
    get() {
      throw new Error("a mistake");
    },
  });
  server.answer(ok("hi"));
  const upstream = server.upstream();
  // Both wait for the connection.
  const [first, second] = await Promise.all([
    outcome(transport, upstream, { body: broken, method: "POST" }),
    outcome(transport, upstream, {}),
  ]);
  expect([first.failure, second.status, text(second)]).toEqual(["protocol", 200, "hi"]);
});

describe("an answer", () => {
  test("with data, and headers in their order", async () => {
    const answer = await played((stream) =>
      stream.send(
        headers(stream, [OK, ["x-b", "1"], ["set-cookie", "a"], ["set-cookie", "b"]]),
        data(stream, "hi", END),
      ),
    );
    expect([answer.status, text(answer), answer.failure, answer.trailers]).toEqual([200, "hi", undefined, undefined]);
    expect(answer.headers).toEqual(["x-b", "1", "set-cookie", "a", "set-cookie", "b"]);
  });

  test("with trailers, also after a declared length", async () => {
    const trailers = [
      ["grpc-status", "0"],
      ["a", "1"],
      ["a", "2"],
    ] as const;
    for (const more of [[], [["content-length", "2"]]] as const) {
      const answer = await played((stream) =>
        stream.send(headers(stream, [OK, ...more]), data(stream, "hi"), headers(stream, trailers, END)),
      );
      expect([text(answer), answer.failure, answer.trailers]).toEqual(["hi", undefined, trailers.flat()]);
    }
  });

  test("that is only a head is distinguished from an empty one", async () => {
    const alone = await played((stream) => stream.send(headers(stream, [OK, ["grpc-status", "5"]], END)));
    const empty = await played((stream) => stream.send(headers(stream, [OK]), data(stream, "", END)));
    expect([alone.isWhole, alone.headers, alone.failure]).toEqual([true, ["grpc-status", "5"], undefined]);
    expect([empty.isWhole, empty.failure]).toEqual([false, undefined]);
  });

  test("that is whole stays whole when RST_STREAM follows", async () => {
    for (const code of [ERROR.none, ERROR.cancel]) {
      for (const body of [undefined, open()]) {
        const answer = await played(
          (stream) => stream.send(headers(stream, [OK]), data(stream, "hi", END), reset(stream, code)),
          { body, method: "POST" },
        );
        expect([text(answer), answer.failure]).toEqual(["hi", undefined]);
      }
    }
  });

  test.each(
    cases([
      ["the end of the connection", (s) => s.socket.end()],
      ["a reset of the connection", (s) => s.socket.resetAndDestroy()],
      ["GOAWAY with an error", (s) => s.send(goaway(s.id, ERROR.enhanceYourCalm))],
    ]),
  )("that came whole is taken whole later, though %s followed", async (_what, then) => {
    const streams: Parameters<Http2Script>[0][] = [];
    server.answer((stream) => void streams.push(stream));
    const upstream = server.upstream();
    const asked = [1, 2].map(() => ask(transport, upstream, { onHead: (call) => call.pause() }));
    await expect.poll(() => streams.length).toBe(2);
    const [first, second] = streams as [Parameters<Http2Script>[0], Parameters<Http2Script>[0]];
    const half = "x".repeat(9_000);
    first.send(headers(first, [OK]), data(first, half), data(first, half), headers(first, [["x-sum", "1"]], END));
    second.send(headers(second, [OK]), data(second, half));
    for (const { head } of asked) await head;
    then(first, 0);
    // An incomplete response is notified of the end immediately.
    expect((await asked[1]?.over)?.failure).toMatch(/^(?:reset|protocol)$/);
    asked[0]?.call.resume();
    expect(await asked[0]?.over).toMatchObject({ failure: undefined, trailers: ["x-sum", "1"] });
    expect((await asked[0]?.over)?.body.toString()).toBe(half + half);
  });

  test("comes after interim responses", async () => {
    const answer = await played((stream) =>
      stream.send(
        headers(stream, [
          [":status", "103"],
          ["link", "x"],
        ]),
        headers(stream, [OK]),
        data(stream, "hi", END),
      ),
    );
    expect([answer.status, text(answer), answer.headers]).toEqual([200, "hi", []]);
  });

  test("keeps each byte of a value", async () => {
    const answer = await played((stream) => stream.send(headers(stream, [OK, ["x-a", "\u00e4\u00ff"]], END)));
    expect(answer.headers).toEqual(["x-a", "\u00e4\u00ff"]);
  });

  test.each(
    cases([
      ["RST_STREAM with NO_ERROR", (s) => s.send(headers(s, [OK]), data(s, "hi"), reset(s, ERROR.none))],
      ["RST_STREAM with CANCEL", (s) => s.send(headers(s, [OK]), data(s, "hi"), reset(s, ERROR.cancel))],
      ["RST_STREAM with INTERNAL_ERROR", (s) => s.send(headers(s, [OK]), reset(s, ERROR.internal))],
      ["GOAWAY with an error", (s) => s.send(headers(s, [OK]), data(s, "hi"), goaway(s.id, ERROR.internal))],
      [
        "the end of the connection",
        (s) => s.socket.write(Buffer.concat([headers(s, [OK]), data(s, "hi")]), () => s.socket.end()),
      ],
      [
        "a reset of the connection",
        (s) => s.socket.write(Buffer.concat([headers(s, [OK]), data(s, "hi")]), () => s.socket.resetAndDestroy()),
      ],
    ]),
  )("that breaks off by %s never looks whole", async (_how, script) => {
    for (const body of [undefined, open()]) {
      const answer = await played(script, { body, method: "POST" });
      expect([answer.status, answer.failure]).toEqual([200, "reset"]);
    }
  });

  test.each(
    cases([
      ["pseudo-headers in trailers", (s) => s.send(headers(s, [OK]), headers(s, [OK, ["a", "1"]], END))],
      ["another pseudo-header in trailers", (s) => s.send(headers(s, [OK]), headers(s, [[":path", "/"]], END))],
      ["trailers that do not end it", (s) => s.send(headers(s, [OK]), data(s, "hi"), headers(s, [["a", "1"]]))],
      ["data behind trailers", (s) => s.send(headers(s, [OK]), headers(s, [["a", "1"]]), data(s, "hi", END))],
      [
        "a field of the connection in trailers",
        (s) => s.send(headers(s, [OK]), headers(s, [["connection", "a"]], END)),
      ],
      ["a length in trailers", (s) => s.send(headers(s, [OK]), headers(s, [["content-length", "7"]], END))],
      ["a coding in trailers", (s) => s.send(headers(s, [OK]), headers(s, [["transfer-encoding", "chunked"]], END))],
      ["a name in upper case in trailers", (s) => s.send(headers(s, [OK]), headers(s, [["X-A", "1"]], END))],
      ["fewer bytes than declared", (s) => s.send(headers(s, [OK, ["content-length", "5"]]), data(s, "hi", END))],
      ["more bytes than declared", (s) => s.send(headers(s, [OK, ["content-length", "1"]]), data(s, "hi", END))],
      ["two lengths", (s) => s.send(headers(s, [OK, ["content-length", "1"], ["content-length", "2"]], END))],
      ["two statuses", (s) => s.send(headers(s, [OK, OK], END))],
      ["a field of the connection", (s) => s.send(headers(s, [OK, ["connection", "close"]], END))],
      ["no status", (s) => s.send(headers(s, [["a", "1"]], END))],
      ["data before its head", (s) => s.send(data(s, "hi", END))],
      ["an interim answer as its end", (s) => s.send(headers(s, [[":status", "103"]], END))],
      ["HTTP/1.1", (s) => void s.socket.write("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")],
      [
        "interim answers without end",
        (s) => s.send(...Array.from({ length: 40 }, () => headers(s, [[":status", "103"]])), headers(s, [OK], END)),
      ],
      [
        "a head past the bound",
        (s) => {
          const long = block([OK, ...Array.from({ length: 5 }, () => ["x-a", "a".repeat(15_000)] as const)]);
          s.send(frame(FRAME.headers, END, s.id, long.subarray(0, 16_384)));
          for (let at = 16_384; at < long.length; at += 16_384) {
            const rest = long.subarray(at, at + 16_384);
            s.send(frame(FRAME.continuation, at + 16_384 >= long.length ? FLAG.endHeaders : 0, s.id, rest));
          }
        },
      ],
      [
        "trailers of too many fields",
        (s) =>
          s.send(
            headers(s, [OK]),
            headers(
              s,
              Array.from({ length: 1_100 }, () => ["a", "1"] as const),
              END,
            ),
          ),
      ],
    ]),
  )("with %s is refused", async (_what, script) => {
    const answer = await played(script);
    expect(answer.failure).toMatch(/^(?:protocol|reset)$/);
  });

  test("loses fields that could be read as two, in heads and trailers", async () => {
    const bad = [
      ["x-a", "1\r\nx-evil: 1"],
      ["x-b\r\nx-evil", "1"],
      ["x c", "1"],
      ["x-d", "1\0"],
    ] as const;
    const answer = await played((stream) =>
      stream.send(headers(stream, [OK, ...bad, ["x-ok", "1"]]), headers(stream, [...bad, ["x-ok", "2"]], END)),
    );
    expect([answer.headers, answer.trailers]).toEqual([
      ["x-ok", "1"],
      ["x-ok", "2"],
    ]);
  });

  test("that does not come, or stops, has a limit", async () => {
    expect(await played(() => {}, { headTimeoutMs: 20 })).toMatchObject({ failure: "timeout", status: 0 });
    const half: Http2Script = (stream) => stream.send(headers(stream, [OK]), data(stream, "h"));
    expect(await played(half, { idleTimeoutMs: 20 })).toMatchObject({ failure: "timeout", status: 200 });
    await expect.poll(() => server.seen.filter(({ type }) => type === FRAME.reset).length).toBeGreaterThanOrEqual(2);
  });
});

describe("a request", () => {
  test("has the passed values: pseudo-headers, authority, lower-case names, the length of a complete body", async () => {
    server.answer(ok("ok"));
    const answer = await outcome(transport, server.upstream(), {
      method: "POST",
      path: "/a?b",
      headers: ["host", "app.example", "X-A", "1"],
      body: Buffer.from("body"),
    });
    expect(answer.failure).toBeUndefined();
    expect(server.seen.at(-1)).toMatchObject({ type: FRAME.data, flags: END, payload: Buffer.from("body") });
  });

  test.each([
    ["a line feed", { headers: ["host", "a", "x-a", "1\nx: 2"] }],
    ["a wide character", { headers: ["host", "a", "x-a", "\u010a"] }],
    ["a line feed in the path", { path: "/a\r\nb" }],
  ])("with %s never leaves", async (_what, more) => {
    const before = server.streams;
    const answer = await played(ok("ok"), more);
    expect([answer.failure, server.streams]).toEqual(["protocol", before]);
  });

  test("sends trailers after a stream, and after a complete body", async () => {
    for (const body of [Readable.from([Buffer.from("abc")]), Buffer.from("abc")]) {
      const trailers = (): readonly string[] => ["x-sum", "1"];
      server.answer((stream) => setImmediate(() => stream.send(headers(stream, [OK], END))));
      const before = server.seen.length;
      await outcome(transport, server.upstream(), { method: "POST", body, trailers });
      await expect.poll(() => server.seen.slice(before).at(-1)).toMatchObject({ type: FRAME.headers });
      expect(server.seen.at(-1)?.payload.includes("x-sum") || server.seen.at(-1)?.payload.length).toBeTruthy();
      expect((server.seen.at(-1)?.flags ?? 0) & END).toBe(END);
    }
  });

  test.each([
    ["none", []],
    ["a pseudo-header", [":path", "/"]],
    ["one that no message may have", ["connection", "x"]],
  ])("whose trailers are %s ends in one of the two ways", async (_what, list) => {
    server.answer((stream) => setImmediate(() => stream.send(headers(stream, [OK]), data(stream, "ok", END))));
    const before = server.seen.length;
    await outcome(transport, server.upstream(), {
      method: "POST",
      body: Readable.from([Buffer.from("abc")]),
      trailers: () => list,
    });
    const isLast = ({ type, flags }: { type: number; flags: number }): boolean =>
      type === FRAME.reset || (flags & END) !== 0;
    await expect.poll(() => server.seen.slice(before).some(isLast)).toBe(true);
    expect(server.seen.slice(before).some(({ type }) => type === FRAME.headers)).toBe(false);
  });

  test("that breaks off never looks complete", async () => {
    for (const breakOff of [
      (body: Readable) => body.destroy(new Error("gone")),
      (body: Readable) => body.destroy(),
      (body: Readable) => void body.push(null),
    ]) {
      const body = open();
      const before = server.seen.length;
      const trailers = (): readonly string[] => {
        throw new Error("too many trailers");
      };
      server.answer(() => {});
      const asked = ask(transport, server.upstream(), { method: "POST", body, trailers });
      body.push("part");
      await expect.poll(() => server.seen.slice(before).length).toBeGreaterThan(0);
      breakOff(body);
      expect((await asked.over).failure).toBe("request-body");
      await expect.poll(() => server.seen.at(-1)?.type).toBe(FRAME.reset);
      expect(server.seen.slice(before).filter(({ flags, type }) => type === FRAME.data && (flags & END) !== 0)).toEqual(
        [],
      );
    }
  });

  test("continues while its response comes, and ends with its response", async () => {
    const body = new PassThrough();
    const before = server.seen.length;
    server.answer((stream) => stream.send(headers(stream, [OK]), data(stream, "a")));
    let stream: Parameters<Http2Script>[0] | undefined;
    server.answer((each) => {
      stream = each;
      each.send(headers(each, [OK]), data(each, "a"));
    });
    const asked = ask(transport, server.upstream(), { method: "POST", body });
    await asked.head;
    body.write("1");
    await expect.poll(() => server.seen.slice(before).map(({ payload }) => payload.toString())).toEqual(["1"]);
    stream?.send(data(stream, "b"));
    await expect.poll(() => asked.received).toBe(2);
    body.write("2");
    await expect.poll(() => server.seen.slice(before).map(({ payload }) => payload.toString())).toEqual(["1", "2"]);
    stream?.send(headers(stream, [["grpc-status", "0"]], END));
    expect(await asked.over).toMatchObject({ failure: undefined, trailers: ["grpc-status", "0"] });
    await expect.poll(() => server.seen.at(-1)).toMatchObject({ type: FRAME.reset, payload: uint(ERROR.cancel) });
    expect(body.destroyed).toBe(true);
  });

  test("that is aborted ends with RST_STREAM", async () => {
    server.answer((stream) => stream.send(headers(stream, [OK])));
    const before = server.seen.length;
    const asked = ask(transport, server.upstream());
    await asked.head;
    asked.call.abort();
    await expect
      .poll(() => server.seen.slice(before))
      .toMatchObject([{ type: FRAME.reset, payload: uint(ERROR.cancel) }]);
    expect(asked.isOver).toBe(false);
  });

  test("is slowed down by the reader of its response, and continues", async () => {
    const chunk = "x".repeat(16_000);
    server.answer((stream) => {
      stream.send(headers(stream, [OK]));
      for (let count = 0; count < 4; count += 1) stream.send(data(stream, chunk, count === 3 ? END : 0));
    });
    let paused = 0;
    const answer = await outcome(transport, server.upstream(), {
      idleTimeoutMs: 50,
      onData(call) {
        paused += 1;
        call.pause();
        setTimeout(() => call.resume(), 80);
      },
    });
    expect([answer.failure, answer.body.length]).toEqual([undefined, 64_000]);
    expect(paused).toBeGreaterThan(1);
  });
});

describe("a request that the upstream did not process", () => {
  const refuseFirst =
    (how: (stream: Parameters<Http2Script>[0]) => void, times: number): Http2Script =>
    (stream) => {
      if (times > 0) {
        times -= 1;
        how(stream);
      } else ok("at last")(stream, 0);
    };

  test.each([
    ["REFUSED_STREAM", (s: Parameters<Http2Script>[0]) => s.send(reset(s, ERROR.refused))],
    ["GOAWAY", (s: Parameters<Http2Script>[0]) => s.send(goaway(0, ERROR.none))],
  ])("by %s is resent", async (_how, how) => {
    for (const more of [{}, { method: "POST", body: Buffer.from("body") }, { method: "POST", body: open() }]) {
      const answer = await played(refuseFirst(how, 1), more);
      expect([answer.failure, text(answer)]).toEqual([undefined, "at last"]);
      expect((await played(refuseFirst(how, 2), more.body ? { ...more, body: Buffer.from("b") } : more)).failure).toBe(
        "overloaded",
      );
    }
  });

  test("is not sent again when some of its body has gone", async () => {
    const body = open();
    let stream: Parameters<Http2Script>[0] | undefined;
    server.answer((each) => void (stream = each));
    const streams = server.streams;
    const before = server.seen.length;
    const asked = ask(transport, server.upstream(), { method: "POST", body });
    body.push("part");
    await expect.poll(() => server.seen.length).toBeGreaterThan(before);
    stream?.send(reset(stream, ERROR.refused));
    expect((await asked.over).failure).toBe("overloaded");
    expect(server.streams).toBe(streams + 1);
  });

  test("is distinguished from processed ones: no other request is resent", async () => {
    const before = server.streams;
    expect((await played((stream) => stream.send(reset(stream, ERROR.cancel)))).failure).toBe("reset");
    expect((await played((stream) => void stream.socket.resetAndDestroy())).failure).toBe("reset");
    expect(server.streams).toBe(before + 2);
  });
});

describe("connections", () => {
  const begin = (count: number, upstream = server.upstream()): ReturnType<typeof ask>[] =>
    Array.from({ length: count }, () => ask(transport, upstream));

  test("are shared by a hundred requests each", async () => {
    const waiting: Parameters<Http2Script>[0][] = [];
    server.answer((stream) => void waiting.push(stream));
    const before = server.connections;
    const asked = begin(250);
    await expect.poll(() => waiting.length).toBe(250);
    expect(server.connections - before).toBe(3);
    for (const stream of waiting) stream.send(headers(stream, [OK], END));
    for (const { over } of asked) expect((await over).failure).toBeUndefined();
  });

  test("respect their limits, and waiting requests have their turn", async () => {
    const upstream = server.upstream({ maxConnections: 1, maxPending: 5 });
    const waiting: Parameters<Http2Script>[0][] = [];
    server.answer((stream) => void waiting.push(stream));
    const before = server.connections;
    const asked = begin(110, upstream);
    await expect.poll(() => waiting.length).toBe(100);
    expect(server.connections - before).toBe(1);
    const refused = asked.slice(105);
    for (const { over } of refused) expect((await over).failure).toBe("overloaded");
    // One that waits goes away; its place is free again.
    asked[104]?.call.abort();
    for (const stream of waiting.splice(0)) stream.send(headers(stream, [OK], END));
    await expect.poll(() => waiting.length).toBe(4);
    for (const stream of waiting) stream.send(headers(stream, [OK], END));
    for (const { over } of asked.slice(0, 104)) expect((await over).failure).toBeUndefined();
    server.answer(ok("again"));
    expect(text(await outcome(transport, upstream))).toBe("again");
  });

  test("give no more streams than the upstream takes at once", async () => {
    const few = await startScriptedHttp2(() => {}, { settings: Buffer.concat([Buffer.from([0, 3]), uint(2)]) });
    try {
      const upstream = few.upstream();
      few.answer(ok("first"));
      await outcome(transport, upstream);
      const waiting: Parameters<Http2Script>[0][] = [];
      few.answer((stream) => void waiting.push(stream));
      const asked = begin(4, upstream);
      await expect.poll(() => waiting.length).toBe(4);
      expect(few.connections).toBeGreaterThan(1);
      for (const stream of waiting) stream.send(headers(stream, [OK], END));
      for (const { over } of asked) expect((await over).failure).toBeUndefined();
    } finally {
      await few.close();
    }
  });

  test("know from the first on how many streams the upstream takes at once, once it has said so", async () => {
    const few = await startScriptedHttp2(() => {}, { settings: Buffer.concat([Buffer.from([0, 3]), uint(2)]) });
    try {
      const upstream = few.upstream();
      const waiting: Parameters<Http2Script>[0][] = [];
      // As servers do it with what comes before their SETTINGS.
      few.answer((stream, count) =>
        count < 2 ? void waiting.push(stream) : stream.send(reset(stream, ERROR.refused)),
      );
      const asked = begin(40, upstream);
      await expect.poll(() => waiting.length).toBe(40);
      for (const stream of waiting) stream.send(headers(stream, [OK], END));
      for (const { over } of asked) expect((await over).failure).toBeUndefined();
    } finally {
      await few.close();
    }
  });

  test("that receive nothing are not used for new requests, but finish theirs", async () => {
    const upstream = server.upstream();
    server.answer(ok("first"));
    await outcome(transport, upstream);
    const streams: Parameters<Http2Script>[0][] = [];
    server.answer((stream) => void streams.push(stream));
    const patient = ask(transport, upstream);
    await expect.poll(() => streams.length).toBe(1);
    const before = server.connections;
    expect((await outcome(transport, upstream, { headTimeoutMs: 30 })).failure).toBe("timeout");
    server.answer(ok("another"));
    expect(text(await outcome(transport, upstream))).toBe("another");
    expect(server.connections - before).toBe(1);
    const [slow] = streams as [Parameters<Http2Script>[0]];
    slow.send(headers(slow, [OK]), data(slow, "late", END));
    expect(text(await patient.over)).toBe("late");
    await expect.poll(() => server.open.has(slow.socket)).toBe(false);
  });

  test("that receive something stay in use, even if one request timed out", async () => {
    const upstream = server.upstream();
    const streams: Parameters<Http2Script>[0][] = [];
    server.answer((stream) => void streams.push(stream));
    const late = ask(transport, upstream, { headTimeoutMs: 200 });
    await expect.poll(() => streams.length).toBe(1);
    const before = server.connections;
    streams[0]?.socket.write(frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    expect((await late.over).failure).toBe("timeout");
    server.answer(ok("same"));
    expect(text(await outcome(transport, upstream))).toBe("same");
    expect(server.connections - before).toBe(0);
  });

  test("with GOAWAY finish their requests, and other connections take new ones", async () => {
    const upstream = server.upstream({ maxConnections: 1 });
    const streams: Parameters<Http2Script>[0][] = [];
    server.answer((stream) => void streams.push(stream));
    const first = ask(transport, upstream);
    await expect.poll(() => streams.length).toBe(1);
    const before = server.connections;
    streams[0]?.send(headers(streams[0], [OK]), goaway(streams[0].id, ERROR.none));
    await first.head;
    const second = ask(transport, upstream);
    await expect.poll(() => streams.length).toBe(2);
    expect(server.connections - before).toBe(1);
    for (const stream of streams)
      stream.send(...(stream === streams[0] ? [] : [headers(stream, [OK])]), data(stream, "x", END));
    expect([text(await first.over), text(await second.over)]).toEqual(["x", "x"]);
  });

  test("that cannot be opened fail the requests that wait for them, and no others", async () => {
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await once(closed, "close");
    const upstream = { ...server.upstream(), origin: `http://127.0.0.1:${port}` };
    for (const { over } of begin(150, upstream))
      expect(await over).toMatchObject({ failure: "unreachable", status: 0 });
  });

  test("that hang while connecting are dropped", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const impatient = createTransport({ connectTimeoutMs: 30 });
    // A handshake without a response.
    const upstream = { ...server.upstream(), origin: `https://localhost:${port}` };
    expect((await outcome(impatient, upstream)).failure).toBe("connect-timeout");
    await impatient.close();
    silent.close();
  });

  test("end with their last request once no route names them", async () => {
    const own = createTransport();
    const upstream = server.upstream();
    const streams: Parameters<Http2Script>[0][] = [];
    server.answer((stream) => void streams.push(stream));
    const asked = ask(own, upstream);
    await expect.poll(() => streams.length).toBe(1);
    const [stream] = streams;
    own.retain(new Set());
    stream?.send(headers(stream, [OK]), data(stream, "whole", END));
    expect(text(await asked.over)).toBe("whole");
    await expect.poll(() => server.open.has(stream?.socket as never)).toBe(false);
    await own.close();
  });

  test("are closed with the transport, and waiting requests are notified", async () => {
    const own = createTransport();
    const upstream = server.upstream({ maxConnections: 1, maxPending: 1 });
    let taken = 0;
    server.answer(() => void (taken += 1));
    const asked = Array.from({ length: 101 }, () => ask(own, upstream));
    await expect.poll(() => taken).toBe(100);
    await own.close();
    for (const { over } of asked) expect((await over).failure).toBe("closed");
    expect((await outcome(own, upstream)).failure).toBe("closed");
  });
});
