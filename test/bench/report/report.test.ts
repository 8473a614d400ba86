/** The pure parts of the benchmark's report, curves and guard: what they count, and what they draw. */
import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import { barPlot } from "../../support/plot/bar-plot.ts";
import { factorScale } from "../../support/plot/axis.ts";
import { linePlot } from "../../support/plot/line-plot.ts";
import { AnswerReader } from "../common/answers.ts";
import { OpenLoop } from "../common/open-loop.ts";
import { medianInterval, pairedRatios, quantile, slopeOf, spreadOf } from "../common/statistics.ts";
import type { Curves } from "../curves/figures.ts";
import { renderCurves, renderCurvesPlot, tableOf } from "../curves/page.ts";
import type { GuardHistory } from "../guard/history.ts";
import { judge, verdictOf } from "../guard/verdict.ts";
import { goalRows, goalSection, reached } from "./goals.ts";
import { renderReport } from "./html.ts";
import { lostLines } from "./memory.ts";

describe("OpenLoop", () => {
  /** A request each millisecond over one connection; an answer takes no time, but nobody is answered from 10 ms to 110 ms. */
  function stalled(): { readonly latencies: readonly number[]; readonly sent: number } {
    let now = 0;
    let sent = 0;
    let open: string | undefined;
    const loop = new OpenLoop<string>({
      ratePerSecond: 1000,
      startMs: 0,
      endMs: 200,
      send: (connection) => {
        sent += 1;
        open = connection;
      },
    });
    const isStalled = (): boolean => now >= 10 && now < 110;
    loop.free("only");
    for (; now < 200 || !loop.isDone; now += 1) {
      loop.tick(now);
      while (open !== undefined && !isStalled()) {
        open = undefined;
        loop.answered("only", now);
        loop.free("only");
      }
    }
    expect(loop.errors).toBe(0);
    return { latencies: loop.latencies, sent };
  }

  test("counts from when a request was due: everybody who would have asked during a stall is in the figures", () => {
    const { latencies, sent } = stalled();
    expect(sent).toBe(200);
    expect(latencies).toHaveLength(200);
    // A client that waits for each answer would see one slow answer in 100, and a p99 of 0.
    const slow = latencies.filter((millis) => millis > 0);
    expect(slow).toHaveLength(100);
    expect(Math.max(...slow)).toBe(100);
    expect(quantile(latencies, 0.9)).toBeGreaterThan(70);
  });

  test("what has no answer at the end took at least until then, and a lost connection is an error", () => {
    const sent: string[] = [];
    const loop = new OpenLoop<string>({ ratePerSecond: 100, startMs: 0, endMs: 50, send: (each) => sent.push(each) });
    loop.free("a");
    loop.free("b");
    expect(loop.tick(50)).toBe(50);
    expect(sent).toEqual(["a", "b"]);
    loop.lost("a");
    expect(loop.isDone).toBe(false);
    loop.giveUp(60);
    expect(loop.isDone).toBe(true);
    expect(loop.errors).toBe(1);
    expect(loop.latencies).toEqual([50, 40, 30, 20]);
  });

  test("requests that were due too long ago are timeouts, whether or not they were sent", () => {
    let wanted = 0;
    const loop = new OpenLoop<string>({
      ratePerSecond: 100,
      startMs: 0,
      endMs: 50,
      send: () => {},
      grow: () => (wanted += 1),
    });
    loop.free("a");
    loop.free("b");
    loop.tick(50);
    expect(wanted).toBe(3);
    loop.answered("b", 51, "503");
    expect(loop.expire(30)).toEqual(["a"]);
    expect(loop.failures).toEqual({ 503: 1, timeout: 2 });
    expect(loop.isDone).toBe(false);
    expect(loop.expire(41)).toEqual([]);
    expect(loop.failures).toEqual({ 503: 1, timeout: 4 });
    expect(loop.isDone).toBe(true);
  });
});

test("AnswerReader tells the end of answers however they are cut", () => {
  const reader = new AnswerReader();
  const bytes = Buffer.from("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
  for (let cut = 1; cut < bytes.length; cut += 1) {
    expect(reader.push(bytes.subarray(0, cut))).toBeUndefined();
    expect(reader.push(bytes.subarray(cut))).toBe(true);
  }
  expect(reader.push(Buffer.from("HTTP/1.1 503 No\r\ncontent-length: 0\r\n\r\n"))).toBe(false);
  expect(reader.push(Buffer.from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n"))).toBeUndefined();
  expect(reader.push(Buffer.from("0\r\n\r\n"))).toBe(true);
});

test("AnswerReader takes an answer of another length than the expected one for an error", () => {
  const answer = (body: string): Buffer =>
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
  const reader = new AnswerReader(5);
  expect(reader.push(answer("hello"))).toBe(true);
  expect(reader.push(answer("login page"))).toBe(false);
  expect(reader.push(Buffer.from("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"))).toBe(
    true,
  );
});

describe("statistics", () => {
  test("quartiles, ratios of pairs, slope", () => {
    expect(spreadOf([4, 1, 3, 2, 5])).toEqual({ median: 3, low: 2, high: 4 });
    expect(quantile([10, 20], 0.75)).toBe(17.5);
    expect(pairedRatios([10, 30], [5, 10])).toEqual([2, 3]);
    expect(() => pairedRatios([1], [1, 2])).toThrow(RangeError);
    expect(slopeOf([0, 1, 2].map((x) => ({ x, y: 7 + 3 * x })))).toBeCloseTo(3);
  });

  test("the interval of a median is the same each time, holds the median, and narrows with more values", () => {
    const few = [0.98, 1.01, 1.02, 1.05, 1.1];
    const many = Array.from({ length: 6 }, () => few);
    expect(medianInterval([few])).toEqual(medianInterval([few]));
    expect(medianInterval([few]).low).toBeLessThan(1.02);
    expect(medianInterval([few]).high).toBeGreaterThan(1.02);
    const width = ({ low, high }: ReturnType<typeof medianInterval>): number => high - low;
    expect(width(medianInterval(many))).toBeLessThan(width(medianInterval([few])));
  });

  test("values of one start do not make a difference between starts surer", () => {
    const slow = Array.from({ length: 10 }, () => 1.1);
    const fast = Array.from({ length: 10 }, () => 0.98);
    const interval = medianInterval([slow, fast, slow]);
    expect(interval.low).toBeLessThan(1);
    expect(interval.high).toBeGreaterThan(1.09);
  });
});

test.each([
  [[100, 101, 99, 100], [112, 113, 112, 111], "slower, surely"],
  [[100, 100, 100, 100, 100], [90, 104, 106, 108, 109], "slower, not surely: more rounds would tell"],
  [[100, 100, 100, 100, 100], [90, 95, 103, 108, 109], "within 5 %, not surely: more rounds would tell"],
  [[100, 101, 99, 100], [101, 102, 100, 101], "within 5 %, surely"],
  [[100, 101, 99, 100], [80, 81, 82, 80], "faster, surely"],
])("verdictOf() %j beside %j: %s", (old, now, verdict) => {
  expect(verdictOf(judge("GET", [{ old, now }]))).toBe(verdict);
});

test("a goal is reached by the median, in its own direction; what was not measured is a dash", () => {
  const samples = (name: string, cpu: number) => ({
    name,
    cpuMicros: [cpu, cpu],
    requestsPerSecond: [1, 1],
    p50: [cpu, cpu],
    p99: [cpu, cpu],
    errors: 0,
  });
  const compared = { get: [samples("gateway", 20), samples("nginx", 9), samples("fastify", 80)] };
  const rows = goalRows({ compared, oneAtATime: [samples("gateway", 12), samples("nginx", 10)] });
  const of = (what: RegExp): string => reached(rows.find((row) => what.test(row.what)) as (typeof rows)[number]);
  expect(of(/^GET with session/)).toBe("goal");
  expect(of(/^GET, beside @fastify/)).toBe("moonshot");
  expect(of(/p50/)).toBe("goal");
  expect(of(/p99/)).toBe("moonshot");
  expect(of(/^MCP GET/)).toBe("–");
});

test("lostLines() tells each point at which connections were missing", () => {
  const points = [0, 4000, 8000].map((count) => ({ count, open: Math.min(count, 4001), mebibytes: 100 }));
  expect(lostLines("gateway", "connections", points)).toEqual([
    '"memory" is not to be believed: gateway held 4001 of 8000 connections',
  ]);
  expect(lostLines("gateway", "streams", points.slice(0, 2))).toEqual([]);
});

describe("plots", () => {
  test("an axis of factors has round ends close around its values", () => {
    expect(factorScale(14, 180).ticks).toEqual([10, 20, 50, 100, 200]);
    expect(factorScale(10, 10).ticks).toEqual([10, 20]);
    expect(factorScale(0.02, 90_000).ticks).toEqual([0.1, 1, 10, 100, 1000, 10_000, 100_000]);
    expect(factorScale(14, 180).place(10)).toBe(0);
    expect(factorScale(14, 180).place(200)).toBe(1);
    expect(() => factorScale(0, 1)).toThrow(RangeError);
  });

  test.each(["linear", "factors"] as const)("lines stay inside, names are text, nothing is NaN: %s", (axis) => {
    const points = [1, 10, 100].map((x) => ({ x, y: x * 3, low: x * 2, high: x * 5 }));
    const lines = Array.from({ length: 7 }, (_, colour) => ({ name: `proxy <${colour}>`, colour, points }));
    const svg = linePlot({ title: "A & B", xTitle: "x", yTitle: "y", xAxis: axis, yAxis: axis, lines });
    expect(svg).toContain("A &amp; B");
    expect(svg).toContain("proxy &lt;6&gt;");
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    for (const [, x, y] of svg.matchAll(/cx="([\d.-]+)" cy="([\d.-]+)"/g)) {
      expect(Number(x)).toBeGreaterThan(66);
      expect(Number(x)).toBeLessThan(580);
      expect(Number(y)).toBeGreaterThan(60);
    }
    // The legend has a second line rather than leave the picture.
    const swatches = [...svg.matchAll(/<rect x="([\d.]+)" y="([\d.]+)" width="12"/g)];
    expect(swatches).toHaveLength(7);
    expect(new Set(swatches.map(([, , y]) => y)).size).toBe(2);
    expect(Math.max(...swatches.map(([, x]) => Number(x)))).toBeLessThan(500);
  });

  test("bars have their value beside them", () => {
    const bars = [{ name: "gateway", colour: 1, value: 23.4, low: 20, high: 25 }];
    expect(barPlot({ title: "GET", xTitle: "µs", groups: [{ name: "", bars }] })).toContain(">23.4</text>");
  });
});

test("a report is one page without scripts, says how busy the machine was, and escapes what it is told", () => {
  const page = renderReport({
    made: "2026-01-01T00:00:00Z",
    command: "npm run bench -- --report <dir>",
    machine: {
      processor: "A processor",
      cores: 2,
      memoryGibibytes: 8,
      system: "Linux",
      node: "v26",
      commit: "abc",
      versions: [{ name: "nginx", version: "1.22" }],
    },
    rounds: 7,
    seconds: 1,
    connections: 64,
    isQuick: false,
    tookSeconds: 61,
    loadBefore: "0.1",
    loadAfter: "2",
    othersBefore: 0.02,
    othersMeanwhile: 0.34,
    remarks: ["caddy is left out"],
    sections: [goalSection({})],
  });
  expect(page).toContain('<p class="busy">Others used 2 % of the machine before it, 34 % during it.');
  expect(page).toContain("--report &lt;dir&gt;");
  expect(page).toContain("caddy is left out");
  expect(page).not.toMatch(/<script|https?:/);
});

describe("curves", () => {
  const root = new URL("../../../", import.meta.url);
  const read = (path: string): string => readFileSync(new URL(path, root), "utf8");
  const spread = (median: number) => ({ median, low: median - 1, high: median + 1 });

  test("a table has a row for each size, and dashes where a line has no point", () => {
    const points = [10, 1000].map((x) => ({ x, cpuMicros: spread(x / 2) }));
    const memory = [{ name: "gateway", points: [{ x: 10, mebibytes: 99.96 }] }];
    expect(tableOf({ name: "routes", lines: [{ name: "GET", points }], memory })).toEqual({
      header: ["", "GET, CPU µs", "gateway, MiB"],
      rows: [
        ["10", "5.0", "100"],
        ["1,000", "500", "–"],
      ],
    });
  });

  test("runtime/CURVES.md and its plot are what figures and the guard's history say", () => {
    const figures = JSON.parse(read("test/bench/curves/curves.json")) as Curves;
    const history = JSON.parse(read("test/bench/guard/history.json")) as GuardHistory;
    const page = renderCurves(figures, history);
    expect(read("runtime/CURVES.md")).toBe(page);
    expect(read("runtime/curves.svg")).toBe(renderCurvesPlot(figures));
    expect(page).not.toMatch(/NaN|undefined|Infinity/);
    const busy = renderCurves({ ...figures, othersMeanwhile: 0.2, missing: ["streams, 9: no files"] }, []);
    expect(busy).toContain("The machine was busy");
    expect(busy).toContain("## What is missing\n\n- streams, 9: no files\n");
    expect(busy).not.toContain("## Earlier versions");
  });
});
