/**
 * Mutants that no test can tell from the source, each with its reason: equivalent.json.
 *
 * An entry names file, line and change by their texts, so that it stays with its line when the line moves; one that fits no mutant
 * any more is an error, since its reason may be wrong by now.
 */
import { readFileSync } from "node:fs";

import type { Mutant } from "./mutants.ts";

export interface Equivalent {
  readonly file: string;
  /** The line, without blanks around it. */
  readonly line: string;
  readonly change: string;
  readonly reason: string;
}

export const readEquivalents = (): readonly Equivalent[] =>
  JSON.parse(readFileSync(new URL("equivalent.json", import.meta.url), "utf8")) as Equivalent[];

export const isMutantOf =
  (mutant: Mutant) =>
  (each: Equivalent): boolean =>
    each.file === mutant.file && each.line === mutant.lineText && each.change === mutant.change;

/** Entries whose mutant is gone, of the files that were read. */
export function outdated(entries: readonly Equivalent[], mutants: readonly Mutant[]): readonly Equivalent[] {
  const files = new Set(mutants.map(({ file }) => file));
  return entries.filter((each) => files.has(each.file) && !mutants.some((mutant) => isMutantOf(mutant)(each)));
}
