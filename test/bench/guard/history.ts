/** Results of the guard that were kept, the latest first. */
import { readFile, writeFile } from "node:fs/promises";

export interface GuardRow {
  /** "2026-11-30" */
  readonly date: string;
  /** Commits. */
  readonly now: string;
  readonly old: string;
  /** "AMD EPYC, 2 cores" */
  readonly machine: string;
  /** Of all cores, used by others, 0 to 1; absent in rows of earlier versions. */
  readonly others?: number;
  readonly note?: string;
  readonly ratios: readonly {
    readonly title: string;
    /** Median of the new processor time over the old one, and between what it lies in 95 of 100 cases. */
    readonly ratio: number;
    readonly low: number;
    readonly high: number;
  }[];
}

export type GuardHistory = readonly GuardRow[];

export const HISTORY = new URL("history.json", import.meta.url).pathname;

export async function readHistory(file = HISTORY): Promise<GuardHistory> {
  return JSON.parse(await readFile(file, "utf8")) as GuardHistory;
}

export async function addToHistory(row: GuardRow, file = HISTORY): Promise<void> {
  await writeFile(file, `${JSON.stringify([row, ...(await readHistory(file))], undefined, 1)}\n`);
}
