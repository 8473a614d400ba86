/**
 * Tool names outside the plain set (A–Z a–z 0–9 `_` `-` `.`), such as `Create CIFS Share` or `notes/add`, on routes
 * whose rules name tools.
 *
 * Untrusted input: the name, from a caller or a server. A server may fold, trim or normalize a name into another one,
 * so that a rule about the other one would miss the call. Promise: a name is clear only if every rule has the same
 * result for each of its readings; rules then decide exactly. A name that a rule names exactly is clear for rules about
 * exact names.
 */
import { type StringMatch, compileStringMatch } from "../match.ts";

const PLAIN = /^[A-Za-z0-9_.-]{1,128}$/;
/** No real tool has a longer name, and comparing long names is slow. */
export const MAX_TOOL_CHARACTERS = 256;
/** Read differently by many servers: controls, invisible characters, escapes, and paths that go up. */
const UNCLEAR = /[\p{C}\p{Zl}\p{Zp}\\]|%[0-9A-Fa-f]{2}|\.\.|&#?[0-9A-Za-z]+;/u;
/** Words that mix alphabets with similar letters: transliteration tables for URLs (slugs) map them to one word. */
const ALIKE = "[\\p{sc=Cyrillic}\\p{sc=Greek}\\p{sc=Armenian}\\p{sc=Cherokee}]";
const MIXED = new RegExp(`\\p{sc=Latin}\\p{M}*${ALIKE}|${ALIKE}\\p{M}*\\p{sc=Latin}`, "u");

export function isPlainToolName(name: string): boolean {
  return PLAIN.test(name);
}

/** Whether rules can decide about this tool name. Called only for names that are not plain. */
export type ToolNameCheck = (name: string) => boolean;

/** @param matches matchers of all rules of a route that name tools */
export function toolNameCheck(matches: readonly StringMatch[]): ToolNameCheck {
  const named = new Set(matches.flatMap(namesOf));
  const similar = READINGS.map((read) => new Set([...named].map(read)));
  // Most rules name tools exactly, and most names resemble none of these: then all exact rules agree without being
  // evaluated.
  const exact = matches.filter(isExactOnly).map(readAlike);
  const others = matches.filter((match) => !isExactOnly(match)).map(readAlike);
  return (name) => {
    if (name.length > MAX_TOOL_CHARACTERS || UNCLEAR.test(name) || MIXED.test(name)) return false;
    const readings = READINGS.map((read) => read(name));
    const isSimilar = !named.has(name) && similar.some((names, index) => names.has(readings[index] as string));
    return (
      (!isSimilar || exact.every((isAlike) => isAlike(name, readings))) &&
      others.every((isAlike) => isAlike(name, readings))
    );
  };
}

/** Whether a rule has the same result for a name and for its readings. */
type ReadAlike = (name: string, readings: readonly string[]) => boolean;

function readAlike(match: StringMatch): ReadAlike {
  const { fold_case: _, ...bare } = match;
  const matches = compileStringMatch(match, asIs);
  const matchesReadings = READINGS.map((read) => compileStringMatch(bare, read));
  return (name, readings) => {
    const verdict = matches(name);
    return matchesReadings.every((test, index) => test(readings[index] as string) === verdict);
  };
}

/**
 * Possible readings of a name: without case, marks and separators between letters and digits (slugs, aliases); the same
 * without non-ASCII characters. If nothing remains, the name itself.
 */
const READINGS: readonly ((name: string) => string)[] = [
  letters,
  (name) => letters(name).replace(/[^a-z0-9]/g, "") || name,
];

function letters(name: string): string {
  if (PLAIN.test(name)) return name.toLowerCase().replace(/[^a-z0-9]/g, "") || name;
  return (
    name
      .normalize("NFKD")
      .toUpperCase()
      .toLowerCase()
      .normalize("NFKD")
      .replace(/[^\p{L}\p{N}]/gu, "") || name
  );
}

/** Names that rules deny or allow exactly. */
function namesOf(match: StringMatch): readonly string[] {
  const { is, not, in: list = [], not_in: others = [] } = match;
  return [is, not, ...list, ...others].filter((name) => name !== undefined);
}

function isExactOnly({ contains, starts_with: start, ends_with: end }: StringMatch): boolean {
  return contains === undefined && start === undefined && end === undefined;
}

/**
 * Finds the name in a rule that a tool's name resembles in case or spelling without being covered by the rule.
 * @returns undefined if no rule names a tool exactly
 */
export function lookAlikeFinder(matches: readonly StringMatch[]): ((tool: string) => string | undefined) | undefined {
  const named = new Map<string, string>();
  for (const match of matches)
    if (match.fold_case !== true) for (const name of namesOf(match)) named.set(letters(name), name);
  if (named.size === 0) return undefined;
  const exact = new Set(matches.flatMap(namesOf));
  const folding = matches.filter((match) => match.fold_case === true).map((match) => compileStringMatch(match, asIs));
  return (tool) => {
    const name = exact.has(tool) ? undefined : named.get(letters(tool));
    return name === undefined || folding.some((covers) => covers(tool)) ? undefined : name;
  };
}

function asIs(text: string): string {
  return text;
}

/** Tools of a server, as far as they are known for one user. */
export interface KnownTools {
  /** Sorted. */
  readonly names: readonly string[];
  /** A lock or the user's own list names all tools; a policy names some. */
  readonly isComplete: boolean;
}
