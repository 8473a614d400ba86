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
  readonly mutants: number;
  readonly killed: number;
  /** Of the killed, those whose tests were not over in time: hung, as a rule. */
  readonly late: number;
  readonly survived: number;
  readonly unreached: number;
  readonly equivalent: number;
  /** Of those that can be told from the source, the part that a test tells. */
  readonly score: number;
}

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
    score: killed / Math.max(1, results.length - equivalent),
  };
}

/** One line for each folder, then all of them. */
export function scoresOf(results: readonly Result[]): readonly Score[] {
  const folders = [...new Set(results.map(({ mutant }) => folderOf(mutant)))].toSorted();
  const each = folders.map((name) =>
    scoreOf(
      name,
      results.filter(({ mutant }) => folderOf(mutant) === name),
    ),
  );
  return [...each, scoreOf("all", results)];
}

const percent = (score: number): string => `${(score * 100).toFixed(1)} %`;

export function scoreTable(scores: readonly Score[]): string {
  const head =
    "| folder | mutants | killed | of them by time | survived | reached by no test | equivalent | score |\n| --- | --: | --: | --: | --: | --: | --: | --: |";
  const rows = scores.map(
    (each) =>
      `| ${each.folder} | ${each.mutants} | ${each.killed} | ${each.late} | ${each.survived} | ${each.unreached} | ${each.equivalent} | ${percent(each.score)} |`,
  );
  return [head, ...rows].join("\n");
}

export const survivorLines = (results: readonly Result[]): readonly string[] =>
  results
    .filter(({ verdict }) => verdict === "survived" || verdict === "unreached")
    .map(
      ({ mutant, verdict }) =>
        `${mutant.file}:${mutant.line} [${mutant.operator}] ${mutant.change}${verdict === "unreached" ? " (no test)" : ""}`,
    );
