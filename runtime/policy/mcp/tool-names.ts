/**
 * Tool names outside the plain set (A–Z a–z 0–9 `_` `-` `.`), such as `Create CIFS Share` or `notes/add`, on routes whose rules
 * name tools.
 *
 * Untrusted input: the name, as a caller or a server gives it. Servers may fold, trim or normalize a name into another one, and
 * then a rule about that one would not see the call. Promise: a name is clear only when every rule says the same of it however
 * it is read; rules then decide about it exactly. A name that a rule names exactly is clear to the rules about exact names.
 */
import { type StringMatch, compileStringMatch } from "../match.ts";

const PLAIN = /^[A-Za-z0-9_.-]{1,128}$/;
/** Longer names are of no tool that people use, and comparing them costs. */
export const MAX_TOOL_CHARACTERS = 256;
/** Read in several ways by everybody: controls, invisible characters, escapes, and paths that lead back. */
const UNCLEAR = /[\p{C}\p{Zl}\p{Zp}\\]|%[0-9A-Fa-f]{2}|\.\.|&#?[0-9A-Za-z]+;/u;
/** Words in two alphabets with alike letters: tables for addresses (slugs) make one word of them. */
const ALIKE = "[\\p{sc=Cyrillic}\\p{sc=Greek}\\p{sc=Armenian}\\p{sc=Cherokee}]";
const MIXED = new RegExp(`\\p{sc=Latin}\\p{M}*${ALIKE}|${ALIKE}\\p{M}*\\p{sc=Latin}`, "u");

export function isPlainToolName(name: string): boolean {
  return PLAIN.test(name);
}

/** Whether rules can decide about a tool of this name. Called only for names that are not plain. */
export type ToolNameCheck = (name: string) => boolean;

/** @param matches of all rules of a route that name tools */
export function toolNameCheck(matches: readonly StringMatch[]): ToolNameCheck {
  const named = new Set(matches.flatMap(namesOf));
  const similar = READINGS.map((read) => new Set([...named].map(read)));
  // Most rules name tools exactly, and most names resemble none of theirs: then all of these say the same without being asked.
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

/** Whether a rule says the same of a name and of its readings. */
type ReadAlike = (name: string, readings: readonly string[]) => boolean;

function readAlike(match: StringMatch): ReadAlike {
  const { fold_case: _, ...bare } = match;
  const holds = compileStringMatch(match, asIs);
  const holdsRead = READINGS.map((read) => compileStringMatch(bare, read));
  return (name, readings) => {
    const verdict = holds(name);
    return holdsRead.every((test, index) => test(readings[index] as string) === verdict);
  };
}

/**
 * How servers may read a name: without case, marks and everything between letters and digits (slugs, aliases); the same
 * without what is not ASCII. A name of which nothing is left is read as it is.
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

/** Names that rules deny or allow by themselves. */
function namesOf(match: StringMatch): readonly string[] {
  const { is, not, in: list = [], not_in: others = [] } = match;
  return [is, not, ...list, ...others].filter((name) => name !== undefined);
}

function isExactOnly({ contains, starts_with: start, ends_with: end }: StringMatch): boolean {
  return contains === undefined && start === undefined && end === undefined;
}

/**
 * For tools that differ from a rule's in case or spelling only, so that the rule does not cover them: the name in the rule.
 * @returns undefined where no rule names a tool exactly
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
