/** What `npm run mutation` changes, and that its explanations still fit; the run itself is long, see main.ts. */
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

import { AREAS, filesOf } from "./areas.ts";
import { outdated, readEquivalents } from "./equivalents.ts";
import { applyMutant, findMutants, instrument, placeOf } from "./mutants.ts";
import { type Result, scoresOf, scoreTable } from "./report.ts";
import { root } from "./runner.ts";
import { sampleOf } from "./sample.ts";
import { formatScores, mutantsOfLine, parseScores, withResults, withSurvivorsAgain } from "./scores-file.ts";
import { parseSource } from "./syntax.ts";

const changed = (source: string): string[] => findMutants("a.ts", source).map((each) => applyMutant(source, each));

describe("findMutants()", () => {
  test.each([
    ["a < 1;", ["a <= 1;", "a >= 1;", "a < 2;"]],
    ["a === b;", ["a !== b;"]],
    ["a && b;", ["((a) || (b));", "true && b;", "a && true;"]],
    ["a ?? b;", ["a;", "b;"]],
    ["if (a) b = 1;", ["if (true) b = 1;", "if (false) b = 1;", "if (a) ;", "if (a) b = 2;"]],
    ["a ? b : c;", ["true ? b : c;", "false ? b : c;"]],
    ["while (a) i++;", ["while (false) i++;", "while (a) i--;"]],
    ["x = !a;", [";", "x = !!(a);"]],
    ["const f = (a: A): B => a.b;", ["const f = (a: A): B => undefined;"]],
    ["function f() { return a; }", ["function f() { return undefined; }"]],
    ["const b = true;", ["const b = false;"]],
    ['const s = "s";', ['const s = "";']],
    ["const s = `a${b}`;", ['const s = "";']],
    ["const n = a?.b;", ["const n = a.b;"]],
    ["const n = a?.[0];", ["const n = a[0];", "const n = a?.[1];"]],
    ["const n = a?.();", ["const n = a();"]],
    ["const n = a.some(f);", ["const n = a.every(f);"]],
    ["const n = a.trim();", ["const n = a;"]],
    ["const n = /^a$/u;", ["const n = /a$/u;", "const n = /^a/u;"]],
    ["throw e;", [";"]],
    ["f();", [";"]],
    ["n += 1;", [";", "n -= 1;", "n += 2;"]],
    ["const n = [a];", ["const n = [];"]],
  ])("%s", (source, expected) => {
    expect(changed(source).toSorted()).toEqual(expected.toSorted());
  });

  test.each([
    'import a from "a";',
    'export { a } from "a";',
    'type A = "a" | 1;',
    "interface A { a: true }",
    'const a: "b" = b;',
    "const a = { b: c };",
    'const text = "words for people";',
    "const text = `words for ${people}`;",
    "toString;",
  ])("leaves alone: %s", (source) => {
    expect(changed(source)).toEqual([]);
  });

  test("names what is changed by its source, so that a result is not kept past it", () => {
    const ids = (source: string): string[] => findMutants("a.ts", source).map(({ id }) => id);
    expect(ids("a < b;")).toEqual(ids("a < b;"));
    expect(new Set([...ids("a < b;"), ...ids("a < b; ")]).size).toBe(4);
  });
});

test("each mutant of each area can be read, and instrumented sources can as well", () => {
  const left = AREAS.flatMap((area) => filesOf(area, root, []).sources).flatMap((file) => {
    const source = readFileSync(join(root, file), "utf8");
    parseSource(instrument(source).text);
    // Reading all of them would take a minute: a few of each file.
    return sampleOf(findMutants(file, source), 2, 1).filter((each) => !isReadable(applyMutant(source, each)));
  });
  expect(left).toEqual([]);
});

const isReadable = (text: string): boolean => {
  try {
    parseSource(text);
    return true;
  } catch {
    return false;
  }
};

test("placeOf() is the innermost statement around a mutant", () => {
  const source = "const f = () => { if (a) { b(); } };";
  const { places } = instrument(source);
  const at = source.indexOf("b()");
  expect(places[placeOf({ start: at, end: at + 3 }, places)]).toEqual({ start: at, end: at + 4 });
});

test("equivalent.json: every entry fits a mutant, and says why it cannot be told", () => {
  const entries = readEquivalents();
  const mutants = [...new Set(entries.map(({ file }) => file))].flatMap((file) =>
    findMutants(file, readFileSync(join(root, file), "utf8")),
  );
  const known = new Set(AREAS.flatMap((area) => filesOf(area, root, []).sources));
  expect(entries.filter(({ file }) => !known.has(file))).toEqual([]);
  expect(outdated(entries, mutants)).toEqual([]);
  expect(entries.filter(({ reason }) => reason.length < 20)).toEqual([]);
});

test("an entry of equivalent.json whose line has changed is found", () => {
  const mutants = findMutants("a.ts", "a < b;");
  const entry = { file: "a.ts", line: "a < c;", change: "< → <=", reason: "" };
  expect(outdated([entry], mutants)).toEqual([entry]);
  expect(outdated([{ ...entry, line: "a < b;" }], mutants)).toEqual([]);
});

test("scoresOf() leaves equivalents out and counts what no test reaches as alive", () => {
  const [mutant] = findMutants("f/a.ts", "a < b;");
  if (!mutant) throw new Error("no mutant");
  const results = (["killed", "timeout", "survived", "unreached", "equivalent"] as const).map((verdict) => ({
    mutant,
    verdict,
  }));
  expect(scoresOf(results)[0]).toMatchObject({
    folder: "f",
    mutants: 5,
    killed: 2,
    survived: 1,
    unreached: 1,
    equivalent: 1,
  });
  expect(scoreTable(scoresOf(results))).toMatch(/ 50\.0 % \|$/);
});

test("survivors that are tested again move to what became of them, or leave with their line", () => {
  const mutants = findMutants("f/a.ts", "a < b;\nc === d;");
  const [late, killed, other] = mutants;
  if (!late || !killed || !other) throw new Error("no mutants");
  const results: Result[] = [late, killed, other].map((mutant) => ({ mutant, verdict: "survived" }));
  const known = parseScores(formatScores(withResults({ folders: [], survivors: [] }, results)));
  expect(known.survivors).toEqual([
    "f/a.ts:1 [comparison] < → <=",
    "f/a.ts:1 [comparison] < → >=",
    "f/a.ts:2 [comparison] === → !==",
  ]);
  // The line has moved; the first one is there no more.
  const now = findMutants("f/a.ts", "x;\na >= b;\nc === d;");
  const again = new Map(
    known.survivors.map((line) => [
      line,
      mutantsOfLine(line, now).map((mutant): Result => ({ mutant, verdict: "killed" })),
    ]),
  );
  expect([...again.values()].map(({ length }) => length)).toEqual([0, 0, 1]);
  expect(withSurvivorsAgain(known, again)).toEqual({
    folders: [{ folder: "f", mutants: 1, killed: 1, late: 0, survived: 0, unreached: 0, equivalent: 0 }],
    survivors: [],
  });
});

test("sampleOf() gives the same for the same seed", () => {
  const list = Array.from({ length: 50 }, (_, at) => at);
  expect(sampleOf(list, 9, 4)).toEqual(sampleOf(list, 9, 4));
  expect(sampleOf(list, 9, 4)).not.toEqual(sampleOf(list, 9, 5));
});
