/** Type of a criterion of the policy language, and the forms that most criteria share. */
import type { Facts, LeftOut, UserFacts } from "./facts.ts";
import {
  LIST_MATCH_SCHEMA,
  SCALAR_LIST_MATCH_SCHEMA,
  STRING_MATCH_SCHEMA,
  compileListMatch,
  compileStringMatch,
  describe,
  parseListMatch,
  parseStringMatch,
} from "./match.ts";
import type { PolicySchema, ReportAt, StringMatch } from "./match.ts";
import type { CriterionPatternWork } from "./mcp/argument-patterns.ts";
import type { Truth } from "./packed-outcome.ts";

const PRESENCE_SCHEMA = { enum: [true, 1, null, {}] };

export const asIs = (text: string): string => text;

/** Pure; reads only the facts. Called only if the criterion's subject is known. */
export interface Test {
  (facts: Facts): boolean;
  /** Set if the test only compares with one text, see alike-leaves.ts. */
  readonly equality?: Equality;
}

/** The subject is this text, or a list that contains it. */
export interface Equality {
  readonly subject: (facts: Facts) => string | readonly string[];
  /** Spelled as in the subject. */
  readonly value: string;
}

/** A criterion with parsed data. */
export interface ReadCriterion {
  /** Data in canonical form: shorthands expanded, sets sorted. */
  readonly canonical: unknown;
  readonly test: Test;
  /** Replaces `test` if the checked value can be unknown. */
  readonly find?: (facts: Facts) => Truth;
  /** Replaces the criterion's `actual`. */
  readonly actual?: (facts: Facts) => string;
  /** Cost of its patterns, during validation. */
  readonly patterns?: CriterionPatternWork | undefined;
}

export interface Criterion {
  /** As written in a policy; `claim` is followed by "/" and a path. */
  readonly name: string;
  readonly takesPath: boolean;
  /** One sentence for users. */
  readonly doc: string;
  /**
   * Subject that must be known: without a signed-in user, a verified device or a parsed message, the outcome is
   * unknown.
   */
  readonly about: "user" | "device" | "tool" | "message" | "certificate" | "request" | "nothing";
  /** `ok` if the criterion supports access, `no` if not; with `fixed`, `ok` if it matched, whatever the effect. */
  readonly reasons: { readonly ok: string; readonly no: string; readonly fixed?: boolean };
  /** For criteria about a tool or message: other messages are false, with this reason. */
  readonly ofOthers?: { readonly reason: string; readonly applies: Test };
  /** Reason of an unknown outcome by `isUnknown`, or by `find` of the data. */
  readonly unknownReason?: string;
  readonly isUnknown?: Test;
  /** For criteria about the certificate: outcome without a valid certificate. */
  readonly without?: { readonly outcome: Truth; readonly isMissing: Test };
  /** For criteria about the user: whether the provider omitted the checked value, and the reason if so. */
  readonly omitted?: {
    readonly reason: string;
    readonly isMissing: (leftOut: LeftOut, subPath: string, claims: UserFacts["claims"]) => boolean;
  };
  /** Normalizes both sides of a string comparison, for validate-rules.ts. */
  readonly fold?: (text: string) => string;
  /** JSON Schema of the data. */
  readonly schema: PolicySchema;
  /**
   * @param isChecked the data was valid in an earlier read
   * @returns undefined after every problem of the data was reported
   */
  read(data: unknown, subPath: string, path: string, report: ReportAt, isChecked: boolean): ReadCriterion | undefined;
  /** Value in the facts, for the rule trace. */
  actual(facts: Facts, subPath: string): string;
}

type Shape = Pick<Criterion, "name" | "takesPath" | "schema" | "read" | "actual" | "fold">;

/** A criterion without data. `false` is rejected: it would look like a negation without being one. */
export function presence(name: string, test: Test): Shape {
  return {
    name,
    takesPath: false,
    schema: PRESENCE_SCHEMA,
    read(data, _subPath, path, report) {
      const isPlain = data === true || data === 1 || data === null || (typeof data === "object" && isEmpty(data));
      if (isPlain) return { canonical: true, test };
      report(path, `is ${describe(data)}, must be true`);
      return undefined;
    },
    actual: (facts) => String(test(facts)),
  };
}

/** @param spell normalizes the operands like the subject, if folding alone is not enough */
export function text(
  name: string,
  fold: (text: string) => string,
  subject: (facts: Facts) => string,
  spell = (match: StringMatch): StringMatch => match,
): Shape {
  return {
    name,
    takesPath: false,
    fold,
    schema: STRING_MATCH_SCHEMA,
    read(data, _subPath, path, report) {
      const match = parseStringMatch(data, path, report);
      if (!match) return undefined;
      const spelled = spell(match);
      const matches = compileStringMatch(spelled, fold);
      const test: Test = (facts) => matches(subject(facts));
      const { is, ...others } = spelled;
      if (is === undefined || Object.keys(others).length > 0) return { canonical: match, test };
      return { canonical: match, test: Object.assign(test, { equality: { subject, value: fold(is) } }) };
    },
    actual: (facts) => JSON.stringify(subject(facts)),
  };
}

export function list(
  name: string,
  subject: (facts: Facts, subPath: string) => readonly string[],
  takesScalars = false,
): Shape {
  return {
    name,
    takesPath: false,
    schema: takesScalars ? SCALAR_LIST_MATCH_SCHEMA : LIST_MATCH_SCHEMA,
    read(data, subPath, path, report) {
      const match = parseListMatch(data, path, report, takesScalars);
      if (!match) return undefined;
      const matches = compileListMatch(match);
      const find = (facts: Facts): readonly string[] => subject(facts, subPath);
      const test: Test = (facts) => matches(find(facts));
      const { has, ...others } = match;
      if (has === undefined || Object.keys(others).length > 0) return { canonical: match, test };
      return { canonical: match, test: Object.assign(test, { equality: { subject: find, value: has } }) };
    },
    actual: (facts, subPath) => JSON.stringify(subject(facts, subPath)),
  };
}

function isEmpty(value: object): boolean {
  return !Array.isArray(value) && Object.keys(value).length === 0;
}
