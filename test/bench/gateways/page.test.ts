/** The page of the comparison with other gateways: it says what was measured, what is missing, and where others are better. */
import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import type { Containers } from "./containers/figures.ts";
import type { Cell, Comparison, Row, Run } from "./figures.ts";
import { renderPage, renderPlot, renderQuote, summaryRows } from "./page.ts";
import { DENIED_PREFIX, DENIED_TOOLS, TOOLS, toolName } from "./sizes.ts";
import type { Tail } from "./tail/figures.ts";
import { roundDown, secondsAt } from "./tail/measure.ts";
import { renderTailPlot } from "./tail/page.ts";
import { isRefusal, WORKS, wrongWith } from "./works.ts";

const root = new URL("../../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), "utf8");

const cell = (cpu: number): Cell => ({
  cpuMicros: { median: cpu, low: cpu - 1, high: cpu + 1 },
  requestsPerSecond: 1000,
  p50: cpu * 10,
  p99: cpu * 100,
  residentMebibytes: cpu,
  requests: 5000,
  upstreamConnections: 32,
});

const row = (name: string, cpu: number, more: Partial<Row> = {}): Row => ({
  name,
  title: name.toUpperCase(),
  versions: [`${name} 1.0`],
  identity: "JWT",
  policy: "email",
  record: "file",
  notes: "Notes.",
  showsAllTools: true,
  isSlow: false,
  remarks: [],
  processes: 1,
  idleMillisPerSecond: 0,
  works: { mcp: { cells: { 32: cell(cpu), 1: cell(cpu * 2) } }, list: { cells: { 32: cell(cpu) } } },
  ...more,
});

const comparison = (...rows: Row[]): Comparison => ({
  made: "2026-01-02T03:04:05Z",
  command: "npm run bench -- --gateways",
  machine: {
    processor: "A processor",
    cores: 2,
    memoryGibibytes: 8,
    system: "Linux",
    node: "v26",
    commit: "abc",
    versions: [],
  },
  rounds: 5,
  seconds: 1,
  isQuick: false,
  tookSeconds: 600,
  loadBefore: "0.1",
  othersBefore: 0.01,
  othersMeanwhile: 0.02,
  works: WORKS.map(({ name, title, connections }) => ({ name, title, connections })),
  rows,
});

const ours = row("gateform", 100, { showsAllTools: false });

test("the cheapest comes first, and a list that hides nothing is marked", () => {
  const { rows } = summaryRows(comparison(row("slow", 400), ours, row("fast", 50)));
  expect(rows.map(([title]) => title)).toEqual(["FAST", "GATEFORM", "SLOW"]);
  expect(rows.map((cells) => cells[4])).toEqual(["50\\*", "100", "400\\*"]);
  expect(rows[0]?.[1]).toBe("–");
});

test("the page has every case in which another gateway is better, and none in which it only does less", () => {
  const page = renderPage(comparison(row("slow", 400), ours, row("fast", 50), row("open", 10, { policy: "none" })));
  const losses = /## Where Gateform is not first\n\n(.*?)\n## /s.exec(page)?.[1];
  expect(losses).toBe(
    "- MCP call, processor time: 2.0 times FAST\n" +
      "- MCP call, one connection, processor time: 2.0 times FAST\n" +
      "- MCP call, p99: 2.0 times FAST\n" +
      "- memory: 2.0 times FAST\n",
  );
});

test("what is missing is on the page with its reason, as are remarks and a busy machine", () => {
  const noTool = { tool: { cells: {}, missing: "it reads no message bodies" } } as const;
  const page = renderPage({
    ...comparison(
      ours,
      row("gone", 0, { missing: "Go: cannot be had", works: {} }),
      row("partly", 80, { works: noTool }),
    ),
    othersMeanwhile: 0.4,
  });
  expect(page).toContain("- GONE: Go: cannot be had\n");
  expect(page).toContain("- PARTLY, MCP call, tool rule: it reads no message bodies\n");
  expect(page).toContain("40 % during it. **The machine was busy");
  expect(page).not.toMatch(/NaN|undefined|Infinity/);
  expect(renderPage(comparison(row("odd", 9, { remarks: ["it wrote 3 records"] })))).toContain(
    "**Observed**: it wrote 3 records.",
  );
});

test("the plot and the README's sentence have the same figures", () => {
  const all = comparison(ours, row("haproxy-jwt", 80), row("envoy-jwt-cached", 200), row("nginx-oauth2-proxy", 400));
  expect(renderPlot(all)).toContain(">HAPROXY-JWT</text>");
  expect(renderQuote(all)).toContain("takes 1.3, 0.5 and 0.3 times the processor time of HAProxy, Envoy and nginx");
  for (const rough of [{ isQuick: true }, { othersMeanwhile: 0.2 }])
    expect(renderQuote({ ...all, ...rough }).replace("oauth2", "")).not.toMatch(/\d/);
});

const run = (made: string): Run => {
  const { machine, command, isQuick, tookSeconds, loadBefore, othersBefore, othersMeanwhile } = comparison();
  return { made, machine, command, isQuick, tookSeconds, loadBefore, othersBefore, othersMeanwhile };
};

const tail: Tail = {
  run: run("2026-01-02T03:04:05Z"),
  rounds: 3,
  connections: 64,
  rows: [
    { name: "gateform", saturation: 2000, own: 900, millis: 2 },
    { name: "fast", saturation: 3000, own: 1500, millis: 1, common: 0.5 },
    { name: "slow", saturation: 400, own: 200, millis: 3 },
  ].map(({ name, saturation, own, millis, common }) => ({
    name,
    title: name.toUpperCase(),
    saturation: { mcp: saturation },
    cells: [
      ...(common === undefined ? [] : [{ kind: "common" as const, ratePerSecond: 900, millis: common }]),
      { kind: "own" as const, ratePerSecond: own, millis },
    ].map((cell) => ({
      ...cell,
      work: "mcp" as const,
      requests: 9000,
      errors: 0,
      millis: { 0.5: cell.millis, 0.9: cell.millis * 2, 0.99: cell.millis * 60 },
      latenessMillis: 0.05,
    })),
  })),
};

test("latency at fixed rates: at half of each gateway's limit and of Gateform's, and no percentile without samples", () => {
  const all = comparison(row("fast", 50), ours, row("slow", 400));
  const page = renderPage({ ...all, tail });
  expect(page).toContain(`
| **GATEFORM** | – | 900/s: 2.0 / 4.0 / 120 / – / – | 2.0 / 4.0 / 120 / – / – |
| FAST | – | 1,500/s: 1.0 / 2.0 / 60.0 / – / – | 0.50 / 1.0 / 30.0 / – / – |
| SLOW | – | 200/s: 3.0 / 6.0 / 180 / – / – | – |
`);
  // Said once, as all was measured in one run.
  expect(page.match(/Measured 2026/g)).toHaveLength(1);
  expect(page).toContain("- MCP call, p99 at half of its own limit: 2.0 times FAST\n");
  expect(page).toContain("- MCP call, p99 at 900 a second: 4.0 times FAST\n");
  expect(page).not.toMatch(/NaN|undefined|Infinity/);
  const plot = renderTailPlot(tail) ?? "";
  expect(plot).toContain(">GATEFORM, 900/s</text>");
  for (const label of ["p50", "p90", "p99"]) expect(plot).toContain(`>${label}</text>`);
  expect(plot).not.toContain("p99.9<");
});

test("a rate is measured until its p99.99 or p99.9 has ten requests beyond it, if that does not take too long", () => {
  expect([20_000, 13_000, 7500, 1200, 100].map((rate) => Math.floor(rate * secondsAt(rate)))).toEqual([
    105_000, 105_000, 45_000, 10_500, 900,
  ]);
  expect([13_999, 999, 7, 0].map(roundDown)).toEqual([13_000, 990, 7, 0]);
});

test("small containers: what was served, denied and lost, and when it was measured in another run", () => {
  const step = { requests: 2000, p50: 3, p99: 1200, peakMebibytes: 100, isKilled: false };
  const [rated, burst] = [{ ratePerSecond: 1000 }, { count: 2000 }];
  const size = { cpus: 0.2, mebibytes: 128 };
  const steps = [
    { ...step, ...rated, served: 1900, failures: { 503: 90, timeout: 10 } },
    { ...step, ...burst, served: 2000, failures: {} },
  ];
  const killed = { ...step, ...rated, served: 0, failures: { closed: 2000 }, peakMebibytes: 128, isKilled: true };
  const containers: Containers = {
    run: run("2026-01-03T00:00:00Z"),
    timeoutSeconds: 10,
    rows: [
      { name: "gateform", title: "Gateform", size, startSeconds: 2.5, kills: 0, steps },
      { name: "large", title: "Large", size, startSeconds: 1, kills: 1, steps: [killed] },
      { name: "larger", title: "Larger", size, missing: "it exited: no | memory", kills: 2, steps: [] },
    ],
  };
  const page = renderPage({ ...comparison(ours), containers });
  expect(page).toContain("## Small containers\n\nMeasured 2026-01-03 at commit `abc`");
  expect(page).toContain(`|  | Limits | ready after | 1,000/s | 2,000 at once | MiB |
| --- | --- | ---: | ---: | ---: | ---: |
| **Gateform** | 0.2 cores, 128 MiB | 2.5 s | 1,900 of 2,000; 3.0 / 1,200; 90 × 503; 10 × no response | all; 3.0 / 1,200 | 100 |
| Large | 0.2 cores, 128 MiB | 1.0 s | 0 of 2,000; 2,000 × connection closed; **killed** | – | 128, killed |
| Larger | 0.2 cores, 128 MiB | does not run: it exited: no \\| memory, killed 2 times | – | – | – |
`);
  const missing = renderPage({ ...comparison(ours), containers: { ...containers, rows: [], missing: "no\ncgroup" } });
  expect(missing).toContain("Not measured: no cgroup.\n");
});

test("runtime/COMPARISON.md, its plot and the README are what the figures say", () => {
  const figures = JSON.parse(read("test/bench/gateways/comparison.json")) as Comparison;
  expect(read("runtime/COMPARISON.md")).toBe(renderPage(figures));
  expect(read("runtime/comparison.svg")).toBe(renderPlot(figures));
  const latency = figures.tail && renderTailPlot(figures.tail);
  if (latency !== undefined) expect(read("runtime/comparison-latency.svg")).toBe(latency);
  expect(read("README.md")).toContain(renderQuote(figures));
});

test("20 of 50 tools are denied", () => {
  const names = Array.from({ length: TOOLS }, (_, index) => toolName(index));
  expect(names.filter((name) => name.startsWith(DENIED_PREFIX))).toHaveLength(DENIED_TOOLS);
  expect(names).toContain("get_issue");
  expect(names).toContain("delete_issue");
});

test("a response is right or wrong, refused or not", () => {
  const [list, sse] = ["list", "sse"].map((name) => WORKS.find((work) => work.name === name));
  if (!list || !sse) throw new Error("Cannot find the works");
  const tools = Array.from({ length: TOOLS }, (_, index) => ({ name: toolName(index) }));
  const shown = { status: 200, text: JSON.stringify({ id: 1, result: { tools } }), streamedMs: 0 };
  expect(wrongWith(list, shown, true)).toBeUndefined();
  expect(wrongWith(list, shown, false)).toBe("listed 50 tools, 20 of them denied");
  const events = { status: 200, text: "data: {}\n\n".repeat(100), streamedMs: 450 };
  expect(wrongWith(sse, events, false)).toBeUndefined();
  expect(wrongWith(sse, { ...events, streamedMs: 2 }, false)).toBe("held back the events until the last one");
  expect(isRefusal({ status: 200, text: '{"error": {"code": -32000}}', streamedMs: 0 })).toBe(true);
  expect(isRefusal(shown)).toBe(false);
});
