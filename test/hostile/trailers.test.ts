/** Trailers that want to be something else: headers, framing, another request. Both ways, over both versions of HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../support/certificates.ts";
import { type Pipeline, startPipeline } from "../support/pipeline.ts";
import { block, FLAG, FRAME, frame, openHttp2, type Outcome } from "../support/raw-h2.ts";
import { sendRaw } from "../support/raw-client.ts";
import { data, headers, type Http2Script, type ScriptedHttp2, startScriptedHttp2 } from "../support/scripted-http2.ts";
import {
  type Fields,
  sendOverHttp1,
  sendOverHttp2,
  startTrailerUpstream,
  type TrailerUpstream,
} from "../support/trailer-peers.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let tls: ListenerCertificates;
let victim: Victim;
let http2Upstream: TrailerUpstream;
let scripted: ScriptedHttp2;
/** Response of the victim, byte for byte. */
let answer = "";
let heardBefore = 0;
let receivedBefore = 0;
const pipelines: Record<"plain" | "secure", Pipeline> = {} as never;

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  victim = await startVictim((_request, socket) => socket.write(Buffer.from(answer, "latin1")));
  http2Upstream = await startTrailerUpstream("HTTP/2");
  scripted = await startScriptedHttp2(() => {});
  for (const [name, scheme] of [
    ["plain", "http"],
    ["secure", "https"],
  ] as const) {
    const route = { from: `${scheme}://app.example`, policy: [{ allow: { and: [{ accept: true }] } }] };
    const routes = [
      { ...route, to: victim.origin },
      { ...route, prefix: "/h2", to: http2Upstream.origin, http2: true },
      { ...route, prefix: "/scripted", to: scripted.origin, http2: true },
    ];
    pipelines[name] = await startPipeline(
      `routes: ${JSON.stringify(routes)}`,
      name === "secure" ? { certificates: tls.certificates } : {},
    );
  }
});
afterAll(async () => {
  for (const pipeline of Object.values(pipelines)) await pipeline.close();
  await victim.close();
  await http2Upstream.close();
  await scripted.close();
  await tls.close();
});
beforeEach(() => {
  answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
  heardBefore = victim.requests.length;
  receivedBefore = victim.received.length;
});

const TE: Fields = [["te", "trailers"]];
const received = (): string => victim.received.slice(receivedBefore);

/** Each in the spelling of HTTP, and in those that frameworks take for it. */
const FORBIDDEN = `
  connection keep-alive proxy-connection te trailer upgrade
  http2-settings expect content-length transfer-encoding content-type content-encoding
  content-range content-location host forwarded via x-forwarded-for
  x-forwarded-host x-forwarded-proto x-real-ip x-original-url x-rewrite-url x-http-method-override
  max-forwards authorization proxy-authorization proxy-authenticate www-authenticate authentication-info
  cookie set-cookie x-gateway-assertion x-gateway-jwt-assertion x-gateway-anything x-request-id
  traceparent tracestate gateway-passes mcp-session-id mcp-method last-event-id
  cache-control expires age date location retry-after
  vary pragma range if-match accept accept-encoding
  access-control-allow-origin content-security-policy refresh alt-svc strict-transport-security clear-site-data
  x-accel-redirect x-sendfile sec-fetch-site origin
`
  .trim()
  .split(/\s+/);
/** Rejected by their reader, wherever they come from. */
const BREAKING = ["content-length", "transfer-encoding"];
/** Fields of HTTP/1.1 connections: in HTTP/2 they make a message malformed. */
const CONNECTION = ["connection", "keep-alive", "proxy-connection", "te", "upgrade", "http2-settings"];
const KEPT: Fields = [
  ["x-ok", "1"],
  ["x-late", "2"],
];
const around = (names: readonly string[]): Fields => [
  ["x-ok", "1"],
  ...names.map((name) => [name, "evil-value"] as const),
  ["x-late", "2"],
];
const dashed = FORBIDDEN.filter((name) => !BREAKING.includes(name));
const underscored = FORBIDDEN.filter((name) => name.includes("-")).map((name) => name.replaceAll("-", "_"));
const ofHttp2 = (names: readonly string[]): readonly string[] => names.filter((name) => !CONNECTION.includes(name));

describe("names that are not for there", () => {
  test.each([
    ["as they are", dashed],
    ["in another spelling", underscored],
    ["in upper case", dashed.map((name) => name.toUpperCase())],
  ])("%s do not reach the upstream", async (_spelling, names) => {
    for (const path of ["/", "/h2"]) {
      const seenBefore = http2Upstream.seen.length;
      const asked = [
        await sendOverHttp1(pipelines.plain.port, { path, headers: TE, trailers: around(names) }),
        await sendOverHttp2(pipelines.secure.port, {
          path,
          headers: TE,
          trailers: around(ofHttp2(names.map((name) => name.toLowerCase()))),
        }),
      ];
      expect(asked.map(({ status }) => status)).toEqual([200, 200]);
      const seen = http2Upstream.seen.slice(seenBefore);
      expect(seen.map(({ trailers }) => trailers)).toEqual(path === "/" ? [] : [KEPT, KEPT]);
      expect(JSON.stringify(seen)).not.toContain("evil-value");
    }
    expect(received()).not.toContain("evil-value");
    const lines = KEPT.map((field) => field.join(": "));
    expect(victim.requests.slice(heardBefore).map(({ trailers }) => trailers)).toEqual([lines, lines]);
  });

  test.each([
    ["as they are", [...dashed, ...BREAKING]],
    ["in another spelling", underscored],
    ["in upper case", dashed.map((name) => name.toUpperCase())],
  ])("%s do not reach the client", async (_spelling, names) => {
    const lines = around(names).map((field) => `${field.join(": ")}\r\n`);
    answer = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${lines.join("")}\r\n`;
    const lower = names.map((name) => name.toLowerCase()).filter((name) => !BREAKING.includes(name));
    http2Upstream.answer(around(ofHttp2(lower)));
    for (const path of ["/", "/h2"]) {
      const got = [
        await sendOverHttp1(pipelines.plain.port, { path, headers: TE }),
        await sendOverHttp2(pipelines.secure.port, { path, headers: TE }),
      ];
      expect(got).toMatchObject([
        { status: 200, isWhole: true, trailers: KEPT },
        { status: 200, isWhole: true, trailers: KEPT },
      ]);
      expect(JSON.stringify(got)).not.toContain("evil-value");
    }
  });

  test("the client's Connection and the upstream's name more of them", async () => {
    const fields: Fields = [
      ["x-ok", "1"],
      ["x-mine", "1"],
    ];
    answer =
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: x-mine\r\n\r\n2\r\nok\r\n0\r\nx-ok: 1\r\nx-mine: 1\r\n\r\n";
    const got = await sendOverHttp1(pipelines.plain.port, {
      headers: [...TE, ["connection", "te, x-mine"]],
      trailers: fields,
    });
    expect(got.trailers).toEqual([["x-ok", "1"]]);
    expect(victim.requests.at(-1)?.trailers).toEqual(["x-ok: 1"]);
  });
});

describe("trailers of HTTP/1.1 requests", () => {
  const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: app.example\r\n\r\n";
  const chunked = (rest: string): string =>
    `POST /visible HTTP/1.1\r\nHost: app.example\r\nTE: trailers\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n${rest}`;

  test.each([
    ["a bare line feed", chunked(`X-A: 1\nX-B: 2\r\n\r\n${HIDDEN}`)],
    ["a bare line feed as their end", chunked(`X-A: 1\r\n\n${HIDDEN}`)],
    ["a bare line feed instead of them", chunked(`\n${HIDDEN}`)],
    ["a bare carriage return", chunked(`X-A: 1\rX-B: 2\r\n\r\n${HIDDEN}`)],
    ["a folded line", chunked(`X-A: 1\r\n X-B: 2\r\n\r\n${HIDDEN}`)],
    ["a blank before the colon", chunked(`X-A : 1\r\n\r\n${HIDDEN}`)],
    ["no colon", chunked(`X-A\r\n\r\n${HIDDEN}`)],
    ["no name", chunked(`: 1\r\n\r\n${HIDDEN}`)],
    ["NUL", chunked(`X-A: 1\0\r\n\r\n${HIDDEN}`)],
    ["a pseudo-header", chunked(`:path: /hidden\r\n\r\n${HIDDEN}`)],
    ["two lengths", chunked(`Content-Length: 5\r\nContent-Length: 6\r\n\r\n${HIDDEN}`)],
    ["a coding", chunked(`Transfer-Encoding: chunked\r\n\r\n${HIDDEN}`)],
    ["too many bytes", chunked(`X-A: ${"a".repeat(40_000)}\r\n\r\n${HIDDEN}`)],
  ])("with %s are rejected, and no later bytes count as a request", async (_what, bytes) => {
    const got = await sendRaw(pipelines.plain.port, bytes);
    expect([0, 400, 431]).toContain(got.status);
    expect(got.text.match(/HTTP\/1\.1 \d/g)?.length ?? 0).toBeLessThanOrEqual(1);
    // Half of it may have gone, but no end.
    expect(victim.requests.slice(heardBefore)).toEqual([]);
    expect(received()).not.toMatch(/hidden|\r\n0\r\n/);
  });

  test("behind a body of known length are no trailers, but a request that cannot be read", async () => {
    const got = await sendRaw(
      pipelines.plain.port,
      "POST /visible HTTP/1.1\r\nHost: app.example\r\nTE: trailers\r\nTrailer: X-A\r\nContent-Length: 4\r\n\r\nbodyX-A: 1\r\n\r\n",
    );
    expect(got.status).toBe(200);
    expect(victim.requests.slice(heardBefore).map(({ line }) => line)).toEqual(["POST /visible HTTP/1.1"]);
    expect(received()).not.toContain("X-A: 1");
  });

  test("the next request on the connection starts after them, and is evaluated separately", async () => {
    const got = await sendRaw(pipelines.plain.port, chunked(`X-A: 1\r\n\r\n${HIDDEN}`));
    expect(got.text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 200"]);
    expect(victim.requests.slice(heardBefore).map(({ line, trailers }) => [line, trailers])).toEqual([
      ["POST /visible HTTP/1.1", ["x-a: 1"]],
      ["GET /hidden HTTP/1.1", []],
    ]);
  });

  test("HTTP/1.0 has none", async () => {
    answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Late: 1\r\n\r\n";
    const got = await sendRaw(pipelines.plain.port, "GET / HTTP/1.0\r\nHost: app.example\r\nTE: trailers\r\n\r\n");
    expect(got.status).toBe(200);
    expect(got.text).not.toMatch(/x-late/i);
    expect(victim.requests.at(-1)?.headers.has("te")).toBe(false);
  });
});

describe("trailers of HTTP/2 requests", () => {
  type List = readonly (readonly [string, string])[];
  const POST: List = [
    [":method", "POST"],
    [":scheme", "https"],
    [":path", "/"],
    [":authority", "app.example"],
    ["te", "trailers"],
  ];
  const head = (fields: List, flags = 0): Buffer => frame(FRAME.headers, FLAG.endHeaders | flags, 1, block(fields));
  const body = (text: string, flags = 0): Buffer => frame(FRAME.data, flags, 1, Buffer.from(text));
  const END = FLAG.endStream;

  async function play(path: string, frames: readonly Buffer[]): Promise<Outcome> {
    const client = await openHttp2(pipelines.secure.port);
    try {
      client.send(head(POST.map((field) => (field[0] === ":path" ? [":path", path] : field))), ...frames);
      return await client.outcome(1);
    } finally {
      client.close();
    }
  }

  test.each<[string, readonly Buffer[]]>([
    ["others behind them", [head([["x-a", "1"]], END), head([["x-b", "b!b"]], END)]],
    ["data behind them", [head([["x-a", "1"]], END), body("b!b", END)]],
  ])("with %s end the stream for what follows", async (_what, frames) => {
    for (const path of ["/", "/h2"]) {
      const outcome = await play(path, frames);
      const { status, ended, reset, goaway, closed } = outcome;
      // The part before was a complete request: its response may leave before the rest is read, and is then the end.
      if (status === 200 && ended) continue;
      expect(closed === true || (reset ?? goaway ?? 0) > 0, JSON.stringify(outcome)).toBe(true);
    }
    expect(received()).not.toContain("b!b");
    expect(JSON.stringify(http2Upstream.seen)).not.toContain("b!b");
  });

  test.each<[string, readonly Buffer[]]>([
    ["a pseudo-header", [body("x"), head([[":path", "/hidden"]], END)]],
    [
      "another pseudo-header",
      [
        body("x"),
        head(
          [
            ["x-a", "1"],
            [":status", "200"],
          ],
          END,
        ),
      ],
    ],
    ["no END_STREAM", [body("x"), head([["x-a", "1"]])]],
    ["no END_STREAM, and data behind", [head([["x-a", "1"]]), body("x", END)]],
    ["a name in upper case", [head([["X-A", "1"]], END)]],
    ["connection", [head([["connection", "close"]], END)]],
    ["te that is not trailers", [head([["te", "gzip"]], END)]],
    ["transfer-encoding", [head([["transfer-encoding", "chunked"]], END)]],
    [
      "two lengths",
      [
        head(
          [
            ["content-length", "1"],
            ["content-length", "2"],
          ],
          END,
        ),
      ],
    ],
    ["a length that the body has not", [body("x"), head([["content-length", "7"]], END)]],
    [
      "too many fields",
      [
        head(
          Array.from({ length: 230 }, () => ["a", "1"] as const),
          END,
        ),
      ],
    ],
  ])("with %s are refused", async (_what, frames) => {
    for (const path of ["/", "/h2"]) {
      const before = http2Upstream.seen.length;
      const { status, reset, goaway } = await play(path, frames);
      expect(status).toBeUndefined();
      expect(reset ?? goaway ?? 0).toBeGreaterThan(0);
      expect(victim.requests.length).toBe(heardBefore);
      expect(http2Upstream.seen.length).toBe(before);
    }
    expect(received()).not.toMatch(/hidden|x-b|\r\n0\r\n/);
  });

  test.each([
    ["a line feed in a value", ["x-a", "1\r\nx-evil: 1"]],
    ["a bare line feed in a value", ["x-a", "1\nx-evil: 1"]],
    ["a carriage return in a value", ["x-a", "1\rx-evil: 1"]],
    ["NUL in a value", ["x-a", "evil\0"]],
    ["an end of headers in a value", ["x-a", "1\r\n\r\nGET /evil HTTP/1.1\r\nHost: app.example\r\n\r\n"]],
    ["a line feed in a name", ["x-a: 1\r\nx-evil", "1"]],
    ["a colon in a name", ["x:evil", "1"]],
    ["a blank in a name", ["x evil", "1"]],
  ] as const)("with %s lose that field on the way", async (_what, field) => {
    for (const path of ["/", "/h2"]) {
      const before = http2Upstream.seen.length;
      const outcome = await play(path, [body("x"), head([["x-ok", "1"], field, ["x-late", "1"]], END)]);
      expect(outcome).toMatchObject({ status: 200, ended: true });
      for (const { trailers } of http2Upstream.seen.slice(before))
        expect(JSON.stringify(trailers)).not.toContain("evil");
    }
    expect(victim.requests.slice(heardBefore).map(({ trailers }) => trailers)).toEqual([["x-ok: 1", "x-late: 1"]]);
    expect(received()).not.toContain("evil");
  });

  test("behind a declared length leave the length as it was", async () => {
    const client = await openHttp2(pipelines.secure.port);
    client.send(head([...POST, ["content-length", "4"]]), body("body"), head([["x-a", "1"]], END));
    expect(await client.outcome(1)).toMatchObject({ status: 200, ended: true });
    client.close();
    const request = victim.requests.at(-1);
    expect([request?.header("content-length"), request?.body.toString(), request?.trailers]).toEqual(["4", "body", []]);
    expect(received()).not.toContain("x-a");
  });
});

describe("trailers of answers", () => {
  const bad: readonly (readonly [string, string])[] = [
    ["a bare line feed", "X-A: 1\nX-B: 2\r\n\r\n"],
    ["a bare carriage return", "X-A: 1\rX-B: 2\r\n\r\n"],
    ["a folded line", "X-A: 1\r\n X-B: 2\r\n\r\n"],
    ["no colon", "X-A\r\n\r\n"],
    ["no name", ": 1\r\n\r\n"],
    ["NUL", "X-A: 1\0\r\n\r\n"],
    ["no end", "X-A: 1\r\n"],
    ["too many bytes", `X-A: ${"a".repeat(70_000)}\r\n\r\n`],
  ];
  test.each(bad)("of HTTP/1.1 with %s break the answer off", async (_what, lines) => {
    answer = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n${lines}`;
    for (const ask of [
      () => sendOverHttp1(pipelines.plain.port, { headers: TE }),
      () => sendOverHttp2(pipelines.secure.port, { headers: TE }),
    ]) {
      const asked = ask();
      if (lines === "X-A: 1\r\n") {
        await expect.poll(() => victim.requests.length).toBeGreaterThan(heardBefore);
        heardBefore = victim.requests.length;
        victim.cut();
      }
      const got = await asked;
      expect([got.isWhole, got.trailers]).toEqual([false, []]);
    }
  });

  test("of HTTP/1.1 hide no second answer", async () => {
    answer =
      "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-A: 1\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged";
    expect((await sendOverHttp1(pipelines.plain.port, { headers: TE })).trailers).toEqual([["x-a", "1"]]);
    answer = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrue";
    expect((await sendOverHttp1(pipelines.plain.port, { headers: TE })).body).toBe("true");
  });

  const OK = [":status", "200"] as const;
  test.each<[string, Http2Script]>([
    ["a pseudo-header", (s) => s.send(headers(s, [OK]), data(s, "ok"), headers(s, [[":path", "/"]], FLAG.endStream))],
    ["no END_STREAM", (s) => s.send(headers(s, [OK]), data(s, "ok"), headers(s, [["x-a", "1"]]))],
    ["a length", (s) => s.send(headers(s, [OK]), data(s, "ok"), headers(s, [["content-length", "9"]], FLAG.endStream))],
    ["connection", (s) => s.send(headers(s, [OK]), data(s, "ok"), headers(s, [["connection", "x"]], FLAG.endStream))],
  ])("of HTTP/2 with %s break the answer off", async (_what, script) => {
    scripted.answer(script);
    for (const ask of [
      () => sendOverHttp1(pipelines.plain.port, { path: "/scripted", headers: TE }),
      () => sendOverHttp2(pipelines.secure.port, { path: "/scripted", headers: TE }),
    ]) {
      const got = await ask();
      expect([got.isWhole, got.trailers]).toEqual([false, []]);
    }
  });

  test("of HTTP/2 that could be read as two lines lose that field", async () => {
    scripted.answer((s) =>
      s.send(
        headers(s, [OK]),
        data(s, "ok"),
        headers(
          s,
          [
            ["x-ok", "1"],
            ["x-a", "1\r\nx-evil: 1"],
            ["x-b\r\nx-evil", "1"],
            ["x-late", "1"],
          ],
          FLAG.endStream,
        ),
      ),
    );
    const got = await sendOverHttp1(pipelines.plain.port, { path: "/scripted", headers: TE });
    expect(got.trailers).toEqual([
      ["x-ok", "1"],
      ["x-late", "1"],
    ]);
    expect(JSON.stringify(got)).not.toContain("evil");
  });
});
