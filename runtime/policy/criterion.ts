/** What a criterion of the policy language is, and the forms that most of them have. */
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
import type { PatternWork } from "./mcp/argument-patterns.ts";
import type { Truth } from "./packed-outcome.ts";

const PRESENCE_SCHEMA = { enum: [true, 1, null, {}] };

export const asIs = (text: string): string => text;

/** Pure; reads only the facts. Called only when what the criterion is about is known. */
export type Test = (facts: Facts) => boolean;

/** A criterion with its data read. */
export interface ReadCriterion {
  /** The data in canonical form: shorthands written out, sets sorted. */
  readonly canonical: unknown;
  readonly test: Test;
  /** Instead of `test`, where what is checked may not be known. */
  readonly find?: (facts: Facts) => Truth;
  /** Instead of the criterion's own. */
  readonly actual?: (facts: Facts) => string;
  /** Of patterns, while it is checked. */
  readonly patterns?: PatternWork | undefined;
}

export interface Criterion {
  /** As written in a policy; `claim` is followed by "/" and a path. */
  readonly name: string;
  readonly takesPath: boolean;
  /** One sentence for users. */
  readonly doc: string;
  /** What must be known to check: without a signed-in user, a proven device, or before a message is read, the outcome is unknown. */
  readonly about: "user" | "device" | "tool" | "message" | "certificate" | "request" | "nothing";
  /** `ok` speaks for access, `no` against it; with `fixed` they state a fact whichever way it speaks. */
  readonly reasons: { readonly ok: string; readonly no: string; readonly fixed?: boolean };
  /** About a tool or message: false, for this reason, of every message that is of another kind. */
  readonly ofOthers?: { readonly reason: string; readonly isMeant: Test };
  /** Why the outcome is unknown, where `isUnknown`, or `find` of the data, says so. */
  readonly unknownReason?: string;
  readonly isUnknown?: Test;
  /** About the certificate: what is found instead where there is none that counts. */
  readonly without?: { readonly outcome: Truth; readonly isMissing: Test };
  /** About the user: the reason when the provider left out what is checked, and whether it did. */
  readonly leftOut?: {
    readonly reason: string;
    readonly isMissing: (leftOut: LeftOut, subPath: string, claims: UserFacts["claims"]) => boolean;
  };
  /** Checks one text by a string matcher: both sides in this form. For check.ts. */
  readonly fold?: (text: string) => string;
  /** JSON Schema of the data. */
  readonly schema: PolicySchema;
  /**
   * @param isChecked it was read before without a problem
   * @returns undefined after everything wrong with the data was reported
   */
  read(data: unknown, subPath: string, path: string, report: ReportAt, isChecked: boolean): ReadCriterion | undefined;
  /** What the facts say, for the rule trace. */
  actual(facts: Facts, subPath: string): string;
}

type Shape = Pick<Criterion, "name" | "takesPath" | "schema" | "read" | "actual" | "fold">;

/** A criterion that takes no data. `false` is refused: it reads like a negation and would not be one. */
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

/** @param spell the operands as the subject is spelled, where their folding alone does not do it */
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
      const matches = compileStringMatch(spell(match), fold);
      return { canonical: match, test: (facts) => matches(subject(facts)) };
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
      return { canonical: match, test: (facts) => matches(subject(facts, subPath)) };
    },
    actual: (facts, subPath) => JSON.stringify(subject(facts, subPath)),
  };
}

function isEmpty(value: object): boolean {
  return !Array.isArray(value) && Object.keys(value).length === 0;
}
