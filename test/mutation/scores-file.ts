/** SCORES.md: the scores of each folder and the survivors, written so that they can be read again. */
import { readFileSync, writeFileSync } from "node:fs";

import type { Mutant } from "./mutants.ts";
import { inAll, type Result, type Score, scoresOf, scoreTable, survivorLine, survivorLines } from "./report.ts";

const FILE = new URL("SCORES.md", import.meta.url);

export interface Scores {
  /** By folder, without the sum. */
  readonly folders: readonly Score[];
  /** "file:line [operator] change", as `survivorLine` has them. */
  readonly survivors: readonly string[];
}

/** @param text as `formatScores` made it */
export function parseScores(text: string): Scores {
  const folders = [...text.matchAll(/^\| (?!all )(\S+) \| ([\d |]+) \|/gm)].map(
    ([, folder = "", counts = ""]): Score => {
      const [mutants = 0, killed = 0, late = 0, survived = 0, unreached = 0, equivalent = 0] = counts
        .split(" | ")
        .map(Number);
      return { folder, mutants, killed, late, survived, unreached, equivalent };
    },
  );
  return { folders, survivors: [...text.matchAll(/^- `(.*)`$/gm)].map(([, line = ""]) => line) };
}

export function formatScores({ folders, survivors }: Scores): string {
  return [
    "# Mutation scores\n",
    "What is tested is a sample: `npm run mutation -- --area NAME --sample N --seed 19`, then `--area NAME --scores`. What survived",
    "is tested again by `--survivors`, which writes the result here: killed since, equivalent, or removed with its line.",
    "Tests that were written for survivors make a score better than that of all mutants, of which these are a part.",
    "What each change is: operators.ts; which tests run: areas.ts; why some are equivalent to the source: equivalent.json.\n",
    scoreTable([...folders, inAll(folders)]),
    "\n## Survivors\n",
    ...survivors.map((each) => `- \`${each}\``),
    "",
  ].join("\n");
}

export const readScores = (): Scores => parseScores(readFileSync(FILE, "utf8"));
export const writeScores = (scores: Scores): void => writeFileSync(FILE, formatScores(scores));

/** What was found out about some folders takes the place of what was known of them. */
export function withResults(known: Scores, results: readonly Result[]): Scores {
  const folders = scoresOf(results);
  const isNew = (folder: string): boolean => folders.some((each) => each.folder === folder);
  return {
    folders: [...known.folders.filter(({ folder }) => !isNew(folder)), ...folders].toSorted((one, other) =>
      one.folder < other.folder ? -1 : 1,
    ),
    survivors: [...known.survivors.filter((line) => !isNew(folderOfLine(line))), ...survivorLines(results)],
  };
}

const folderOfLine = (line: string): string => line.slice(0, line.lastIndexOf("/", line.indexOf(":")));
const withoutPlace = (line: string): string => line.replace(/:\d+ /, " ").replace(/ \(no test\)$/, "");

/** The mutants that a line of the file stands for: those at its place, or where that has moved all that say the same. */
export function mutantsOfLine(line: string, mutants: readonly Mutant[]): readonly Mutant[] {
  const alike = mutants.filter((each) => withoutPlace(survivorLine(each)) === withoutPlace(line));
  const here = alike.filter((each) => survivorLine(each) === line.replace(/ \(no test\)$/, ""));
  return here.length > 0 ? here : alike;
}

/**
 * After survivors were tested again. A line of which something still survives stays, for as many mutants as it stood for.
 *
 * @param again what became of the mutants of each line; none: the source has no such mutant any more
 */
export function withSurvivorsAgain(known: Scores, again: ReadonlyMap<string, readonly Result[]>): Scores {
  const folders = known.folders.map((each) => ({ ...each }));
  const survivors: string[] = [];
  // Lines that say the same stand for one mutant each.
  const taken = new Map<string, number>();
  for (const line of known.survivors) {
    const results = again.get(line);
    const at = taken.get(line) ?? 0;
    taken.set(line, at + 1);
    const score = folders.find(({ folder }) => folder === folderOfLine(line));
    if (!results || !score) {
      survivors.push(line);
      continue;
    }
    const ofLine = results.length > 1 && known.survivors.filter((each) => each === line).length > 1;
    const alive = results.filter(({ verdict }) => verdict === "survived" || verdict === "unreached");
    const result = ofLine ? results[at] : (alive[0] ?? results[0]);
    if (line.endsWith("(no test)")) score.unreached -= 1;
    else score.survived -= 1;
    if (!result) score.mutants -= 1;
    else if (result.verdict === "equivalent") score.equivalent += 1;
    else if (result.verdict === "killed") score.killed += 1;
    else if (result.verdict === "timeout") [score.killed, score.late] = [score.killed + 1, score.late + 1];
    else {
      score[result.verdict] += 1;
      survivors.push(...survivorLines([result]));
    }
  }
  return { folders, survivors };
}
