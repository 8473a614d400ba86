/** What became of mutants: the score of each folder and those that survived. */
import type { Mutant } from "./mutants.ts";

/** Killed by a test, by the time, survived, reached by no test, or explained as equivalent. */
export type Verdict = "killed" | "timeout" | "survived" | "unreached" | "equivalent";

export interface Result {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
  readonly by?: string;
}

export interface Score {
  readonly folder: string;
  mutants: number;
  killed: number;
  /** Of the killed, those whose tests were not over in time: hung, as a rule. */
  late: number;
  survived: number;
  unreached: number;
  equivalent: number;
}

/** Of those that can be told from the source, the part that a test tells. */
const partOf = ({ killed, mutants, equivalent }: Score): number => killed / Math.max(1, mutants - equivalent);

const folderOf = ({ file }: Mutant): string => file.slice(0, file.lastIndexOf("/"));

function scoreOf(folder: string, results: readonly Result[]): Score {
  const count = (...verdicts: Verdict[]): number => results.filter(({ verdict }) => verdicts.includes(verdict)).length;
  const killed = count("killed", "timeout");
  const equivalent = count("equivalent");
  return {
    folder,
    mutants: results.length,
    killed,
    late: count("timeout"),
    survived: count("survived"),
    unreached: count("unreached"),
    equivalent,
  };
}

/** One for each folder. */
export function scoresOf(results: readonly Result[]): readonly Score[] {
  const folders = [...new Set(results.map(({ mutant }) => folderOf(mutant)))].toSorted();
  return folders.map((name) =>
    scoreOf(
      name,
      results.filter(({ mutant }) => folderOf(mutant) === name),
    ),
  );
}

export function inAll(folders: readonly Score[]): Score {
  const sum = (key: Exclude<keyof Score, "folder">): number => folders.reduce((all, each) => all + each[key], 0);
  return {
    folder: "all",
    mutants: sum("mutants"),
    killed: sum("killed"),
    late: sum("late"),
    survived: sum("survived"),
    unreached: sum("unreached"),
    equivalent: sum("equivalent"),
  };
}

const percent = (score: number): string => `${(score * 100).toFixed(1)} %`;

export function scoreTable(scores: readonly Score[]): string {
  const head =
    "| folder | mutants | killed | of them by time | survived | reached by no test | equivalent | score |\n| --- | --: | --: | --: | --: | --: | --: | --: |";
  const rows = scores.map(
    (each) =>
      `| ${each.folder} | ${each.mutants} | ${each.killed} | ${each.late} | ${each.survived} | ${each.unreached} | ${each.equivalent} | ${percent(partOf(each))} |`,
  );
  return [head, ...rows].join("\n");
}

export const survivorLine = ({ file, line, operator, change }: Mutant): string =>
  `${file}:${line} [${operator}] ${change.replaceAll("`", "'")}`;

export const survivorLines = (results: readonly Result[]): readonly string[] =>
  results
    .filter(({ verdict }) => verdict === "survived" || verdict === "unreached")
    .map(({ mutant, verdict }) => `${survivorLine(mutant)}${verdict === "unreached" ? " (no test)" : ""}`);
