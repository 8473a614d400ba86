/** The page "Tested with": made by `npm run test:real`, which `npm test` does not run. */
import { readFileSync } from "node:fs";

import { expect, test } from "vitest";

import { partOf, withPart } from "../real/report.ts";
import { SYSTEMS } from "../real/systems.ts";

const page = readFileSync(new URL("../../runtime/TESTED.md", import.meta.url), "utf8");

test("it is about the versions that are installed, and no case failed", () => {
  const parts = [...page.matchAll(/<!-- real: ([a-z-]+) -->\n## (.+)\n\n.*: (\d+) of (\d+) cases passed/g)];
  expect(parts.length).toBeGreaterThan(0);
  for (const [, name = "", heading, passed, all] of parts) {
    expect(heading).toBe(`${SYSTEMS[name]?.title} ${SYSTEMS[name]?.version}`);
    expect(passed).toBe(all);
  }
});

test("a run replaces its own part and leaves the others", () => {
  const [first, second] = Object.entries(SYSTEMS);
  if (!first || !second) throw new Error("fewer than two systems");
  const run = (passed: boolean) => ({ seconds: 5, cases: [{ name: "signs in", passed }] });
  const text = (passed: boolean): string => partOf(first[1], run(passed), new Date("2026-11-30"));
  const both = withPart(withPart("", first[0], text(false)), second[0], partOf(second[1], run(true), new Date(0)));
  expect(both).toContain("2026-11-30: 0 of 1 cases passed, in 5 s after the set-up.\n\n- signs in: **failed**\n");
  expect(withPart(both, first[0], text(true))).toBe(
    both.replace("0 of 1 cases", "1 of 1 cases").replace("\n- signs in: **failed**\n", ""),
  );
});
