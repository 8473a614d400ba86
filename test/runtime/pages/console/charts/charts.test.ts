/** Charts as they are drawn: unknown values are gaps, untrusted names are text, all numbers are in a table. */
import { describe, expect, test } from "vitest";

import {
  columnChart,
  type ColumnParts,
  lineChart,
  type LineParts,
} from "../../../../../runtime/pages/console/charts/chart.ts";
import { sparkLine, topBars } from "../../../../../runtime/pages/console/charts/figures.ts";
import { linearScale, logScale, shortMs, shortNumber } from "../../../../../runtime/pages/console/charts/scale.ts";

const MINUTE = 60_000;
const FIRST = 1_800_000_000_000;

type Values = readonly (number | undefined)[];

const startsOf = (values: Values): readonly number[] => values.map((_, index) => FIRST + index * MINUTE);

function lines(values: Values, more: Partial<LineParts> = {}): string {
  return lineChart({
    id: "p",
    title: "Answers",
    unit: "per second",
    axis: "linear",
    starts: startsOf(values),
    stepMs: MINUTE,
    lines: [{ name: "one", values }],
    ...more,
  }).toString();
}

function columns(series: ColumnParts["series"], more: Partial<ColumnParts> = {}): string {
  const starts = startsOf(series[0]?.values ?? []);
  return columnChart({ id: "c", title: "Decisions", starts, stepMs: MINUTE, series, ...more }).toString();
}

const pathOf = (text: string, name: string): string =>
  new RegExp(`<path class="${name}" d="([^"]*)"`, "u").exec(text)?.[1] ?? "";

/** Of each row of the table, in order. */
function rowsOf(text: string): readonly string[] {
  return [...text.matchAll(/<tr data-step=\d+>.*?(?=<tr|<\/tbody)/gs)].map(([row]) =>
    row
      .replaceAll(/<[^>]*>/g, " ")
      .replaceAll(/\s+/g, " ")
      .trim(),
  );
}

describe("scales", () => {
  test.each([
    [0, [0, 0.5, 1]],
    [0.3, [0, 0.1, 0.2, 0.3]],
    [7, [0, 5, 10]],
    [100, [0, 50, 100]],
    [1234, [0, 500, 1000, 1500]],
  ])("up to %s there are round numbers", (highest, ticks) => {
    const scale = linearScale(highest);
    expect(scale.ticks).toEqual(ticks);
    expect(scale.place(highest)).toBeLessThanOrEqual(1);
    expect(scale.place(0)).toBe(0);
  });

  test("counts have whole numbers", () => {
    expect(linearScale(1, 4, 1).ticks).toEqual([0, 1]);
    expect(linearScale(3, 4, 1).ticks).toEqual([0, 1, 2, 3]);
  });

  test.each([
    [3, 4, [1, 10]],
    [1, 1000, [1, 10, 100, 1000]],
    [0.4, 56_000, [0.1, 1, 10, 100, 1000, 10_000, 100_000]],
  ])("between %s and %s there are decades", (lowest, highest, ticks) => {
    const scale = logScale(lowest, highest);
    expect(scale.ticks).toEqual(ticks);
    expect(scale.place(0)).toBe(0);
    expect(scale.place(Math.sqrt((ticks[0] as number) * (ticks.at(-1) as number)))).toBeCloseTo(0.5);
  });

  test("numbers are short", () => {
    expect([0, 1234, 12.345, 0.01234].map(shortNumber)).toEqual(["0", "1,230", "12.3", "0.0123"]);
    expect([0, 0.25, 12.34, 1500].map(shortMs)).toEqual(["0 ms", "250 µs", "12.3 ms", "1.5 s"]);
  });
});

describe("lineChart()", () => {
  test("draws each run of values by itself, and one value alone as a dot", () => {
    expect(pathOf(lines([1, 2, undefined, undefined, 3, undefined, 4, 5]), "l l1")).toMatch(
      /^M[\d.]+ [\d.]+L[\d.]+ [\d.]+M[\d.]+ [\d.]+h\.1M[\d.]+ [\d.]+L[\d.]+ [\d.]+$/,
    );
  });

  test("zero is a value, on the axis", () => {
    expect(pathOf(lines([0, 2]), "l l1")).toBe("M5 400L15 0");
  });

  test("its numbers are in a table, newest first, without unknown steps", () => {
    expect(rowsOf(lines([1, undefined, 3]))).toEqual(["2027-01-15 08:02 3", "2027-01-15 08:00 1"]);
  });

  test("says in words what it shows", () => {
    const text = lines([1, 8, 2]);
    expect(text).toContain('role="img"');
    expect(text).toContain("one: 2, highest 8. The table below has all numbers.");
  });

  test("has nothing that its page's policy refuses, and shows markup in names as text", () => {
    const named = [{ name: '"><script>alert(1)</script>', values: [1, 2] }];
    const text = lines([1, 2], { lines: named });
    expect(text).not.toMatch(/<script|style=|javascript:| on\w+=/);
    expect(text).toContain("&#60;script&#62;");
  });

  test("without values it says so", () => {
    expect(lines([undefined, undefined])).toContain("No data in this period.");
  });
});

describe("columnChart()", () => {
  const series = [
    { name: "Denied", tone: "denied", values: [1, 0, undefined] },
    { name: "Allowed", tone: "allowed", values: [3, 4, undefined] },
  ] as const;

  test("stands one series on the other, the last one at the bottom", () => {
    const text = columns(series);
    expect(pathOf(text, "b-allowed")).toBe("M5 400v-300M15 400v-400");
    expect(pathOf(text, "b-denied")).toBe("M5 100v-100");
  });

  test("one among thousands is visible", () => {
    const text = columns([
      { name: "Denied", tone: "denied", values: [1] },
      { name: "Allowed", tone: "allowed", values: [40_000] },
    ]);
    expect(pathOf(text, "b-denied")).toMatch(/v-2$/);
  });

  test("its legend has sums, its table the numbers of each step with the address of the step", () => {
    const text = columns(series, { hrefOf: (start) => `?from=${start}` });
    const legend = /<ul class="legend">.*?<\/ul>/s.exec(text)?.[0] ?? "";
    expect(
      legend
        .replaceAll(/<[^>]*>/g, " ")
        .replaceAll(/\s+/g, " ")
        .trim(),
    ).toBe("Total Denied 1 Allowed 7");
    expect(rowsOf(text)).toEqual(["2027-01-15 08:01 0 4", "2027-01-15 08:00 1 3"]);
    expect(text).toContain(`<a href="?from=${FIRST}">`);
  });

  test("96 steps of five outcomes stay below 23 kB", () => {
    const tones = ["denied", "waiting", "limited", "failed", "allowed"] as const;
    const values = Array.from({ length: 96 }, (_, index) => 1 + ((index * 7919) % 400));
    const text = columns(tones.map((tone) => ({ name: tone, tone, values })));
    expect(Buffer.byteLength(text)).toBeLessThan(23_000);
  });
});

describe("figures", () => {
  test("a spark line has one line and the area below it, nothing for fewer than two values", () => {
    expect(sparkLine([1, undefined])).toBeUndefined();
    expect(sparkLine([0, 2])?.toString()).toContain('d="M5 388L15 20"');
  });

  test("bars are shares of the highest", () => {
    const text = topBars(
      [
        { name: "<b>", href: "/a", value: 50, text: "50", why: "no allow rule" },
        { name: "b", href: "/b", value: 1, text: "1" },
      ],
      "bad",
    ).toString();
    expect([...text.matchAll(/rect width="(\d+)%"/g)].map(([, width]) => width)).toEqual(["100", "2"]);
    expect(text).toContain("&#60;b&#62;");
  });
});
