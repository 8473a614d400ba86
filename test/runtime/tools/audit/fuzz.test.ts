/** Two runs in one file, changed at random: verification says that all is whole exactly where nothing was done to it. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { beginRun, verifyBytes, writeRecords } from "../../../support/audit-run.ts";
import { createRandom } from "../../../support/random.ts";

interface Line {
  readonly run: string;
  readonly text: string;
}

const RUNS = ["first", "second"] as const;
const CASES = 700;

/** As they stand in the file. */
const written: Line[] = [];

beforeAll(async () => {
  vi.useFakeTimers();
  const runs = RUNS.map((name) => ({ name, run: beginRun(name) }));
  const take = (): void => {
    for (const { name, run } of runs) written.push(...run.lines.splice(0).map((text) => ({ run: name, text })));
  };
  for (let round = 0; round < 4; round += 1) {
    for (const { run } of runs) {
      writeRecords(run, 2 + round);
      take();
    }
    // By then each of them has made a checkpoint.
    vi.advanceTimersByTime(1_000);
    take();
  }
  for (const { run } of runs) await run.records.close();
  take();
});
afterAll(() => void vi.useRealTimers());

function change(lines: readonly Line[], random: (below: number) => number): readonly Line[] {
  const at = random(lines.length);
  const line = lines[at];
  if (line === undefined) return lines;
  switch (random(5)) {
    case 0:
      return lines.toSpliced(at, 1);
    case 1:
      return lines.toSpliced(random(lines.length + 1), 0, line);
    case 2:
      return lines.toSpliced(at, 1).toSpliced(random(lines.length), 0, line);
    case 3:
      return lines.slice(0, at);
    default: {
      const place = random(line.text.length - 1);
      const character = String.fromCharCode(0x21 + random(94));
      return lines.with(at, { ...line, text: line.text.slice(0, place) + character + line.text.slice(place + 1) });
    }
  }
}

/** Nothing was done to it that could be seen: it is there up to a checkpoint, or not at all. */
function isUntouched(lines: readonly Line[], run: string): boolean {
  const now = lines.filter((line) => line.run === run).map(({ text }) => text);
  const before = written.filter((line) => line.run === run).map(({ text }) => text);
  const isPrefix = now.every((text, index) => text === before[index]);
  return isPrefix && (now.length === 0 || (now.at(-1) ?? "").includes('"message":"audit checkpoint"'));
}

test("changes at random are found, and nothing else is", () => {
  expect(written.filter(({ text }) => text.includes("audit checkpoint")).length).toBeGreaterThan(8);
  const wrong: unknown[] = [];
  let untouched = 0;
  for (let seed = 1; seed <= CASES; seed += 1) {
    const draw = createRandom(seed);
    const random = (below: number): number => Math.floor(draw() * below);
    let lines: readonly Line[] = written;
    for (let count = 1 + random(3); count > 0; count -= 1) lines = change(lines, random);
    const { result } = verifyBytes(Buffer.from(lines.map(({ text }) => text).join("")));
    const isWhole = RUNS.every((run) => isUntouched(lines, run));
    if (isWhole) untouched += 1;
    const expected = lines.length === 0 ? "untold" : "whole";
    if ((result === expected) !== isWhole && lines.length > 0) wrong.push({ seed, result, isWhole });
  }
  expect(wrong).toEqual([]);
  expect(untouched).toBeGreaterThan(10);
});
