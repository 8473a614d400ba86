/** Rules between the `regex` routes of a host, and between them and addresses that must stay reachable. */
import { MAX_PATTERN_WORK, parsePathPattern, startOf } from "./path-pattern.ts";

/** Cost of a pattern, and the paths concerned. */
export interface PatternWork {
  readonly regex: string;
  /** Prefix of every path that must be matched against it. */
  readonly beginning: string;
  /** Number of its instructions. */
  readonly work: number;
}

export interface PatternPlace<T> extends PatternWork {
  readonly host: string;
  readonly owner: T;
}

/** @param regex a valid pattern */
export function patternWork(regex: string): PatternWork {
  const { beginning, stem, rest } = startOf(regex);
  const work = parsePathPattern(regex).programSize();
  return { regex, beginning: rest === undefined ? beginning : beginning + stem, work };
}

/**
 * A path is matched against patterns with a literal prefix of it, that is, along one chain of prefixes: for example "",
 * "/a" and "/a/b"; "/a/c" is on another chain. A path without a match on a wildcard host is tried on the next shorter
 * one, so their patterns count together.
 *
 * @returns for each chain the first pattern beyond the limit
 */
export function* crowdedPatterns<T>(places: readonly PatternPlace<T>[]): Iterable<PatternPlace<T>> {
  const byHost = Map.groupBy(places, ({ host }) => host);
  const found = new Set<PatternPlace<T>>();
  const most = new Map<string, number>();
  for (const [host, ofHost] of byHost) most.set(host, crowd(ofHost, found));
  for (const host of byHost.keys()) {
    const fallbacks = shorterWildcards(host).filter((each) => byHost.has(each));
    const together = [host, ...fallbacks].reduce((sum, each) => sum + (most.get(each) ?? 0), 0);
    // Usually sufficient: the sum of the worst cases.
    if (fallbacks.length === 0 || together <= MAX_PATTERN_WORK) continue;
    crowd(
      [...fallbacks, host].flatMap((each) => byHost.get(each) ?? []),
      found,
    );
  }
  yield* found;
}

/** @returns the most work for one path; adds patterns beyond the limit to `found` */
function crowd<T>(places: readonly PatternPlace<T>[], found: Set<PatternPlace<T>>): number {
  const byBeginning = Map.groupBy(places, (place) => place.beginning);
  // Sorted, prefixes of a text precede it, with only texts of the same prefix between.
  const chain: { readonly beginning: string; readonly work: number }[] = [];
  let most = 0;
  for (const beginning of [...byBeginning.keys()].sort()) {
    while (chain.length > 0 && !beginning.startsWith(chain.at(-1)?.beginning ?? "")) chain.pop();
    let work = chain.at(-1)?.work ?? 0;
    for (const place of byBeginning.get(beginning) ?? []) {
      const before = work;
      work += place.work;
      if (before <= MAX_PATTERN_WORK && work > MAX_PATTERN_WORK) found.add(place);
    }
    chain.push({ beginning, work });
    most = Math.max(most, work);
  }
  return most;
}

/** "*.b.example.com" → "*.example.com", "*.com"; none for a host without a wildcard, which never falls back to one. */
function shorterWildcards(host: string): readonly string[] {
  if (!host.startsWith("*.")) return [];
  const shorter: string[] = [];
  for (let dot = host.indexOf(".", 2); dot !== -1; dot = host.indexOf(".", dot + 1))
    shorter.push(`*${host.slice(dot)}`);
  return shorter;
}

/** The pattern route of a host that matches a path, if any. */
export function takerOf<T>(places: readonly PatternPlace<T>[], path: string): T | undefined {
  return places.find(({ regex, beginning }) => path.startsWith(beginning) && parsePathPattern(regex).matches(path))
    ?.owner;
}
