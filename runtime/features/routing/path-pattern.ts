/**
 * The `regex` of a route: which paths it matches, in linear time.
 *
 * Untrusted input: paths, before anybody has signed in. RE2 syntax and meaning (re2js), never the backtracking engine of
 * the platform: there one request can hold the process for minutes. Promises: the pattern matches whole paths; work and
 * memory per request are bounded by what the configuration holds, not by what a client sends.
 */
import { type RE2JS, RE2Set } from "re2js";

import { parsePattern } from "../../shared/re2.ts";

/** Longer paths are not tried at all, see `MAX_PATTERN_WORK`. */
export const MAX_MATCHED_PATH = 2048;
/**
 * Instructions of all patterns that one path may have to be tried against. In the worst case (patterns such as
 * `.*a.{200}`, paths made for them) time grows with instructions times length of the path: some 0.2 s at these bounds.
 * Common patterns need a microsecond; large ones are warned of when they are loaded.
 */
export const MAX_PATTERN_WORK = 2000;
/** What the automaton of one set may remember of the paths it has seen. */
const MAX_MEMORY_BYTES = 262_144;

/** @throws TypeError with state and what is expected */
export function parsePathPattern(pattern: string): RE2JS {
  const compiled = parsePattern(pattern);
  if (!compiled.test("/") && !/^\^?(?:\(\?[a-zA-Z]+\))*\(*[/.[(\\]/.test(pattern)) {
    throw new TypeError('matches no path, must start with "/"');
  }
  return compiled;
}

/** How a pattern begins: where it is looked for among the many of a host. */
export interface PatternStart {
  /** Whole segments with which every matching path begins: "/team/[a-z]+/x" → "/team". Less than there is at worst. */
  readonly beginning: string;
  /** What follows in every matching path: "/" there, "/v" of "/team/v[0-9]+". */
  readonly stem: string;
  /** Pattern of all that comes after those two; undefined where only the whole pattern says what it means. */
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
    // A quantifier would make the character optional or repeat it, also one behind flags: "/b(?i)?".
    if (/^(?:[?*+{]|\(\?[^:P<])/.test(source.slice(at + 1, at + 4))) break;
    if (!escaped && !/^[A-Za-z0-9/_~%:@!&',;=-]$/.test(char)) break;
    literal += char;
    index = at + 1;
  }
  const beginning = literal.slice(0, Math.max(literal.lastIndexOf("/"), 0));
  const rest = source.slice(index);
  return { beginning, stem: literal.slice(beginning.length), rest: looksBack(rest) ? undefined : rest };
}

/** Whether it asks what stands before it (`^`, `\b`), or may do so. */
function looksBack(source: string): boolean {
  // Quoted to the end, a "\b" is two characters; rare enough not to be told apart.
  for (const [token] of source.matchAll(/\\[\s\S]|\[\^|\^/g)) if (/^(?:\^|\\[AbBQ])$/.test(token)) return true;
  return false;
}

/** Whether there is a `|` outside of all groups: then the pattern has several beginnings. */
function hasOuterAlternative(source: string): boolean {
  let depth = 0;
  for (let index = 0; index < source.length; index += 1) {
    const char = source[index];
    if (char === "\\") {
      // Up to \E everything is literal; rare enough to be given up.
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
  // A "]" in first place is one of the characters.
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
 * @param patterns the one to be preferred first
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
