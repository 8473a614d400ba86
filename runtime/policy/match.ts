/**
 * The two matchers of the policy language, as data and as compiled tests.
 *
 * A string matcher checks one text, a list matcher checks a list of texts. Several operators in one matcher must all
 * match. A bare value is shorthand: `is` for text, `has` for lists.
 */
import { compileContains } from "../shared/linear/contains.ts";
import { unknownWord } from "../shared/suggest.ts";
import { isRecord } from "../shared/is-record.ts";
import { foldLetters } from "./mcp/fold-case.ts";

/** Reports a problem; `path` is relative to the policy ("allow.or[0].email"). */
export type ReportAt = (path: string, message: string) => void;

/** Canonical string matcher: at least one operator, in the order of STRING_OPERATORS. */
export interface StringMatch {
  is?: string;
  not?: string;
  contains?: string;
  starts_with?: string;
  ends_with?: string;
  in?: readonly string[];
  not_in?: readonly string[];
  /** Only for tools: ignores case. */
  fold_case?: true;
}

/** Canonical list matcher. */
export interface ListMatch {
  has?: string;
  is?: string;
  exclude?: string;
}

export const STRING_OPERATORS = ["is", "not", "contains", "starts_with", "ends_with", "in", "not_in"] as const;
export const LIST_OPERATORS = ["has", "is", "exclude"] as const;

const WITH_LISTS: ReadonlySet<string> = new Set(["in", "not_in"]);
const PARTS: ReadonlySet<string> = new Set(["contains", "starts_with", "ends_with"]);

export type PolicySchema = Readonly<Record<string, unknown>>;

const TEXT_SCHEMA: PolicySchema = { type: "string" };
const PART_SCHEMA: PolicySchema = { type: "string", minLength: 1 };
const TEXTS_SCHEMA: PolicySchema = { type: "array", items: TEXT_SCHEMA };

const STRING_DOCS: Readonly<Record<(typeof STRING_OPERATORS)[number], string>> = {
  is: "Equal to this text.",
  not: "Not equal to this text.",
  contains: "Contains this text.",
  starts_with: "Starts with this text.",
  ends_with: "Ends with this text.",
  in: "Equal to one of these texts.",
  not_in: "Equal to none of these texts.",
};
const LIST_DOCS: Readonly<Record<(typeof LIST_OPERATORS)[number], string>> = {
  has: "The list has this element.",
  is: "The list has this element and no other.",
  exclude: "The list does not have this element.",
};

/** Schema of a string matcher. @param operators permitted operators @param others members that are not operators */
export function stringMatchSchema(
  operators: readonly (typeof STRING_OPERATORS)[number][],
  others: Readonly<Record<string, PolicySchema>> = {},
): PolicySchema {
  const properties = operators.map((name) => {
    const operand = WITH_LISTS.has(name) ? TEXTS_SCHEMA : PARTS.has(name) ? PART_SCHEMA : TEXT_SCHEMA;
    return [name, { ...operand, description: STRING_DOCS[name] }] as const;
  });
  return matchSchema([...properties, ...Object.entries(others)]);
}

function listMatchSchema(element: PolicySchema): PolicySchema {
  const operators = LIST_OPERATORS.map((name) => [name, { ...element, description: LIST_DOCS[name] }] as const);
  return matchSchema(operators, element);
}

export const STRING_MATCH_SCHEMA: PolicySchema = stringMatchSchema(STRING_OPERATORS);
export const LIST_MATCH_SCHEMA: PolicySchema = listMatchSchema(TEXT_SCHEMA);
export const SCALAR_LIST_MATCH_SCHEMA: PolicySchema = listMatchSchema({ type: ["string", "number", "boolean"] });

/** @returns the canonical matcher, or undefined after every problem was reported */
export function parseStringMatch(value: unknown, path: string, report: ReportAt): StringMatch | undefined {
  if (typeof value === "string") return { is: value };
  const operands = parseOperators(value, STRING_OPERATORS, path, report);
  if (!operands) return undefined;
  const match: Record<string, string | readonly string[]> = {};
  let valid = true;
  for (const operator of STRING_OPERATORS) {
    if (!operands.has(operator)) continue;
    const operand = operands.get(operator);
    const at = `${path}.${operator}`;
    if (WITH_LISTS.has(operator)) {
      const list = parseTextList(operand, at, report);
      if (list) match[operator] = list;
      else valid = false;
    } else if (typeof operand !== "string") {
      report(at, `is ${describe(operand)}, must be text`);
      valid = false;
    } else if (operand === "" && PARTS.has(operator)) {
      // Every text contains "": an allow rule with it would allow everything.
      report(at, "is empty and would match everything, must have at least one character");
      valid = false;
    } else {
      match[operator] = operand;
    }
  }
  return valid ? match : undefined;
}

/**
 * @param takesScalars numbers and flags represent their text, as in the checked value (subjects.ts, `claimTexts`)
 * @returns the canonical matcher, or undefined after every problem was reported
 */
export function parseListMatch(
  value: unknown,
  path: string,
  report: ReportAt,
  takesScalars = false,
): ListMatch | undefined {
  const only = parseElement(value, path, report, takesScalars);
  if (only !== undefined) return only.text === undefined ? undefined : { has: only.text };
  const operands = parseOperators(value, LIST_OPERATORS, path, report);
  if (!operands) return undefined;
  const match: Record<string, string> = {};
  let valid = true;
  for (const operator of LIST_OPERATORS) {
    if (!operands.has(operator)) continue;
    const operand = operands.get(operator);
    const element = parseElement(operand, `${path}.${operator}`, report, takesScalars);
    if (element?.text !== undefined) {
      match[operator] = element.text;
    } else {
      if (!element) report(`${path}.${operator}`, `is ${describe(operand)}, must be text`);
      valid = false;
    }
  }
  return valid ? match : undefined;
}

/** @returns undefined if it is not an element; without a text after its problem was reported */
function parseElement(
  value: unknown,
  path: string,
  report: ReportAt,
  takesScalars: boolean,
): { readonly text: string | undefined } | undefined {
  if (typeof value === "string") return { text: value };
  if (!takesScalars || (typeof value !== "number" && typeof value !== "boolean")) return undefined;
  if (typeof value === "boolean" || isExactNumber(value)) return { text: String(value) };
  // It was rounded during parsing, so it equals neighboring numbers.
  report(path, `is ${describe(value)}, which programs interpret differently, must be text`);
  return { text: undefined };
}

/** @param fold normalizes operands here and each subject in the caller: both sides compare in one form */
export function compileStringMatch(match: StringMatch, fold: (text: string) => string): (subject: string) => boolean {
  const { fold_case: foldsCase, ...bare } = match;
  if (foldsCase === true) {
    const test = compileStringMatch(bare, (text) => foldLetters(fold(text)));
    return (subject) => test(foldLetters(subject));
  }
  const tests: ((subject: string) => boolean)[] = [];
  const { is, not, contains, starts_with: start, ends_with: end } = match;
  if (is !== undefined) tests.push(equals(fold(is)));
  if (not !== undefined) tests.push(negate(equals(fold(not))));
  if (contains !== undefined) tests.push(compileContains(fold(contains)));
  if (start !== undefined)
    tests.push(
      (
        (part) => (subject: string) =>
          subject.startsWith(part)
      )(fold(start)),
    );
  if (end !== undefined)
    tests.push(
      (
        (part) => (subject: string) =>
          subject.endsWith(part)
      )(fold(end)),
    );
  if (match.in) tests.push(oneOf(match.in.map(fold)));
  if (match.not_in) tests.push(negate(oneOf(match.not_in.map(fold))));
  return all(tests);
}

export function compileListMatch(match: ListMatch): (subject: readonly string[]) => boolean {
  const tests: ((subject: readonly string[]) => boolean)[] = [];
  const { has, is, exclude } = match;
  if (has !== undefined) tests.push((subject) => hasElement(subject, has));
  if (is !== undefined) tests.push((subject) => subject.length === 1 && subject[0] === is);
  if (exclude !== undefined) tests.push((subject) => !hasElement(subject, exclude));
  return all(tests);
}

/** Longer lists are searched as a set. */
export const FEW = 64;
const setsOfLong = new WeakMap<readonly string[], ReadonlySet<string>>();

/** A user can have thousands of groups, and a policy thousands of criteria. @param list immutable */
export function hasElement(list: readonly string[], element: string): boolean {
  if (list.length <= FEW) return list.includes(element);
  let set = setsOfLong.get(list);
  if (!set) setsOfLong.set(list, (set = new Set(list)));
  return set.has(element);
}

/** Describes a value for messages: never the value itself if it is long or structured. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "an object";
  if (typeof value === "string") return value.length > 60 ? "a long text" : JSON.stringify(value);
  if (typeof value === "number" || typeof value === "boolean") return `the ${typeof value} ${value}`;
  return `a ${typeof value}`;
}

/** Checks that a criterion's data is an object with known members, at least one. The caller checks their values. */
export function isRecordOf(
  data: unknown,
  members: readonly string[],
  path: string,
  report: ReportAt,
): data is Readonly<Record<string, unknown>> {
  if (!isRecord(data)) {
    report(path, `is ${describe(data)}, must be an object with ${members.join(", ")}`);
    return false;
  }
  const keys = Object.keys(data);
  for (const key of keys) if (!members.includes(key)) report(`${path}.${key}`, unknownWord("member", key, members));
  if (keys.length === 0) report(path, `is empty, must have at least one of ${members.join(", ")}`);
  return true;
}

function parseOperators(
  value: unknown,
  known: readonly string[],
  path: string,
  report: ReportAt,
): Map<string, unknown> | undefined {
  if (!isRecord(value)) {
    report(path, `is ${describe(value)}, must be text or an object with ${known.join(", ")}`);
    return undefined;
  }
  const operands = new Map(Object.entries(value));
  const unknown = [...operands.keys()].filter((operator) => !known.includes(operator));
  for (const operator of unknown) report(`${path}.${operator}`, unknownWord("operator", operator, known));
  if (operands.size === 0) report(path, `has no operator, must have at least one of ${known.join(", ")}`);
  return operands.size === 0 || unknown.length > 0 ? undefined : operands;
}

function parseTextList(value: unknown, path: string, report: ReportAt): readonly string[] | undefined {
  if (!Array.isArray(value)) {
    report(path, `is ${describe(value)}, must be a list of texts`);
    return undefined;
  }
  const items: readonly unknown[] = value;
  const wrong = items.findIndex((item) => typeof item !== "string");
  if (wrong !== -1) {
    report(`${path}[${wrong}]`, `is ${describe(items[wrong])}, must be text`);
    return undefined;
  }
  // Order and duplicates do not matter in a set of names: one form for comparison.
  return [...new Set(items as readonly string[])].sort();
}

function equals(expected: string): (subject: string) => boolean {
  return (subject) => subject === expected;
}

function oneOf(expected: readonly string[]): (subject: string) => boolean {
  const names = new Set(expected);
  return (subject) => names.has(subject);
}

function negate(test: (subject: string) => boolean): (subject: string) => boolean {
  return (subject) => !test(subject);
}

function all<Subject>(tests: readonly ((subject: Subject) => boolean)[]): (subject: Subject) => boolean {
  const [only] = tests;
  if (tests.length === 1 && only) return only;
  return (subject) => tests.every((test) => test(subject));
}

function matchSchema(members: readonly (readonly [string, PolicySchema])[], alone = TEXT_SCHEMA): PolicySchema {
  const properties = Object.fromEntries(members);
  return { anyOf: [alone, { type: "object", additionalProperties: false, minProperties: 1, properties }] };
}

/** Larger integers were rounded during parsing, so they equal neighboring numbers. */
export function isExactNumber(value: number): boolean {
  return Number.isSafeInteger(value) || (Number.isFinite(value) && value % 1 !== 0);
}
