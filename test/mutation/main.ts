/**
 * `npm run mutation`: changes the sources that decide, one small change at a time, and says which changes no test notices.
 *
 *   --files A,B      sources, or beginnings of their paths (default: all of areas.ts)
 *   --area NAME      one area of areas.ts
 *   --sample N       N of the mutants, spread by chance (default: all)  --seed S (1)
 *   --processes N    at once (2)
 *   --again          what survived in an earlier run is tried again
 *   --survivors      tests the mutants that SCORES.md lists, and writes there what became of them
 *   --json           the report as JSON on standard output
 *   --scores         writes SCORES.md: its folders of these sources from the results that are known for them as they stand
 *
 * Results are kept under test-artifacts/mutation, by source and change: a run that was ended goes on where it was, and what
 * survived is tried again with --again. Sources are changed in memory alone. Exit code 1 where a mutant survived that
 * equivalent.json does not explain, 2 where an entry there fits none any more.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { AREAS, filesOf } from "./areas.ts";
import { isMutantOf, outdated, readEquivalents } from "./equivalents.ts";
import { applyMutant, findMutants, instrument, type Mutant, placeOf } from "./mutants.ts";
import { startRunner } from "./pool.ts";
import { measureReach } from "./reach.ts";
import { inAll, type Result, scoresOf, scoreTable, survivorLines, type Verdict } from "./report.ts";
import { root } from "./runner.ts";
import { sampleOf } from "./sample.ts";
import { mutantsOfLine, readScores, withResults, withSurvivorsAgain, writeScores } from "./scores-file.ts";

const { values } = parseArgs({
  options: {
    files: { type: "string", default: "" },
    area: { type: "string" },
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    processes: { type: "string", default: "2" },
    again: { type: "boolean", default: false },
    survivors: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    scores: { type: "boolean", default: false },
  },
});

interface Kept {
  readonly id: string;
  readonly verdict: Verdict;
  readonly by?: string;
}

const state = join(root, "test-artifacts/mutation/results.jsonl");
mkdirSync(join(root, "test-artifacts/mutation"), { recursive: true });
const kept = new Map<string, Kept>();
if (existsSync(state)) {
  for (const line of readFileSync(state, "utf8").split("\n")) {
    if (line !== "") kept.set((JSON.parse(line) as Kept).id, JSON.parse(line) as Kept);
  }
}
const keep = (each: Kept): void => {
  kept.set(each.id, each);
  appendFileSync(state, `${JSON.stringify(each)}\n`);
};

const say = (text: string): void => {
  process.stderr.write(process.stderr.isTTY ? `\r\u001B[K${text.slice(0, 150)}` : `${text}\n`);
};

const wanted = values.files.split(",").filter((each) => each !== "");
const areas = AREAS.filter(({ name }) => values.area === undefined || name === values.area);
const texts = new Map<string, string>();
const all: Mutant[] = [];
for (const area of areas) {
  for (const file of filesOf(area, root, wanted).sources) {
    const text = readFileSync(join(root, file), "utf8");
    texts.set(file, text);
    all.push(...findMutants(file, text));
  }
}
if (all.length === 0)
  throw new Error(`No sources to change: "${values.files}" is in no area of test/mutation/areas.ts`);

const equivalents = readEquivalents();
const old = outdated(equivalents, all);
for (const each of old)
  console.error(`equivalent.json: no mutant "${each.change}" at "${each.line}" of ${each.file} any more`);
if (old.length > 0) process.exit(2);

const isEquivalent = (mutant: Mutant): boolean => equivalents.some(isMutantOf(mutant));
/** Those that SCORES.md lists, by their lines there. */
const listed = new Map(
  (values.survivors ? readScores().survivors : [])
    .filter((line) => texts.has(line.slice(0, line.indexOf(":"))))
    .map((line) => [line, mutantsOfLine(line, all)] as const),
);
const chosen = values.survivors
  ? [...new Set([...listed.values()].flat())]
  : values.sample === undefined
    ? all
    : sampleOf(all, Number(values.sample), Number(values.seed));
if (!values.scores) {
  for (const area of areas)
    await test(
      area.name,
      chosen.filter(({ file }) => area.sources.length > 0 && areaOf(file) === area.name),
    );
}
report(values.scores ? all.filter((each) => isEquivalent(each) || kept.has(each.id)) : chosen);

function areaOf(file: string): string | undefined {
  return AREAS.find((area) => filesOf(area, root, [file]).sources.includes(file))?.name;
}

/** Runs what is not known yet of one area; with --again or --survivors what survived as well. */
async function test(name: string, mutants: readonly Mutant[]): Promise<void> {
  const isAgain = values.again || values.survivors;
  const isOpen = (mutant: Mutant): boolean => {
    const known = kept.get(mutant.id);
    return !isEquivalent(mutant) && (!known || (isAgain && ["survived", "unreached"].includes(known.verdict)));
  };
  const open = mutants.filter(isOpen);
  const area = AREAS.find((each) => each.name === name);
  if (open.length === 0 || !area) return;
  const sources = [...new Set(open.map(({ file }) => file))];
  const reach = await measureReach(sources, filesOf(area, root, []).tests, (text) => say(`${name}: ${text}`));
  for (const each of reach.left) say(`${name}: left out, since it fails without any change: ${each}\n`);
  const places = new Map(sources.map((file) => [file, instrument(texts.get(file) ?? "").places]));
  /** How often a test killed a mutant of a file: the best come first. */
  const kills = new Map<string, number>();
  let [done, survived, next] = [0, 0, 0];
  const began = performance.now();

  const take = async (): Promise<void> => {
    const runner = startRunner();
    try {
      for (let mutant = open[next++]; mutant; mutant = open[next++]) {
        const { file } = mutant;
        const place = placeOf(mutant, places.get(file) ?? []);
        const value = (each: string): number =>
          (1 + (kills.get(`${file} ${each}`) ?? 0)) / (300 + (reach.durationMs.get(each) ?? 0));
        const tests = (reach.tests.get(file)?.get(place) ?? []).toSorted((one, other) => value(other) - value(one));
        if (tests.length === 0) {
          keep({ id: mutant.id, verdict: "unreached" });
          survived += 1;
        } else {
          const usual = tests.reduce((sum, each) => sum + (reach.durationMs.get(each) ?? 0), 0);
          const replace = { file, text: applyMutant(texts.get(file) ?? "", mutant) };
          const outcome = await runner.run({ tests, replace }, 60_000 + usual * 4);
          const verdict = !outcome || outcome.isLate === true ? "timeout" : outcome.failed ? "killed" : "survived";
          keep({ id: mutant.id, verdict, ...(outcome?.by === undefined ? {} : { by: outcome.by }) });
          const by = outcome?.by?.split(": ")[0];
          if (by !== undefined) kills.set(`${file} ${by}`, (kills.get(`${file} ${by}`) ?? 0) + 1);
          if (verdict === "survived") {
            survived += 1;
            say(`survived: ${file}:${mutant.line} [${mutant.operator}] ${mutant.change}`);
          }
        }
        done += 1;
        const left = ((performance.now() - began) / done) * (open.length - done);
        if (process.stderr.isTTY || done % 25 === 0) {
          say(`${name}: ${done}/${open.length}, ${survived} survived, ${(left / 60_000).toFixed(1)} min left`);
        }
      }
    } finally {
      runner.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(Number(values.processes), open.length) }, take));
}

function report(mutants: readonly Mutant[]): void {
  const resultOf = (mutant: Mutant): Result => {
    const known = kept.get(mutant.id);
    const verdict = isEquivalent(mutant) ? "equivalent" : (known?.verdict ?? "unreached");
    return { mutant, verdict, ...(known?.by === undefined ? {} : { by: known.by }) };
  };
  const results = mutants.map(resultOf);
  const scores = scoresOf(results);
  const survivors = survivorLines(results);
  const sampled = { seed: Number(values.seed), mutants: all.length, tested: results.length };
  if (values.scores) writeScores(withResults(readScores(), results));
  if (values.survivors) {
    const again = new Map([...listed].map(([line, ofLine]) => [line, ofLine.map(resultOf)]));
    writeScores(withSurvivorsAgain(readScores(), again));
  }
  if (values.json) console.log(JSON.stringify({ ...sampled, scores, survivors }, null, 2));
  else
    console.log(
      `\n${survivors.join("\n")}\n\n${scoreTable([...scores, inAll(scores)])}\n\n${results.length} of ${all.length} mutants, seed ${sampled.seed}`,
    );
  process.exitCode = survivors.length > 0 ? 1 : 0;
}
