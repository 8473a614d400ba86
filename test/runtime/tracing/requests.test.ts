/** Which trace a request belongs to, what upstreams are told of it, and the spans it leaves. */
import { once } from "node:events";
import { connect } from "node:http2";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { Certificates } from "../../../runtime/http/listener/certificates.ts";
import { createTracing, type Span, type SpanSink } from "../../../runtime/tracing/tracing.ts";
import { openListenerCertificates } from "../../support/certificates.ts";
import { type EchoUpstream, startEchoUpstream } from "../../support/echo-upstream.ts";
import { type Pipeline, startPipeline } from "../../support/pipeline.ts";
import { openRaw, sendRaw } from "../../support/raw-client.ts";
import { startWebSocketUpstream } from "../../support/websocket-upstream.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";
const INCOMING = [`traceparent: 00-${TRACE}-${SPAN}-01`, "tracestate: rojo=1,congo=2"];

let upstream: EchoUpstream;
let pipeline: Pipeline;
let spans: Span[];

beforeEach(async () => {
  upstream = await startEchoUpstream();
  spans = [];
});
afterEach(async () => {
  await pipeline.close();
  await upstream.close();
});

const sink: SpanSink = {
  add: (span) => void spans.push(span),
  counts: () => ({ exported: 0, dropped: 0, failed: 0 }),
  close: () => Promise.resolve(),
};

interface Options {
  readonly sampleOneIn?: number;
  readonly continueTraces?: boolean;
  readonly settings?: string;
  readonly to?: string;
  readonly off?: boolean;
  readonly certificates?: Certificates;
}

async function start({
  sampleOneIn = 1,
  continueTraces = false,
  settings = "",
  to,
  off,
  certificates,
}: Options = {}): Promise<void> {
  pipeline = await startPipeline(
    `runtime_flags: { mcp: true }
authorize_log_fields: [request-id, trace-id]
routes: [{ name: app, from: https://app.example, to: ${to ?? `"${upstream.origin}"`}, policy: [{ allow: { and: [{ authenticated_user: true }] } }], ${settings} }]`,
    {
      ...(off !== true && { tracing: createTracing({ sampleOneIn, continueTraces }, sink) }),
      ...(certificates && { certificates }),
    },
  );
}

/** @returns status of the answer */
async function ask(headers: readonly string[] = [], path = "/", cookie = "gateway_session=alice"): Promise<number> {
  const lines = [`GET ${path} HTTP/1.1`, "Host: app.example", `Cookie: ${cookie}`, "Connection: close", ...headers];
  return (await sendRaw(pipeline.port, [...lines, "", ""].join("\r\n"))).status;
}

const seen = () => upstream.seen.at(-1)?.headers ?? {};
const named = (name: string) => spans.filter((span) => span.name === name);

test("without the setting a client's trace headers are passed on like others, and no record names a trace", async () => {
  await start({ off: true });
  await ask(INCOMING);
  expect(seen()).toMatchObject({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "rojo=1,congo=2" });
  expect(pipeline.records[0]).not.toHaveProperty("trace-id");
});

describe("a request begins a trace", () => {
  test("whose id is the request's, in the record and upstream", async () => {
    await start();
    await ask();
    const id = String(pipeline.records[0]?.["request-id"]);
    expect(pipeline.records[0]?.["trace-id"]).toBe(id);
    expect(seen()["traceparent"]).toMatch(new RegExp(`^00-${id}-[0-9a-f]{16}-01$`));
    expect(seen()).not.toHaveProperty("tracestate");
  });

  test("in place of the client's, unless traces are to be continued", async () => {
    await start();
    await ask(INCOMING);
    expect(seen()["traceparent"]).not.toContain(TRACE);
    expect(seen()).not.toHaveProperty("tracestate");
    expect(named("GET default/app")[0]?.parentSpanId).toBeUndefined();
  });

  test.each([
    ["malformed", ["traceparent: 00-zz-1-01", "tracestate: rojo=1"]],
    ["twice", [...INCOMING, `Traceparent: 00-${TRACE}-${SPAN}-00`]],
  ])("in place of one that is %s, whose state is dropped", async (_name, headers) => {
    await start({ continueTraces: true });
    await ask(headers);
    expect(seen()["traceparent"]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(seen()["traceparent"]).not.toContain(TRACE);
    expect(seen()).not.toHaveProperty("tracestate");
  });

  test("recorded for one in N, with the flag sent upstream either way", async () => {
    await start({ sampleOneIn: 1_000_000 });
    for (let count = 0; count < 5; count += 1) await ask();
    expect(upstream.seen.every(({ headers }) => String(headers["traceparent"]).endsWith("-00"))).toBe(true);
    expect(spans).toEqual([]);
    expect(pipeline.records[0]?.["trace-id"]).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe("a trace that an MCP message names in _meta", () => {
  const META = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "rojo=1" };
  const call = async (params: unknown, headers: readonly string[] = []): Promise<void> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const lines = ["POST / HTTP/1.1", "Host: app.example", "Authorization: Bearer gwt_alice", "Connection: close"];
    const more = ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`, ...headers];
    expect((await sendRaw(pipeline.port, [...lines, ...more, "", body].join("\r\n"))).status).toBe(200);
  };
  const settings = "mcp: { server: {} }";

  test("continues if the settings allow it and no header names one, in record, spans and upstream", async () => {
    await start({ continueTraces: true, settings, sampleOneIn: 1_000_000 });
    await call({ name: "x", _meta: META });
    expect(seen()["traceparent"]).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-01$`));
    expect(seen()["traceparent"]).not.toContain(SPAN);
    expect(seen()["tracestate"]).toBe("rojo=1");
    expect(pipeline.records[0]?.["trace-id"]).toBe(TRACE);
    expect(named("POST default/app")[0]).toMatchObject({ traceId: TRACE, parentSpanId: SPAN });
    expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE]));
  });

  test.each<[string, boolean, unknown, readonly string[]]>([
    ["without the setting", false, META, []],
    ["beside a header", true, META, [`traceparent: 00-${"1".repeat(32)}-${SPAN}-01`]],
    ["beside a header that means nothing", true, META, ["traceparent: x"]],
    ["malformed", true, { ...META, traceparent: `00-${TRACE}-${SPAN}-01,` }, []],
    ["no text", true, { ...META, traceparent: [META.traceparent] }, []],
    ["no object", true, [META], []],
  ])("is not believed %s", async (_name, continueTraces, meta, headers) => {
    await start({ continueTraces, settings });
    await call({ name: "x", arguments: { traceparent: META.traceparent }, _meta: meta }, headers);
    expect(seen()["traceparent"]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
    expect(seen()["traceparent"]).not.toContain(TRACE);
    expect(seen()).not.toHaveProperty("tracestate");
  });
});

describe("with continue_traces", () => {
  test("a valid one continues under our span, with its state", async () => {
    await start({ continueTraces: true });
    await ask(INCOMING);
    const [server] = named("GET default/app");
    const [sent] = named("upstream");
    expect(server).toMatchObject({ traceId: TRACE, parentSpanId: SPAN, kind: "server" });
    expect(seen()).toMatchObject({ traceparent: `00-${TRACE}-${sent?.spanId}-01`, tracestate: "rojo=1,congo=2" });
    expect(pipeline.records[0]?.["trace-id"]).toBe(TRACE);
    expect(pipeline.records[0]?.["request-id"]).not.toBe(TRACE);
  });

  test("the caller's sampling flag is respected", async () => {
    await start({ continueTraces: true });
    await ask([`traceparent: 00-${TRACE}-${SPAN}-00`]);
    expect(seen()["traceparent"]).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    expect(spans).toEqual([]);
  });
});

describe("header settings win", () => {
  test("remove_request_headers removes ours", async () => {
    await start({ settings: "remove_request_headers: [traceparent]" });
    await ask(INCOMING);
    expect(seen()).not.toHaveProperty("traceparent");
  });

  test("set_request_headers replaces it", async () => {
    await start({ settings: 'set_request_headers: { traceparent: "fixed" }' });
    await ask(INCOMING);
    expect(seen()["traceparent"]).toBe("fixed");
  });
});

describe("spans", () => {
  test("of one request: server, policy and upstream, within each other", async () => {
    await start();
    await ask();
    await expect.poll(() => spans.length).toBe(3);
    const [server] = named("GET default/app");
    const [policy] = named("policy");
    const [sent] = named("upstream");
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1);
    expect([policy?.parentSpanId, sent?.parentSpanId]).toEqual([server?.spanId, server?.spanId]);
    expect(server?.attributes).toMatchObject({
      "gateway.route": "default/app",
      "http.request.method": "GET",
      "http.response.status_code": 200,
      "server.address": "app.example",
    });
    expect(policy?.attributes).toMatchObject({ "gateway.allow": true, "gateway.reasons": ["authenticated-user"] });
    expect(sent).toMatchObject({ kind: "client", failed: false });
    for (const inner of [policy, sent]) {
      expect(inner?.startMs).toBeGreaterThanOrEqual(server?.startMs ?? Number.NaN);
      expect(inner?.endMs).toBeLessThanOrEqual(server?.endMs ?? Number.NaN);
    }
    expect(Math.abs((server?.endMs ?? 0) - Date.now())).toBeLessThan(10_000);
  });

  test("of a refused request say why, and that nothing went upstream", async () => {
    await start();
    expect(await ask([], "/", "")).toBe(302);
    await expect.poll(() => spans.length).toBe(1);
    expect(spans[0]?.attributes).toMatchObject({
      "gateway.refused": "credential-missing",
      "http.response.status_code": 302,
    });
  });

  test("of an unknown host have no route", async () => {
    await start();
    await sendRaw(pipeline.port, "GET / HTTP/1.1\r\nHost: other.example\r\nConnection: close\r\n\r\n");
    await expect.poll(() => spans.length).toBe(1);
    expect(spans[0]).toMatchObject({ name: "GET", attributes: { "http.response.status_code": 404 } });
  });

  test("of a retried request: one for each sending, each named upstream", async () => {
    await start({ to: `["http://127.0.0.1:1", "${upstream.origin}"]` });
    for (let count = 0; count < 2; count += 1) expect(await ask()).toBe(200);
    await expect.poll(() => named("GET default/app").length).toBe(2);
    const sent = named("upstream");
    expect(sent.find(({ failed }) => failed)?.attributes).toMatchObject({ "error.type": "unreachable" });
    const second = sent.find(({ attributes }) => attributes["http.request.resend_count"] === 1);
    expect(upstream.seen.map(({ headers }) => headers["traceparent"])).toContain(
      `00-${second?.traceId}-${second?.spanId}-01`,
    );
  });

  test("of a failing upstream are errors", async () => {
    await start({ to: '"http://127.0.0.1:1"' });
    expect(await ask()).toBe(502);
    await expect.poll(() => named("GET default/app").length).toBe(1);
    expect(named("GET default/app")[0]).toMatchObject({ failed: true, attributes: { "error.type": "502" } });
  });

  test("of WebSocket end with the connection", async () => {
    const sockets = await startWebSocketUpstream();
    try {
      await start({ to: `"${sockets.origin}"`, settings: "allow_websockets: true" });
      const raw = openRaw(
        pipeline.port,
        "GET / HTTP/1.1\r\nHost: app.example\r\nCookie: gateway_session=alice\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
      );
      await raw.contains("101 Switching");
      expect(named("GET default/app")).toEqual([]);
      raw.socket.destroy();
      await expect.poll(() => named("GET default/app").length).toBe(1);
      expect(named("GET default/app")[0]?.attributes["http.response.status_code"]).toBe(101);
    } finally {
      await sockets.close();
    }
  });

  test("over HTTP/2 are the same, and end with the stream", async () => {
    const tls = await openListenerCertificates("app.example");
    await start({ continueTraces: true, certificates: tls.certificates });
    const session = connect(`https://127.0.0.1:${pipeline.port}`, { rejectUnauthorized: false });
    try {
      const stream = session.request({
        ":authority": "app.example",
        ":path": "/",
        cookie: "gateway_session=alice",
        traceparent: `00-${TRACE}-${SPAN}-01`,
      });
      stream.resume();
      await once(stream, "close");
      await expect.poll(() => spans.length).toBe(3);
      expect(named("GET default/app")[0]).toMatchObject({
        traceId: TRACE,
        parentSpanId: SPAN,
        attributes: { "http.response.status_code": 200 },
      });
      expect(seen()["traceparent"]).toBe(`00-${TRACE}-${named("upstream")[0]?.spanId}-01`);
    } finally {
      session.destroy();
      await tls.close();
    }
  });

  test("carry no path, query, cookie or header of the client", async () => {
    await start();
    await ask(
      ["X-Secret: sentinel", "User-Agent: sentinel", "Referer: https://sentinel/"],
      "/sentinel?q=sentinel",
      "gateway_session=alice; s=sentinel",
    );
    await sendRaw(pipeline.port, "PROPFIND /sentinel HTTP/1.1\r\nHost: sentinel.example\r\nConnection: close\r\n\r\n");
    await expect.poll(() => spans.length).toBe(4);
    expect(JSON.stringify(spans)).not.toContain("sentinel");
    expect(named("_OTHER")).toHaveLength(1);
  });
});
