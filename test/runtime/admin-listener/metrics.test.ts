import { describe, expect, test } from "vitest";

import { createMetrics } from "../../../runtime/admin-listener/metrics.ts";
import type { Decision } from "../../../runtime/policy/facts.ts";
import { compileShadow, decideShadow } from "../../../runtime/policy/shadow.ts";
import { routeNamed, snapshotFrom } from "../../support/config.ts";
import { asAlice } from "../../support/facts.ts";

const snapshot = snapshotFrom('routes: [{ name: "a", from: "http://a.example.com", to: "http://127.0.0.1:1" }]');
const route = routeNamed(snapshot, "a");

function decision(part: Partial<Decision>): Decision {
  return {
    allowed: false,
    denied: false,
    allowWhyTrue: [],
    allowWhyFalse: [],
    denyWhyTrue: [],
    denyWhyFalse: [],
    ...part,
  };
}

async function linesOf(metrics: ReturnType<typeof createMetrics>, name: string): Promise<string[]> {
  return (await metrics.text()).split("\n").filter((line) => line.startsWith(name));
}

describe("createMetrics()", () => {
  test("counts decisions with the reasons of their verdict", async () => {
    const metrics = createMetrics();
    metrics.decided(
      decision({ allowed: true, allowWhyTrue: ["domain-ok", "mcp-tool-ok"], denyWhyFalse: ["mcp-tool-ok"] }),
    );
    metrics.decided(decision({ allowed: true, allowWhyTrue: ["domain-ok"] }));
    metrics.decided(
      decision({ denied: true, denyWhyTrue: ["mcp-tool-unauthorized"], allowWhyFalse: ["mcp-tool-unauthorized"] }),
    );
    metrics.decided(decision({ allowWhyFalse: ["domain-unauthorized"] }));
    expect(await linesOf(metrics, "gateway_decisions_total")).toEqual([
      'gateway_decisions_total{allow="true"} 2',
      'gateway_decisions_total{allow="false"} 2',
    ]);
    expect(await linesOf(metrics, "gateway_decision_reasons_total")).toEqual([
      'gateway_decision_reasons_total{allow="true",reason="domain-ok"} 2',
      'gateway_decision_reasons_total{allow="true",reason="mcp-tool-ok"} 1',
      'gateway_decision_reasons_total{allow="false",reason="mcp-tool-unauthorized"} 1',
      'gateway_decision_reasons_total{allow="false",reason="domain-unauthorized"} 1',
    ]);
    expect(metrics.totals()).toMatchObject({ allowed: 2, denied: 2 });
  });

  test("has the delay of the event loop, of the turns since the last scrape", async () => {
    const metrics = createMetrics();
    // A turn with much work.
    await new Promise<void>((resolve) => {
      setTimeout(() => {
        const startedMs = performance.now();
        while (performance.now() - startedMs < 20);
        setTimeout(resolve);
      });
    });
    // And turns without: of many, one is short also on a busy machine.
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    const lines = await linesOf(metrics, "gateway_nodejs_eventloop_lag_");
    const values = new Map(lines.map((line) => line.split(" ") as [string, string]));
    expect(lines).toHaveLength(8);
    expect(Number(values.get("gateway_nodejs_eventloop_lag_max_seconds"))).toBeGreaterThan(0.015);
    expect(Number(values.get("gateway_nodejs_eventloop_lag_min_seconds"))).toBeLessThan(0.02);
    expect(values.get("gateway_nodejs_eventloop_lag_p99_seconds")).toMatch(/^\d+(\.\d+)?(e-\d+)?$/);
  });

  test("counts what candidates would change by their kind, not by their name", async () => {
    const metrics = createMetrics();
    const shadow = compileShadow({
      shadow_policy: [],
      policy: [
        { allow: { and: [{ domain: "example.com" }] } },
        { shadow: true, deny: { or: [{ email: "bob@example.com" }] } },
        { shadow: true, deny: { or: [{ email: "eve@example.com" }] } },
      ],
    });
    if (!shadow) throw new Error("Cannot test: the route has no candidates");
    for (const _ of [1, 2])
      metrics.shadowDecided(decideShadow(shadow, asAlice(), decision({ allowed: true, allowWhyTrue: ["domain-ok"] })));
    expect(await linesOf(metrics, "gateway_shadow_decisions_total")).toEqual([
      'gateway_shadow_decisions_total{candidate="shadow_policy",outcome="deny",flip="loses"} 2',
      'gateway_shadow_decisions_total{candidate="rule",outcome="allow",flip="none"} 4',
    ]);
    expect(metrics.totals()).toMatchObject({ allowed: 0, denied: 0 });
  });

  test.each([
    [0, "cut"],
    [101, "1xx"],
    [200, "2xx"],
    [304, "3xx"],
    [499, "4xx"],
    [599, "5xx"],
    [600, "cut"],
    [-1, "cut"],
    [Number.NaN, "cut"],
  ])("counts status %d as %s", async (status, label) => {
    const metrics = createMetrics();
    metrics.answered(route, status, 1);
    expect(await linesOf(metrics, "gateway_requests_total")).toEqual([
      `gateway_requests_total{route="${route.key}",status="${label}"} 1`,
    ]);
  });

  test("puts a duration at a bucket's limit into that bucket", async () => {
    const metrics = createMetrics();
    for (const ms of [0, 5, 5.1, 30_000, 30_001]) metrics.answered(route, 200, ms);
    const lines = await linesOf(metrics, 'gateway_upstream_duration_seconds_bucket{kind="web"');
    const counts = Object.fromEntries(
      lines.map((line) => [/le="([^"]+)"/.exec(line)?.[1] ?? "", Number(line.split(" ")[1])]),
    );
    expect(counts).toMatchObject({ "0.005": 2, "0.01": 3, "10": 3, "30": 4, "+Inf": 5 });
  });

  test("escapes labels", async () => {
    const metrics = createMetrics();
    metrics.answered({ ...route, key: 'default/a"\\\n' }, 200, 1);
    expect(await linesOf(metrics, "gateway_requests_total")).toEqual([
      String.raw`gateway_requests_total{route="default/a\"\\\n",status="2xx"} 1`,
    ]);
  });

  test("reads registered series at each scrape, and refuses a name twice", async () => {
    const metrics = createMetrics();
    let entries = 1;
    const series = {
      name: "gateway_token_cache_entries",
      help: "x",
      type: "gauge",
      read: () => [{ value: entries }],
    } as const;
    metrics.register(series);
    expect(await linesOf(metrics, series.name)).toEqual(["gateway_token_cache_entries 1"]);
    entries = 2;
    expect(await linesOf(metrics, series.name)).toEqual(["gateway_token_cache_entries 2"]);
    expect(() => metrics.register({ ...series })).toThrow(/already been registered/);
  });

  test("functions can be handed over singly", () => {
    const metrics = createMetrics();
    const { refused, openStreams } = metrics;
    refused("method");
    refused("method");
    openStreams(2);
    expect(metrics.totals()).toEqual({ requests: 0, allowed: 0, denied: 0, refused: 2, openStreams: 2 });
  });
});
