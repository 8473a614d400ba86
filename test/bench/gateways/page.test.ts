/** The page of the comparison with other gateways: it says what was measured, what is missing, and where others are better. */
import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import type { Cell, Comparison, Row } from "./figures.ts";
import { renderPage, renderPlot, renderQuote, summaryRows } from "./page.ts";
import { DENIED_PREFIX, DENIED_TOOLS, TOOLS, toolName } from "./sizes.ts";
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

test("runtime/COMPARISON.md, its plot and the README are what the figures say", () => {
  const figures = JSON.parse(read("test/bench/gateways/comparison.json")) as Comparison;
  expect(read("runtime/COMPARISON.md")).toBe(renderPage(figures));
  expect(read("runtime/comparison.svg")).toBe(renderPlot(figures));
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
