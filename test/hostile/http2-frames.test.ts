/** RFC 9113 §5–8, frame by frame: invalid frames are rejected, valid requests are served, and only those reach the victim. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import {
  block,
  ERROR,
  FLAG,
  FRAME,
  frame,
  openHttp2,
  PREFACE,
  type Outcome,
  type RawHttp2,
} from "../support/raw-h2.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let tls: ListenerCertificates;
let victim: Victim;
let pipeline: Pipeline;

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  victim = await startVictim();
  pipeline = await startPipeline(
    `routes:
      - { from: https://app.example, to: "${victim.origin}", policy: [{ allow: { and: [{ accept: true }] } }] }`,
    { certificates: tls.certificates },
  );
});
afterAll(async () => {
  await pipeline.close();
  await tls.close();
  await victim.close();
});

type Fields = readonly (readonly [string, string])[];

const METHOD = [":method", "GET"] as const;
const SCHEME = [":scheme", "https"] as const;
const PATH = [":path", "/"] as const;
const AUTHORITY = [":authority", "app.example"] as const;
const GET: Fields = [METHOD, SCHEME, PATH, AUTHORITY];
const POST: Fields = [[":method", "POST"], SCHEME, PATH, AUTHORITY];
const WHOLE = FLAG.endHeaders | FLAG.endStream;

const uint = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const setting = (id: number, value: number): Buffer => Buffer.concat([Buffer.from([0, id]), uint(value)]);
const headers = (fields: Fields, flags: number = WHOLE, stream = 1): Buffer =>
  frame(FRAME.headers, flags, stream, block(fields));

async function play(frames: readonly Buffer[], stream = 1): Promise<{ outcome: Outcome; heard: number }> {
  const before = victim.requests.length;
  const client = await openHttp2(pipeline.port);
  try {
    client.send(...frames);
    const outcome = await client.outcome(stream);
    return { outcome, heard: victim.requests.length - before };
  } finally {
    client.close();
  }
}

const ok = { status: 200, ended: true };
const streamError = { reset: ERROR.protocol };
/** The implementation may end the stream or the connection (RFC 9113 §8.1.1). */
const refused = {};
const unknownMethod = { status: 501, ended: true };
const badRequest = { status: 400, ended: true };

describe("HTTP/2 heads (RFC 9113 §8.2, §8.3)", () => {
  test.each<[string, Fields, Outcome]>([
    ["a plain request", GET, ok],
    ["Host beside the same :authority", [...GET, ["host", "app.example"]], ok],
    ["Host in another spelling of :authority", [...GET, ["host", "APP.example:443"]], ok],
    ["Host instead of :authority", [METHOD, SCHEME, PATH, ["host", "app.example"]], ok],
    ["te: trailers", [...GET, ["te", "trailers"]], ok],
    ["Host that contradicts :authority", [...GET, ["host", "evil.example"]], badRequest],
    ["two Hosts", [METHOD, SCHEME, PATH, ["host", "app.example"], ["host", "app.example"]], streamError],
    ["two :authority", [...GET, [":authority", "app.example"]], streamError],
    ["neither Host nor :authority", [METHOD, SCHEME, PATH], streamError],
    ["user information in :authority", [METHOD, SCHEME, PATH, [":authority", "a@app.example"]], streamError],
    ["an empty :authority", [METHOD, SCHEME, PATH, [":authority", ""]], streamError],
    ["an unknown :authority", [METHOD, SCHEME, PATH, [":authority", "evil.example"]], { status: 404, ended: true }],
    ["no :method", [SCHEME, PATH, AUTHORITY], streamError],
    ["no :scheme", [METHOD, PATH, AUTHORITY], streamError],
    ["no :path", [METHOD, SCHEME, AUTHORITY], streamError],
    ["an empty :path", [METHOD, SCHEME, [":path", ""], AUTHORITY], streamError],
    ["a :path without a slash", [METHOD, SCHEME, [":path", "a"], AUTHORITY], streamError],
    ["a whole URL as :path", [METHOD, SCHEME, [":path", "https://app.example/"], AUTHORITY], streamError],
    ["two :path", [...GET, [":path", "/admin"]], streamError],
    ["two :method", [...GET, [":method", "POST"]], streamError],
    ["another :scheme than the connection's", [METHOD, [":scheme", "http"], PATH, AUTHORITY], badRequest],
    ["a pseudo-header after a field", [METHOD, SCHEME, PATH, ["x-a", "1"], AUTHORITY], streamError],
    ["an unknown pseudo-header", [...GET, [":user", "root"]], streamError],
    ["a pseudo-header of answers", [...GET, [":status", "200"]], streamError],
    ["a name in upper case", [...GET, ["X-A", "1"]], streamError],
    ["connection", [...GET, ["connection", "close"]], streamError],
    ["keep-alive", [...GET, ["keep-alive", "1"]], streamError],
    ["proxy-connection", [...GET, ["proxy-connection", "close"]], streamError],
    ["transfer-encoding", [...GET, ["transfer-encoding", "chunked"]], streamError],
    ["upgrade", [...GET, ["upgrade", "websocket"]], streamError],
    ["te: gzip", [...GET, ["te", "gzip"]], streamError],
    ["two content-types", [...GET, ["content-type", "a/b"], ["content-type", "c/d"]], badRequest],
    ["two authorizations", [...GET, ["authorization", "a"], ["authorization", "b"]], badRequest],
    ["content-length that is no number", [...GET, ["content-length", "1x"]], streamError],
    ["a parent segment", [METHOD, SCHEME, [":path", "/a/../admin"], AUTHORITY], badRequest],
    ["an encoded slash", [METHOD, SCHEME, [":path", "/a%2fadmin"], AUTHORITY], badRequest],
    ["TRACE", [[":method", "TRACE"], SCHEME, PATH, AUTHORITY], { status: 405, ended: true }],
    ["a method in small letters", [[":method", "get"], SCHEME, PATH, AUTHORITY], unknownMethod],
    ["a method that HTTP/1.1 does not have", [[":method", "BREW"], SCHEME, PATH, AUTHORITY], unknownMethod],
    ["a method with more behind it", [[":method", "GETS"], SCHEME, PATH, AUTHORITY], unknownMethod],
    ["PRI", [[":method", "PRI"], SCHEME, PATH, AUTHORITY], unknownMethod],
    ["a method of WebDAV", [[":method", "PROPFIND"], SCHEME, PATH, AUTHORITY], ok],
    ["CONNECT", [[":method", "CONNECT"], AUTHORITY], { status: 405, ended: true }],
    ["CONNECT with a :path", [[":method", "CONNECT"], PATH, AUTHORITY], streamError],
    [
      "extended CONNECT of another protocol",
      [[":method", "CONNECT"], [":protocol", "connect-udp"], SCHEME, PATH, AUTHORITY],
      { status: 501, ended: true },
    ],
    [":protocol without CONNECT", [...GET, [":protocol", "websocket"]], streamError],
  ])("%s", async (_case, fields, expected) => {
    // An extended CONNECT keeps its stream open, as clients do.
    const flags = fields.some(([name]) => name === ":protocol") ? FLAG.endHeaders : WHOLE;
    const { outcome, heard } = await play([headers(fields, flags)]);
    expect(outcome).toMatchObject(expected);
    expect(heard).toBe(expected === ok ? 1 : 0);
  });

  test("an extended CONNECT that is answered otherwise ends, although the client keeps its side open", async () => {
    const fields: Fields = [
      [":method", "CONNECT"],
      [":protocol", "websocket"],
      SCHEME,
      PATH,
      AUTHORITY,
      ["sec-websocket-version", "13"],
    ];
    const client = await openHttp2(pipeline.port);
    try {
      client.send(headers(fields, FLAG.endHeaders));
      const reset = await client.find(({ type, stream }) => type === FRAME.reset && stream === 1);
      expect(reset.payload.readUInt32BE(0)).toBe(ERROR.none);
      expect(await client.outcome(1)).toMatchObject({ status: 403, ended: true });
    } finally {
      client.close();
    }
  });

  // nghttp2 drops such a field and continues, before our code can see it; it must only not be forwarded.
  test.each([
    ["a value with a line feed", "x-a", "a\nx-evil: 1"],
    ["a value with a carriage return", "x-a", "a\rx-evil: 1"],
    ["a value with NUL", "x-a", "a\0b"],
    ["a name with a space", "x a", "1"],
    ["a name with a colon", "x:a", "1"],
    ["a name with a line feed", "x-a: 1\r\nx-evil", "1"],
  ])("%s does not reach the upstream", async (_case, name, value) => {
    const { outcome, heard } = await play([headers([...GET, [name, value]])]);
    expect(outcome).toMatchObject(ok);
    expect(heard).toBe(1);
    const names = [...(victim.requests.at(-1)?.headers.keys() ?? [])];
    expect(names.filter((each) => /^x[- :](a|evil)/.test(each))).toEqual([]);
  });

  test("cookies that were split for compression are one before they are passed on (§8.2.3)", async () => {
    const { outcome, heard } = await play([headers([...GET, ["cookie", "a=1"], ["cookie", "b=2"]])]);
    expect(outcome).toMatchObject(ok);
    expect(heard).toBe(1);
    expect(victim.requests.at(-1)?.header("cookie")).toBe("a=1; b=2");
  });
});

describe("HTTP/2 bodies (RFC 9113 §8.1.1)", () => {
  test.each<[string, readonly Buffer[], Outcome, number]>([
    [
      "as long as declared",
      [
        headers([...POST, ["content-length", "2"]], FLAG.endHeaders),
        frame(FRAME.data, FLAG.endStream, 1, Buffer.from("hi")),
      ],
      ok,
      1,
    ],
    [
      "shorter than declared",
      [
        headers([...POST, ["content-length", "5"]], FLAG.endHeaders),
        frame(FRAME.data, FLAG.endStream, 1, Buffer.from("hi")),
      ],
      streamError,
      0,
    ],
    [
      "longer than declared",
      [
        headers([...POST, ["content-length", "1"]], FLAG.endHeaders),
        frame(FRAME.data, FLAG.endStream, 1, Buffer.from("hi")),
      ],
      refused,
      0,
    ],
    ["declared but none", [headers([...POST, ["content-length", "2"]])], streamError, 0],
    [
      "two lengths",
      [
        headers([...POST, ["content-length", "2"], ["content-length", "3"]], FLAG.endHeaders),
        frame(FRAME.data, FLAG.endStream, 1, Buffer.from("hi")),
      ],
      streamError,
      0,
    ],
    ["pseudo-headers in trailers", [headers(POST, FLAG.endHeaders), headers([[":path", "/admin"]])], streamError, 0],
    [
      "trailers that do not end the stream",
      [headers(POST, FLAG.endHeaders), headers([["x-a", "1"]], FLAG.endHeaders)],
      streamError,
      0,
    ],
  ])("%s", async (_case, frames, expected, times) => {
    const { outcome, heard } = await play(frames);
    expect(outcome).toMatchObject(expected);
    if (expected !== ok) expect(outcome.status).toBeUndefined();
    expect(heard).toBe(times);
  });
});

describe("HTTP/2 bodies that break off", () => {
  test.each([ERROR.none, ERROR.protocol, ERROR.cancel])(
    "by RST_STREAM %i are never complete upstream",
    async (code) => {
      for (const length of [undefined, 5, 100_000]) {
        const before = victim.requests.length;
        const receivedBefore = victim.received.length;
        const client = await openHttp2(pipeline.port);
        const more: Fields = length === undefined ? [] : [["content-length", String(length)]];
        client.send(headers([...POST, ...more], FLAG.endHeaders), frame(FRAME.data, 0, 1, Buffer.from("part")));
        // Short bodies are read completely before forwarding.
        if (length !== 5) await expect.poll(() => victim.received.slice(receivedBefore)).toContain("part");
        client.send(frame(FRAME.reset, 0, 1, uint(code)), headers(GET, WHOLE, 3));
        expect(await client.outcome(3)).toMatchObject(ok);
        client.close();
        expect(victim.requests.slice(before).map(({ method }) => method)).toEqual(["GET"]);
        if (length === 5) expect(victim.received.slice(receivedBefore)).not.toContain("part");
      }
    },
  );
});

describe("HTTP/2 frames (RFC 9113 §4–6)", () => {
  const fields = block(GET);
  test.each<[string, readonly Buffer[], number]>([
    ["§4.2 a frame past SETTINGS_MAX_FRAME_SIZE", [frame(FRAME.data, 0, 1, Buffer.alloc(16_385))], ERROR.frameSize],
    [
      "§4.3 a block that cannot be decompressed",
      [frame(FRAME.headers, WHOLE, 1, Buffer.from([0xff, 0xff, 0xff]))],
      ERROR.compression,
    ],
    ["§5.1 DATA on an idle stream", [frame(FRAME.data, 0, 1, Buffer.from("x"))], ERROR.protocol],
    ["§5.1 RST_STREAM on an idle stream", [frame(FRAME.reset, 0, 1, uint(8))], ERROR.protocol],
    ["§5.1 WINDOW_UPDATE on an idle stream", [frame(FRAME.window, 0, 1, uint(1))], ERROR.protocol],
    ["§5.1.1 an even stream", [headers(GET, WHOLE, 2)], ERROR.protocol],
    ["§6.1 DATA on stream 0", [frame(FRAME.data, 0, 0, Buffer.from("x"))], ERROR.protocol],
    [
      "§6.1 padding longer than the frame",
      [headers(POST, FLAG.endHeaders), frame(FRAME.data, FLAG.padded, 1, Buffer.from([5, 1]))],
      ERROR.protocol,
    ],
    ["§6.2 HEADERS on stream 0", [headers(GET, WHOLE, 0)], ERROR.protocol],
    [
      "§6.2 another frame before END_HEADERS",
      [frame(FRAME.headers, FLAG.endStream, 1, fields.subarray(0, 5)), frame(FRAME.ping, 0, 0, Buffer.alloc(8))],
      ERROR.protocol,
    ],
    [
      "§6.2 another stream's HEADERS before END_HEADERS",
      [frame(FRAME.headers, FLAG.endStream, 1, fields.subarray(0, 5)), headers(GET, WHOLE, 3)],
      ERROR.protocol,
    ],
    ["§6.4 RST_STREAM on stream 0", [frame(FRAME.reset, 0, 0, uint(8))], ERROR.protocol],
    [
      "§6.4 RST_STREAM of a wrong length",
      [headers(POST, FLAG.endHeaders), frame(FRAME.reset, 0, 1, Buffer.alloc(3))],
      ERROR.frameSize,
    ],
    ["§6.5 SETTINGS on a stream", [frame(FRAME.settings, 0, 1)], ERROR.protocol],
    ["§6.5 SETTINGS of a wrong length", [frame(FRAME.settings, 0, 0, Buffer.alloc(5))], ERROR.frameSize],
    ["§6.5 an acknowledgement with a payload", [frame(FRAME.settings, FLAG.ack, 0, Buffer.alloc(6))], ERROR.frameSize],
    ["§6.5.2 ENABLE_PUSH of 2", [frame(FRAME.settings, 0, 0, setting(2, 2))], ERROR.protocol],
    ["§6.5.2 a window past 2^31-1", [frame(FRAME.settings, 0, 0, setting(4, 0x8000_0000))], ERROR.flowControl],
    ["§6.5.2 a frame size below 16,384", [frame(FRAME.settings, 0, 0, setting(5, 16_383))], ERROR.protocol],
    [
      "§6.6 PUSH_PROMISE from a client",
      [headers(POST, FLAG.endHeaders), frame(FRAME.push, FLAG.endHeaders, 1, Buffer.concat([uint(2), fields]))],
      ERROR.protocol,
    ],
    ["§6.7 PING on a stream", [frame(FRAME.ping, 0, 1, Buffer.alloc(8))], ERROR.protocol],
    ["§6.7 PING of a wrong length", [frame(FRAME.ping, 0, 0, Buffer.alloc(7))], ERROR.frameSize],
    ["§6.8 GOAWAY on a stream", [frame(FRAME.goaway, 0, 1, Buffer.alloc(8))], ERROR.protocol],
    ["§6.9 WINDOW_UPDATE of 0 for the connection", [frame(FRAME.window, 0, 0, uint(0))], ERROR.protocol],
    ["§6.9 WINDOW_UPDATE of a wrong length", [frame(FRAME.window, 0, 0, Buffer.alloc(3))], ERROR.frameSize],
    ["§6.9.1 a connection window past 2^31-1", [frame(FRAME.window, 0, 0, uint(0x7fff_ffff))], ERROR.flowControl],
    ["§6.10 CONTINUATION without HEADERS", [frame(FRAME.continuation, FLAG.endHeaders, 1, fields)], ERROR.protocol],
  ])("%s ends the connection", async (_case, frames, code) => {
    const { outcome, heard } = await play(frames);
    // The connection is closed immediately, and a TCP reset may overtake the last frame.
    expect(outcome.goaway ?? code).toBe(code);
    expect(outcome).not.toHaveProperty("status");
    expect(outcome).not.toHaveProperty("reset");
    expect(heard).toBe(0);
  });

  test("§3.4 something else than the preface ends the connection", async () => {
    const client = await openHttp2(pipeline.port, {
      preface: Buffer.from("GET / HTTP/1.1\r\nHost: app.example\r\n\r\n"),
    });
    expect((await client.outcome(1)).status).toBeUndefined();
    client.close();
  });

  test("§3.4 the preface must be followed by SETTINGS", async () => {
    const client = await openHttp2(pipeline.port, { preface: Buffer.concat([PREFACE, headers(GET)]) });
    expect(await client.outcome(1)).toMatchObject({ goaway: ERROR.protocol });
    client.close();
  });

  test("§5.1.1 a stream number that goes back is never served", async () => {
    const before = victim.requests.length;
    const client = await openHttp2(pipeline.port);
    client.send(headers(GET, WHOLE, 5));
    expect(await client.outcome(5)).toMatchObject(ok);
    client.send(headers(GET, WHOLE, 3), frame(FRAME.ping, 0, 0, Buffer.alloc(8)));
    await client.find((each) => (each.type === FRAME.ping && each.flags === FLAG.ack) || each.type === FRAME.goaway);
    expect(client.frames.filter((each) => each.stream === 3 && each.type === FRAME.headers)).toEqual([]);
    expect(victim.requests.length - before).toBe(1);
    client.close();
  });

  test("§5.1.2 streams past SETTINGS_MAX_CONCURRENT_STREAMS are refused", async () => {
    const client = await openHttp2(pipeline.port);
    // Before our SETTINGS are acknowledged the limit is not yet the client's.
    await client.find((each) => each.type === FRAME.settings && each.flags === 0);
    client.send(frame(FRAME.settings, FLAG.ack, 0));
    const many = Array.from({ length: 260 }, (_, index) =>
      headers([...POST, ["content-length", "9"]], FLAG.endHeaders, 2 * index + 1),
    );
    client.send(...many);
    const refused = await client.find((each) => each.type === FRAME.reset || each.type === FRAME.goaway);
    expect(refused.payload.readUInt32BE(refused.type === FRAME.reset ? 0 : 4)).toBeOneOf([
      ERROR.refused,
      ERROR.protocol,
    ]);
    client.close();
  });

  test("§5.5 frames of unknown types are passed over", async () => {
    const { outcome } = await play([frame(0x77, 0xff, 0, Buffer.from("?")), headers(GET)]);
    expect(outcome).toMatchObject(ok);
  });

  test("§6.2 a padded, prioritised and continued head is one head", async () => {
    const encoded = block(GET);
    const first = Buffer.concat([
      Buffer.from([3]),
      uint(0),
      Buffer.from([15]),
      encoded.subarray(0, 4),
      Buffer.alloc(3),
    ]);
    const { outcome, heard } = await play([
      frame(FRAME.headers, FLAG.endStream | FLAG.padded | FLAG.priority, 1, first),
      frame(FRAME.continuation, FLAG.endHeaders, 1, encoded.subarray(4)),
    ]);
    expect(outcome).toMatchObject(ok);
    expect(heard).toBe(1);
  });

  test("§6.5.3 SETTINGS and §6.7 PING are acknowledged", async () => {
    const client = await openHttp2(pipeline.port);
    client.send(frame(FRAME.ping, 0, 0, Buffer.from("12345678")));
    const pong = await client.find((each) => each.type === FRAME.ping && each.flags === FLAG.ack);
    expect(pong.payload.toString()).toBe("12345678");
    await client.find((each) => each.type === FRAME.settings && each.flags === FLAG.ack);
    client.close();
  });

  test("§10.5.1 a head that never ends is cut off (CVE-2024-27983)", async () => {
    const client = await openHttp2(pipeline.port);
    const filler = block([["x-filler", "a".repeat(8_000)]]);
    client.send(frame(FRAME.headers, FLAG.endStream, 1, block(GET)));
    for (let count = 0; count < 40; count += 1) client.send(frame(FRAME.continuation, 0, 1, filler));
    expect((await client.outcome(1)).status).toBeUndefined();
    client.close();
  });

  test("rapid resets end the connection (CVE-2023-44487)", async () => {
    const client = await openHttp2(pipeline.port);
    for (let index = 0; index < 1_500; index += 1) {
      const stream = 2 * index + 1;
      client.send(headers(GET, WHOLE, stream), frame(FRAME.reset, 0, stream, uint(ERROR.cancel)));
    }
    await client.closed;
    const goaway = client.frames.find((each) => each.type === FRAME.goaway);
    expect(goaway?.payload.readUInt32BE(4) ?? ERROR.enhanceYourCalm).toBeGreaterThan(0);
  });
});

describe("HTTP/2 answers", () => {
  let client: RawHttp2;
  afterAll(() => client.close());

  test("an answer that breaks off at the upstream does not look complete", async () => {
    const breaking = await startVictim((_request, socket) => {
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nbegin");
      setImmediate(() => socket.destroy());
    });
    const other = await startPipeline(
      `routes:
        - { from: https://app.example, to: "${breaking.origin}", policy: [{ allow: { and: [{ accept: true }] } }] }`,
      { certificates: tls.certificates },
    );
    client = await openHttp2(other.port);
    client.send(headers(GET));
    const outcome = await client.outcome(1);
    expect(outcome.ended).toBeUndefined();
    expect(outcome.reset).toBe(ERROR.internal);
    client.close();
    await other.close();
    await breaking.close();
  });
});
