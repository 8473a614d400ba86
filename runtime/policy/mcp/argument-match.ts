/**
 * Data of `mcp_tool_argument`: the tools, the argument, and its required value.
 *
 * Untrusted input: the value. Promise: an undecidable comparison is unknown, never false. The rule "not the production
 * database" must not allow a call that omits the member, or writes it as a list of one.
 */
import { FALSE, TRUE, UNKNOWN, type Truth } from "../packed-outcome.ts";
import {
  type PolicySchema,
  type ReportAt,
  type StringMatch,
  compileStringMatch,
  describe,
  isExactNumber,
  isRecordOf,
} from "../match.ts";
import { TOOL_MATCH_SCHEMA, parseToolMatch } from "./tool-match.ts";
import {
  type Find,
  type Scalar,
  all,
  every,
  inOrder,
  ofComposedText,
  ofShortTexts,
  ofText,
  oneOf,
  onlyMembers,
  some,
} from "./argument-find.ts";
import { MAX_PATTERN_SUBJECT, matching, patternWork, type CriterionPatternWork, toolsOf } from "./argument-patterns.ts";
import { UNCLEAR, parsePointer } from "./argument-values.ts";

/** Canonical; all present operators must match. */
export interface ValueMatch {
  is?: Scalar;
  not?: Scalar;
  in?: readonly Scalar[];
  not_in?: readonly Scalar[];
  contains?: string;
  starts_with?: string;
  ends_with?: string;
  matches?: string;
  gt?: number | string;
  gte?: number | string;
  lt?: number | string;
  lte?: number | string;
  only?: readonly string[];
}

export interface ArgumentMatch extends ValueMatch {
  readonly tool: StringMatch;
  readonly argument: string;
  exists?: boolean;
  some?: ValueMatch;
  every?: ValueMatch;
}

export interface ReadArgumentMatch {
  readonly match: ArgumentMatch;
  readonly matchesTool: (tool: string) => boolean;
  readonly pointer: readonly string[];
  readonly needsNumbers: boolean;
  readonly patterns: CriterionPatternWork | undefined;
  /** @param value undefined: absent */
  readonly find: (value: unknown) => Truth;
}

const SCALARS = ["is", "not"] as const;
const LISTS = ["in", "not_in"] as const;
/** Operators on texts, in addition to equality. */
export const PIECES = ["contains", "starts_with", "ends_with", "matches"] as const;
export const ORDERS = ["gt", "gte", "lt", "lte"] as const;
const VALUE_MEMBERS = [...SCALARS, ...LISTS, ...PIECES, ...ORDERS, "only"] as const;
const ELEMENTS = ["some", "every"] as const;
const MEMBERS = ["tool", "argument", "exists", ...VALUE_MEMBERS, ...ELEMENTS] as const;

const SCALAR_SCHEMA: PolicySchema = { type: ["string", "number", "boolean"] };
const SCALARS_SCHEMA: PolicySchema = { type: "array", items: SCALAR_SCHEMA, minItems: 1 };
const PIECE_SCHEMA: PolicySchema = { type: "string", minLength: 1 };
const ORDER_SCHEMA: PolicySchema = { type: ["number", "string"] };
const VALUE_SCHEMAS: Readonly<Record<(typeof VALUE_MEMBERS)[number], PolicySchema>> = {
  is: { ...SCALAR_SCHEMA, description: "Equal to this text, number or flag; of another type it is unknown." },
  not: { ...SCALAR_SCHEMA, description: "Same type as this value, and not equal to it." },
  in: { ...SCALARS_SCHEMA, description: "Equal to one of these." },
  not_in: { ...SCALARS_SCHEMA, description: "Same type as one of these, and equal to none." },
  contains: { ...PIECE_SCHEMA, description: "Text that contains this." },
  starts_with: { ...PIECE_SCHEMA, description: "Text that starts with this." },
  ends_with: { ...PIECE_SCHEMA, description: "Text that ends with this." },
  matches: {
    ...PIECE_SCHEMA,
    description:
      "A text that this RE2 pattern matches as a whole, of at most 8,192 characters. Unknown, which denies, where only a line end stops a `.`, and with `(?i)` where letters such as the Kelvin sign decide; `(?s)` lets `.` meet line ends. All patterns for one tool may have 2,000 instructions together.",
  },
  gt: { ...ORDER_SCHEMA, description: "Number greater than this. Write it as text to be exact." },
  gte: { ...ORDER_SCHEMA, description: "Number greater than or equal to this." },
  lt: { ...ORDER_SCHEMA, description: "Number less than this." },
  lte: { ...ORDER_SCHEMA, description: "Number less than or equal to this." },
  only: { type: "array", items: { type: "string" }, description: "Object with no members other than these." },
};
const ELEMENT_SCHEMA: PolicySchema = {
  type: "object",
  additionalProperties: false,
  minProperties: 1,
  properties: VALUE_SCHEMAS,
};
export const ARGUMENT_MATCH_SCHEMA: PolicySchema = {
  type: "object",
  additionalProperties: false,
  required: ["tool", "argument"],
  minProperties: 3,
  properties: {
    tool: { ...TOOL_MATCH_SCHEMA, description: "Tools whose argument is checked." },
    argument: {
      type: "string",
      description:
        'Location of the value in the arguments, as a JSON pointer: "/repo", "/filter/0/name", "" for all of them.',
    },
    exists: { type: "boolean", description: "Whether the value is present, including `null`." },
    ...VALUE_SCHEMAS,
    some: { ...ELEMENT_SCHEMA, description: "List with at least one element that matches." },
    every: { ...ELEMENT_SCHEMA, description: "Non-empty list in which all elements match." },
  },
};

/** Values that a value is compared with for equality. */
export function scalarsOf(match: ValueMatch): readonly Scalar[] {
  return [...SCALARS, ...LISTS].flatMap((name) => match[name] ?? []);
}

/**
 * @param isChecked valid in an earlier read: patterns are not compiled again
 * @returns undefined after every problem of the data was reported
 */
export function readArgumentMatch(
  data: unknown,
  path: string,
  report: ReportAt,
  isChecked: boolean,
): ReadArgumentMatch | undefined {
  let valid = true;
  const fail: ReportAt = (at, message) => {
    valid = false;
    report(at, message);
  };
  if (!isRecordOf(data, MEMBERS, path, fail)) return undefined;
  const tool = Object.hasOwn(data, "tool") ? parseToolMatch(data["tool"], `${path}.tool`, fail) : undefined;
  if (!Object.hasOwn(data, "tool")) fail(path, 'has no "tool", must name the tools whose argument is checked');
  const { argument, exists } = data;
  const pointer = typeof argument === "string" ? parsePointer(argument) : undefined;
  if (pointer === undefined)
    fail(
      `${path}.argument`,
      `is ${describe(argument)}, must be a JSON pointer such as "/repo", or "" for all arguments`,
    );
  const own = readValueMatch(data, path, fail, isChecked);
  const elements = ELEMENTS.filter((name) => Object.hasOwn(data, name)).map((name) => {
    const element = data[name];
    const isObject = isRecordOf(element, VALUE_MEMBERS, `${path}.${name}`, fail);
    return [name, readValueMatch(isObject ? element : {}, `${path}.${name}`, fail, isChecked)] as const;
  });
  if (Object.hasOwn(data, "exists") && typeof exists !== "boolean")
    fail(`${path}.exists`, `is ${describe(exists)}, must be true or false`);
  const rest = own.finds.length + elements.length;
  if (exists === undefined && rest === 0)
    fail(path, `has no condition on the value, must have one of ${MEMBERS.slice(2).join(", ")}`);
  if (exists === false && rest > 0)
    fail(`${path}.exists`, "is false, but the value has conditions: must be true or removed");
  if (!valid || tool === undefined || pointer === undefined || typeof argument !== "string") return undefined;
  const finds: Find[] = [
    ...own.finds,
    ...elements.map(([name, { match: element, finds }]) => {
      const find = name === "some" ? some(finds) : every(finds);
      return element.matches === undefined ? find : ofShortTexts(find, MAX_PATTERN_SUBJECT);
    }),
  ];
  const work = own.work + elements.reduce((sum, [, each]) => sum + each.work, 0);
  const match: ArgumentMatch = { tool, argument };
  if (typeof exists === "boolean") match.exists = exists;
  Object.assign(match, own.match);
  for (const [name, each] of elements) match[name] = each.match;
  return {
    match,
    matchesTool: compileStringMatch(tool, (text) => text),
    pointer,
    needsNumbers: own.needsNumbers || elements.some(([, each]) => each.needsNumbers),
    patterns: work === 0 ? undefined : { tools: toolsOf(tool), work },
    find(value) {
      if (value === UNCLEAR) return UNKNOWN;
      if (exists === false) return value === undefined ? TRUE : FALSE;
      if (value === undefined) return exists === true ? FALSE : UNKNOWN;
      return all(finds, value);
    },
  };
}

interface ReadValueMatch {
  readonly match: ValueMatch;
  readonly finds: readonly Find[];
  readonly needsNumbers: boolean;
  /** Size of its pattern in instructions, during validation. */
  readonly work: number;
}

function readValueMatch(
  data: Readonly<Record<string, unknown>>,
  path: string,
  report: ReportAt,
  isChecked: boolean,
): ReadValueMatch {
  const match: ValueMatch = {};
  const finds: Find[] = [];
  let needsNumbers = false;
  let work = 0;
  for (const name of VALUE_MEMBERS) {
    if (!Object.hasOwn(data, name)) continue;
    const operand = data[name];
    const at = `${path}.${name}`;
    if (name === "is" || name === "not") {
      const scalar = readScalar(operand, at, report);
      if (scalar === undefined) continue;
      match[name] = scalar;
      needsNumbers ||= typeof scalar === "number";
      finds.push(oneOf([scalar], name === "is"));
    } else if (name === "in" || name === "not_in") {
      const scalars = readScalars(operand, at, report);
      match[name] = scalars;
      needsNumbers ||= scalars.some((each) => typeof each === "number");
      finds.push(oneOf(scalars, name === "in"));
    } else if (name === "only") {
      const names = readNames(operand, at, report);
      match[name] = names;
      finds.push(onlyMembers(names));
    } else if (isOrder(name)) {
      const find = readOrder(name, operand, at, report);
      if (!find) continue;
      match[name] = operand as number | string;
      needsNumbers = true;
      finds.push(find);
    } else {
      const find = readPiece(name, operand, at, report);
      if (!find) continue;
      match[name] = operand as string;
      finds.push(find);
      if (name === "matches" && !isChecked) work += patternWork(operand as string, at, report) ?? 0;
    }
  }
  return { match, finds, needsNumbers, work };
}

function readScalar(operand: unknown, at: string, report: ReportAt): Scalar | undefined {
  if (typeof operand === "string" || typeof operand === "boolean") return operand;
  if (typeof operand !== "number") report(at, `is ${describe(operand)}, must be a text, a number, true or false`);
  else if (isExactNumber(operand)) return operand;
  else report(at, `is ${describe(operand)}, which programs read differently, must be written as text with gte and lte`);
  return undefined;
}

function readScalars(operand: unknown, at: string, report: ReportAt): readonly Scalar[] {
  if (!Array.isArray(operand) || operand.length === 0) {
    report(
      at,
      `is ${Array.isArray(operand) ? "an empty list" : describe(operand)}, must be a list of texts, numbers or flags`,
    );
    return [];
  }
  const scalars = operand.map((item: unknown, index) => readScalar(item, `${at}[${index}]`, report));
  // Order and duplicates do not matter: one form for comparison.
  return [...new Set(scalars.filter((each) => each !== undefined))].sort((one, other) =>
    JSON.stringify(one) < JSON.stringify(other) ? -1 : 1,
  );
}

function readNames(operand: unknown, at: string, report: ReportAt): readonly string[] {
  const isNames = Array.isArray(operand) && operand.every((item) => typeof item === "string");
  if (!isNames) report(at, `is ${describe(operand)}, must be a list of member names`);
  return isNames ? [...new Set(operand as readonly string[])].sort() : [];
}

function isOrder(name: string): name is (typeof ORDERS)[number] {
  return ORDERS.some((each) => each === name);
}

function readOrder(name: (typeof ORDERS)[number], operand: unknown, at: string, report: ReportAt): Find | undefined {
  const text = typeof operand === "number" && isExactNumber(operand) ? String(operand) : operand;
  const find = typeof text === "string" ? inOrder(name, text) : undefined;
  if (!find) report(at, `is ${describe(operand)}, must be a number, or its decimal digits as text`);
  return find;
}

function readPiece(name: (typeof PIECES)[number], operand: unknown, at: string, report: ReportAt): Find | undefined {
  if (typeof operand !== "string" || operand === "") {
    report(at, `is ${operand === "" ? "an empty text" : describe(operand)}, must be text of one character at least`);
    return undefined;
  }
  return ofComposedText(operand, (text) =>
    name === "matches" ? matching(text) : ofText(compileStringMatch({ [name]: text }, (each) => each)),
  );
}
