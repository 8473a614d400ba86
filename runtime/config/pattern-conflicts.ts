/** Rules between the `regex` routes of a host, and between them and addresses that must be reached. */
import { literalBeginning, MAX_PATTERN_WORK, parsePathPattern } from "./path-pattern.ts";

export interface PatternPlace<T> {
  readonly host: string;
  readonly regex: string;
  readonly owner: T;
}

/** @returns the first whose pattern is one too many among those that begin alike on its host */
export function* crowdedPatterns<T>(places: readonly PatternPlace<T>[]): Iterable<{
  readonly place: PatternPlace<T>;
  readonly beginning: string;
}> {
  const work = new Map<string, number>();
  for (const place of places) {
    const beginning = literalBeginning(place.regex);
    const key = `${place.host} ${beginning}`;
    const before = work.get(key) ?? 0;
    const now = before + parsePathPattern(place.regex).programSize();
    work.set(key, now);
    if (before <= MAX_PATTERN_WORK && now > MAX_PATTERN_WORK) yield { place, beginning };
  }
}

/** The pattern route of a host that takes a path, if any. */
export function takerOf<T>(places: readonly PatternPlace<T>[], path: string): T | undefined {
  return places.find((place) => parsePathPattern(place.regex).matches(path))?.owner;
}
