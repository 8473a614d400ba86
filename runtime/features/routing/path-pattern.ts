/**
 * The `regex` of a route: which paths it matches, in linear time.
 *
 * Untrusted input: paths, before any sign-in. RE2 syntax and semantics (re2js), never the platform's backtracking
 * engine, where one request can block the process for minutes. Promises: the pattern matches whole paths. Work and
 * memory per request are bounded by the configuration, not by the client.
 */
import { type RE2JS, RE2Set } from "re2js";

import { parsePattern } from "../../shared/re2.ts";

/** Longer paths are not matched, see `MAX_PATTERN_WORK`. */
export const MAX_MATCHED_PATH = 2048;
/**
 * Instructions of all patterns that one path may be matched against. In the worst case (patterns such as `.*a.{200}`,
 * crafted paths) time grows with instructions times path length: some 0.2 s at these limits. Common patterns take a
 * microsecond; large ones cause a warning at load.
 */
export const MAX_PATTERN_WORK = 2000;
/** Memory of one set's automaton for the paths it has seen. */
const MAX_MEMORY_BYTES = 262_144;

/** @throws TypeError with state and expectation */
export function parsePathPattern(pattern: string): RE2JS {
  const compiled = parsePattern(pattern);
  if (!compiled.test("/") && !/^\^?(?:\(\?[a-zA-Z]+\))*\(*[/.[(\\]/.test(pattern)) {
    throw new TypeError('matches no path, must start with "/"');
  }
  return compiled;
}

/** Start of a pattern: its location among the many of a host. */
export interface PatternStart {
  /** Whole segments that start every matching path: "/team/[a-z]+/x" → "/team". May be shorter than possible. */
  readonly beginning: string;
  /** Text that follows in every matching path: "/" there, "/v" of "/team/v[0-9]+". */
  readonly stem: string;
  /** Pattern of the text after those two; undefined if only the whole pattern is correct. */
  readonly rest: string | undefined;
}

export function startOf(pattern: string): PatternStart {
  const source = pattern.startsWith("^") ? pattern.slice(1) : pattern;
  if (hasOuterAlternative(source)) return { beginning: "", stem: "", rest: undefined };
  let literal = "";
  let index = 0;
  while (index < source.length) {
    const escaped = source[index] === "\\" && /^[!-/:-@[-`{-~]$/.test(source[index + 1] ?? "");
    const at = escaped ? index + 1 : index;
    const char = source[at] as string;
    // A quantifier would make the character optional or repeat it, even after flags: "/b(?i)?".
    if (/^(?:[?*+{]|\(\?[^:P<])/.test(source.slice(at + 1, at + 4))) break;
    if (!escaped && !/^[A-Za-z0-9/_~%:@!&',;=-]$/.test(char)) break;
    literal += char;
    index = at + 1;
  }
  const beginning = literal.slice(0, Math.max(literal.lastIndexOf("/"), 0));
  const rest = source.slice(index);
  return { beginning, stem: literal.slice(beginning.length), rest: looksBack(rest) ? undefined : rest };
}

/** Whether it depends, or may depend, on preceding text (`^`, `\b`). */
function looksBack(source: string): boolean {
  // In quoted text, "\b" is two characters; too rare to distinguish.
  for (const [token] of source.matchAll(/\\[\s\S]|\[\^|\^/g)) if (/^(?:\^|\\[AbBQ])$/.test(token)) return true;
  return false;
}

/** Whether there is a `|` outside of all groups: the pattern then has several beginnings. */
function hasOuterAlternative(source: string): boolean {
  let depth = 0;
  for (let index = 0; index < source.length; index += 1) {
    const char = source[index];
    if (char === "\\") {
      // Up to \E everything is literal; too rare to support.
      if (source[index + 1] === "Q") return true;
      index += 1;
    } else if (char === "[") index = endOfClass(source, index);
    else if (char === "(") depth += 1;
    else if (char === ")") depth -= 1;
    else if (char === "|" && depth === 0) return true;
  }
  return false;
}

/** Index of the "]" that closes the class at `start`. */
function endOfClass(source: string, start: number): number {
  let index = start + 1;
  if (source[index] === "^") index += 1;
  // A "]" in first position is a character of the class.
  if (source[index] === "]") index += 1;
  for (; index < source.length && source[index] !== "]"; index += 1) {
    if (source[index] === "\\") index += 1;
    else if (source.startsWith("[:", index)) index = Math.max(source.indexOf(":]", index), index) + 1;
  }
  return index;
}

/**
 * Several patterns as one automaton.
 *
 * @param patterns in order of preference
 * @returns index of the first pattern that matches the whole path
 */
export function compilePatterns(patterns: readonly string[]): (path: string) => number | undefined {
  const set = new RE2Set(RE2Set.ANCHOR_BOTH, 0, MAX_MEMORY_BYTES);
  for (const pattern of patterns) set.add(pattern);
  set.compile();
  return (path) => {
    const matching = set.match(path);
    if (matching.length === 0) return undefined;
    return matching.length === 1 ? matching[0] : Math.min(...matching);
  };
}
