/** Matcher for tool names: the string matcher plus `fold_case`, for servers that ignore case. */
import { isRecord } from "../../shared/is-record.ts";
import {
  type PolicySchema,
  type ReportAt,
  STRING_OPERATORS,
  type StringMatch,
  describe,
  parseStringMatch,
  stringMatchSchema,
} from "../match.ts";

export const TOOL_MATCH_SCHEMA: PolicySchema = stringMatchSchema(STRING_OPERATORS, {
  fold_case: {
    type: "boolean",
    description:
      "Upper and lower case are the same, on both sides; for servers that compare names this way. Default: false.",
  },
});

/** @returns the canonical matcher, or undefined after every problem was reported */
export function parseToolMatch(value: unknown, path: string, report: ReportAt): StringMatch | undefined {
  if (!isRecord(value) || !Object.hasOwn(value, "fold_case")) return parseStringMatch(value, path, report);
  const { fold_case: foldsCase, ...operators } = value;
  if (typeof foldsCase !== "boolean") report(`${path}.fold_case`, `is ${describe(foldsCase)}, must be true or false`);
  const match = parseStringMatch(operators, path, report);
  if (!match || typeof foldsCase !== "boolean") return undefined;
  return foldsCase ? { ...match, fold_case: true } : match;
}
