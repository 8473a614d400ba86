/** Spans to a receiver over HTTP: what arrives, what is dropped, and that nobody waits for it. */
import { execFile } from "node:child_process";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { promisify } from "node:util";

import { afterEach, beforeEach, expect, test } from "vitest";

import { silentLog } from "../../../runtime/shared/log.ts";
import { openOtlpSink, type OtlpOptions } from "../../../runtime/tracing/otlp.ts";
import type { Span, SpanSink } from "../../../runtime/tracing/tracing.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../support/otlp-receiver.ts";

let receiver: OtlpReceiver;
let sink: SpanSink | undefined;

beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(async () => {
  await sink?.close();
  await receiver.close();
});

const SPAN: Span = {
  name: "GET team/app",
  kind: "server",
  traceId: "0af7651916cd43dd8448eb211c80319c",
  spanId: "b7ad6b7169203331",
  parentSpanId: "00f067aa0ba902b7",
  startMs: 1_795_208_400_000.25,
  endMs: 1_795_208_400_012.5,
  attributes: { "gateway.allow": true, "gateway.reasons": ["domain-ok"], "http.response.status_code": 503 },
  failed: true,
};

function open(options: Partial<OtlpOptions> = {}, log = silentLog()): SpanSink {
  const { endpoint } = receiver;
  sink = openOtlpSink({ endpoint, headers: new Map(), serviceName: "edge", batchMs: 20, ...options }, { log });
  return sink;
}

test("openOtlpSink() sends spans with their times, parents, attributes and status, and the configured headers", async () => {
  open({ headers: new Map([["Authorization", "Bearer of-the-receiver"]]) }).add(SPAN);
  await expect.poll(() => receiver.spans.length).toBe(1);
  const { traceId, spanId, parentSpanId, startMs, endMs, attributes } = SPAN;
  expect(receiver.spans[0]).toEqual({
    name: "GET team/app",
    kind: 2,
    status: 2,
    traceId,
    spanId,
    parentSpanId,
    startMs: expect.closeTo(startMs, 2) as number,
    endMs: expect.closeTo(endMs, 2) as number,
    attributes,
  });
  expect(receiver.services).toEqual(["edge"]);
  expect(receiver.headers[0]).toMatchObject({ authorization: "Bearer of-the-receiver" });
  await expect.poll(() => sink?.counts()).toEqual({ exported: 1, dropped: 0, failed: 0 });
});

test("a receiver that hangs: the queue is bounded, what finds it full is dropped and counted", async () => {
  receiver.answer = "hang";
  open({ maxQueued: 100, timeoutMs: 500 });
  for (let count = 0; count < 1000; count += 1) sink?.add(SPAN);
  const { dropped } = sink?.counts() ?? { dropped: 0 };
  expect(dropped).toBeGreaterThanOrEqual(800);
  await sink?.close();
  const { exported, failed } = sink?.counts() ?? { exported: -1, failed: -1 };
  expect(exported).toBe(0);
  expect(failed).toBeLessThanOrEqual(1000 - dropped);
});

test("a receiver that rejects: counted, logged once without its response, and again on recovery", async () => {
  const lines: unknown[] = [];
  const keep = (...of: unknown[]): void => void lines.push(of);
  const log = silentLog();
  Object.assign(log, { warn: keep, info: keep });
  open({}, log);
  receiver.answer = 401;
  for (let count = 1; count <= 2; count += 1) {
    sink?.add(SPAN);
    await expect.poll(() => sink?.counts().failed).toBe(count);
  }
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).not.toContain("repeats");
  receiver.answer = 200;
  sink?.add(SPAN);
  await expect.poll(() => sink?.counts().exported).toBe(1);
  expect(lines).toHaveLength(2);
});

test.each([
  ["101", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n", false],
  ["a body that drips", "HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n", true],
])("a receiver that answers with %s costs the batches that it got, and none after them", async (_, head, drips) => {
  let bad = 4;
  const opened = new Set<Socket>();
  const server = createServer((socket) => {
    opened.add(socket);
    socket.on("close", () => opened.delete(socket)).on("error", () => {});
    socket.on("data", (bytes) => {
      if (!bytes.includes("POST")) return;
      bad -= 1;
      if (bad < 0) {
        socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
        return;
      }
      socket.write(head);
      const timer = drips ? setInterval(() => socket.write("."), 10) : undefined;
      socket.on("close", () => clearInterval(timer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`;
    open({ endpoint, timeoutMs: 100 });
    for (let count = 1; count <= 4; count += 1) {
      sink?.add(SPAN);
      await expect.poll(() => sink?.counts().failed, { timeout: 10_000 }).toBe(count);
    }
    sink?.add(SPAN);
    await expect.poll(() => sink?.counts().exported, { timeout: 10_000 }).toBe(1);
    // Nothing of the bad ones is left open.
    await expect.poll(() => opened.size).toBeLessThanOrEqual(1);
  } finally {
    await sink?.close();
    for (const socket of opened) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
});

test("close() sends pending spans, and is not delayed by a receiver that hangs", async () => {
  open({ batchMs: 60_000 }).add(SPAN);
  await sink?.close();
  expect(receiver.spans).toHaveLength(1);

  receiver.answer = "hang";
  open({ timeoutMs: 300 }).add(SPAN);
  const startedMs = performance.now();
  await sink?.close();
  expect(performance.now() - startedMs).toBeLessThan(3_000);
});

test("nothing of the library is loaded by a gateway without an endpoint", async () => {
  const code = `import { registerHooks } from "node:module";
const seen = [];
registerHooks({ resolve(name, context, next) { seen.push(name); return next(name, context); } });
const { openTracing } = await import("./runtime/tracing/tracing.ts");
await import("./runtime/gateway.ts");
await openTracing({ endpoint: undefined, headers: new Map(), serviceName: "g", sampleOneIn: 1, continueTraces: false }, {});
console.log(JSON.stringify(seen.filter((name) => /opentelemetry[/](sdk|exporter|otlp|resources)|otlp[.]ts/.test(name))));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", code], {
    cwd: new URL("../../../", import.meta.url).pathname,
  });
  expect(JSON.parse(stdout)).toEqual([]);
});
