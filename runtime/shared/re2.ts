/**
 * RE2 patterns and substitutions of settings, in linear time: the operator writes the pattern, but any caller can send
 * the text.
 */
import { RE2JS } from "re2js";
import { errorText } from "./errors.ts";

/** Piece of a substitution: literal text, or the number of a capture group. */
export type SubstitutionPart = string | number;

// Time grows with pattern size times path length (25,000 instructions on 8 KB took 7 s: measured); these bounds keep it
// below 0.1 s.
const MAX_INSTRUCTIONS = 1000;

const MAX_PATTERN_LENGTH = 1000;

/**
 * @param acrossLines `.` also matches line ends
 * @throws TypeError with state and expectation
 */
export function parsePattern(pattern: string, { acrossLines = false } = {}): RE2JS {
  if (pattern.length > MAX_PATTERN_LENGTH) throw new TypeError(`is longer than ${MAX_PATTERN_LENGTH} characters`);
  // Checked before compiling, which takes time and memory for each instruction.
  if (repetitions(pattern) > MAX_INSTRUCTIONS) throw new TypeError(TOO_COMPLEX);
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(pattern, acrossLines ? RE2JS.DOTALL : 0);
  } catch (error) {
    throw new TypeError(`is not an RE2 pattern (${errorText(error)})`, { cause: error });
  }
  if (compiled.programSize() > MAX_INSTRUCTIONS) throw new TypeError(TOO_COMPLEX);
  return compiled;
}

const TOO_COMPLEX = "is too complex, must have fewer repetitions";

/** Sum of the repetitions `{n}` and `{n,m}`: each becomes at least that number of instructions. */
function repetitions(pattern: string): number {
  let sum = 0;
  for (const [, least = "0", most = ""] of pattern.matchAll(/\\[\s\S]|\{([0-9]{1,4})(?:,([0-9]{0,4}))?\}/g))
    sum += Math.max(Number(least), Number(most));
  return sum;
}

/** `\1.internal` → [1, ".internal"]; `\0` is the whole match and `\\` one backslash. @throws TypeError */
export function parseSubstitution(text: string): readonly SubstitutionPart[] {
  const parts: SubstitutionPart[] = [];
  for (const [piece] of text.matchAll(/\\[\s\S]?|[^\\]+/g)) {
    if (!piece.startsWith("\\")) parts.push(piece);
    else if (/^\\[0-9]$/.test(piece)) parts.push(Number(piece[1]));
    else if (piece === "\\\\") parts.push("\\");
    else throw new TypeError(String.raw`has a "\" that names no group, must be "\0" to "\9" or "\\"`);
  }
  return parts;
}

/** The highest group that a substitution names; 0 if none. */
export function highestGroup(parts: readonly SubstitutionPart[]): number {
  return parts.reduce<number>((highest, part) => (typeof part === "number" ? Math.max(highest, part) : highest), 0);
}

export function groupCount(pattern: RE2JS): number {
  return pattern.groupCount();
}
