/** Rules between the `regex` routes of a host, and between them and addresses that must be reached. */
import { MAX_PATTERN_WORK, parsePathPattern, startOf } from "./path-pattern.ts";

/** What a pattern costs, and where. */
export interface PatternWork {
  readonly regex: string;
  /** What every path begins with that has to be tried. */
  readonly beginning: string;
  /** Its instructions. */
  readonly work: number;
}

export interface PatternPlace<T> extends PatternWork {
  readonly host: string;
  readonly owner: T;
}

/** @param regex a sound one */
export function patternWork(regex: string): PatternWork {
  const { beginning, stem, rest } = startOf(regex);
  const work = parsePathPattern(regex).programSize();
  return { regex, beginning: rest === undefined ? beginning : beginning + stem, work };
}

/**
 * A path is tried against the patterns whose literal beginning it begins with, which are those along one chain of
 * beginnings: "" and "/a" and "/a/b", say. "/a/c" is on another.
 *
 * @returns for each chain the first whose pattern is one too many
 */
export function* crowdedPatterns<T>(places: readonly PatternPlace<T>[]): Iterable<PatternPlace<T>> {
  for (const ofHost of Map.groupBy(places, ({ host }) => host).values()) {
    const byBeginning = Map.groupBy(ofHost, (place) => place.beginning);
    // Beginnings of a text come before it, and nothing between but what begins alike.
    const chain: { readonly beginning: string; readonly work: number }[] = [];
    for (const beginning of [...byBeginning.keys()].sort()) {
      while (chain.length > 0 && !beginning.startsWith(chain.at(-1)?.beginning ?? "")) chain.pop();
      let work = chain.at(-1)?.work ?? 0;
      for (const place of byBeginning.get(beginning) ?? []) {
        const before = work;
        work += place.work;
        if (before <= MAX_PATTERN_WORK && work > MAX_PATTERN_WORK) yield place;
      }
      chain.push({ beginning, work });
    }
  }
}

/** The pattern route of a host that takes a path, if any. */
export function takerOf<T>(places: readonly PatternPlace<T>[], path: string): T | undefined {
  return places.find(({ regex, beginning }) => path.startsWith(beginning) && parsePathPattern(regex).matches(path))
    ?.owner;
}
