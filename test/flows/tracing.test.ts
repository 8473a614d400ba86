/** Traces of a whole gateway, with a real receiver: the content of each span, without secrets. */
import { afterEach, beforeEach, expect, test } from "vitest";

import { createTestClock, type TestClock } from "../support/clock.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../support/otlp-receiver.ts";
import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";

let clock: TestClock;
let receiver: OtlpReceiver;
let bench: UpstreamGateway;

beforeEach(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  receiver = await startOtlpReceiver();
  const headers = { "x-api-key": { value: "receiver-key-sentinel" } };
  bench = await startUpstreamGateway({
    clock,
    boot: { tracing: { endpoint: receiver.endpoint, headers, service_name: "edge" } },
    settings: "authorize_log_fields: [request-id, trace-id, mcp-tool]",
  });
  bench.service.switches.accessTokenSeconds = 120;
});
afterEach(async () => {
  await bench.close();
  await receiver.close();
});

test("requests, policy, upstream, token refreshes and reloads are spans, and no token, cookie, query or tool argument is in any", async () => {
  const client = await bench.signIn("static");
  const token = client.tokens.access_token;
  const call = (body: object, query = "") =>
    fetch(`${bench.resource("static")}${query}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        cookie: "theme=cookie-sentinel",
        "x-other": "header-sentinel",
      },
      body: JSON.stringify(body),
    });
  const toolCall = {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "whoami", arguments: { text: "argument-sentinel" } },
  };
  expect((await call(toolCall, "?q=query-sentinel")).status).toBe(200);
  // Internal Token and identity are fetched again.
  clock.advance(121_000);
  expect((await bench.call("static", token)).status).toBe(200);
  expect((await fetch(bench.resource("static"), { method: "POST", body: "{}" })).status).toBe(401);
  await bench.gateway.reconfigure(bench.yaml((yaml) => `${yaml}\nset_response_headers: { X-New: "1" }\n`));
  const metrics = await fetch(`${bench.gateway.adminOrigin}/metrics`, {
    headers: { authorization: `Bearer ${bench.gateway.adminToken}` },
  });
  const page = await metrics.text();
  expect(page).toContain('gateway_token_refreshes_total{token="upstream",result="ok"} 1');
  expect(page).toContain("gateway_trace_spans_total");
  const records = await bench.gateway.records();
  await bench.gateway.runtime.close();

  const { spans } = receiver;
  expect(new Set(spans.map(({ name }) => name))).toEqual(
    new Set(["GET", "POST", "POST default/static", "policy", "upstream", "token refresh", "reload"]),
  );
  expect(receiver.services).toEqual(receiver.services.map(() => "edge"));
  expect(receiver.headers[0]).toMatchObject({ "x-api-key": "receiver-key-sentinel" });

  const policy = spans.find((span) => span.name === "policy" && span.attributes["gen_ai.tool.name"] === "whoami");
  const trace = spans.filter(({ traceId }) => traceId === policy?.traceId);
  const server = trace.find(({ kind }) => kind === 2);
  expect(trace.map(({ name }) => name).toSorted()).toEqual(["POST default/static", "policy", "upstream"]);
  expect(trace.map(({ parentSpanId }) => parentSpanId)).toEqual(
    trace.map((span) => (span === server ? undefined : server?.spanId)),
  );
  expect(server?.attributes).toMatchObject({
    "gateway.route": "default/static",
    "http.response.status_code": 200,
    "mcp.method.name": "tools/call",
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "whoami",
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "network.protocol.version": "1.1",
  });
  expect(policy?.attributes).toMatchObject({ "gateway.allow": true, "mcp.method.name": "tools/call" });
  // Record and trace are found by one id.
  expect(records.find((record) => record["mcp-tool"] === "whoami")?.["trace-id"]).toBe(policy?.traceId);
  expect(spans.find(({ name }) => name === "token refresh")?.attributes).toEqual({
    "gateway.token": "upstream",
    "gateway.route": "default/static",
    "gateway.result": "ok",
  });
  expect(spans.find(({ attributes }) => attributes["gateway.refused"] === "credential-missing")).toBeDefined();
  expect(spans.find(({ name }) => name === "reload")?.attributes).toEqual({ "gateway.result": "ok" });

  for (const secret of ["sentinel", token, token.slice(4, 24), "gwt_", "gwr_", "Bearer", "?", "cookie"]) {
    expect(receiver.text()).not.toContain(secret);
  }
});
