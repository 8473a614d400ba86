/** Plots as they are drawn: what is missing is a gap, what strangers wrote is text. */
import { describe, expect, test } from "vitest";

import { plot, type PlotParts } from "../../../../../runtime/pages/console/health/plot.ts";
import { linearScale, logScale, shortMs, shortNumber } from "../../../../../runtime/pages/console/health/scale.ts";

const MINUTE = 60_000;

function drawn(values: readonly (number | undefined)[], more: Partial<PlotParts> = {}): string {
  const starts = values.map((_, index) => 1_800_000_000_000 + index * MINUTE);
  const lines = [{ name: "one", values }];
  return plot({
    id: "p",
    title: "Answers",
    unit: "per second",
    axis: "linear",
    starts,
    stepMs: MINUTE,
    lines,
    ...more,
  }).toString();
}

const pathOf = (text: string): string => /<path class="line l1" d="([^"]*)"/.exec(text)?.[1] ?? "";

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

describe("plot()", () => {
  test("draws each run of values by itself, and one value alone as a dot", () => {
    expect(pathOf(drawn([1, 2, undefined, undefined, 3, undefined, 4, 5]))).toMatch(
      /^M[\d.]+ [\d.]+L[\d.]+ [\d.]+M[\d.]+ [\d.]+h0\.1M[\d.]+ [\d.]+L[\d.]+ [\d.]+$/,
    );
  });

  test("zero is a value, on the axis", () => {
    const [first = "", last = ""] = pathOf(drawn([0, 2])).split("L");
    expect(first).toMatch(/ 154$/);
    expect(last).toMatch(/ 12$/);
  });

  test("its numbers stand in a table, the latest first, without the steps that nobody knows", () => {
    const rows = [...drawn([1, undefined, 3]).matchAll(/<tr[^>]*>\s*<td[^>]*>.*?<\/tr>/gs)].map(([row]) =>
      row
        .replace(/<[^>]*>|\s+/g, " ")
        .trim()
        .replace(/ +/g, " "),
    );
    expect(rows).toEqual(["2027-01-15 08:02 UTC 3", "2027-01-15 08:00 UTC 1"]);
  });

  test("says in words what it shows", () => {
    const text = drawn([1, 8, 2]);
    expect(text).toContain('role="img" aria-labelledby="p-title p-desc"');
    expect(text).toContain("one: last 2, highest 8. 3 steps of 1 minutes; the numbers are in the table below.");
  });

  test("has nothing that its page's policy refuses, and shows markup in names as text", () => {
    const lines = [{ name: '"><script>alert(1)</script>', values: [1, 2] }];
    const text = drawn([1, 2], { lines });
    expect(text).not.toMatch(/<script|style=|javascript:| on\w+=/);
    expect(text).toContain("&#60;script&#62;");
  });

  test("without values it says so", () => {
    expect(drawn([undefined, undefined])).toContain("No data in this period.");
  });
});
