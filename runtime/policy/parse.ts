/**
 * Parses a policy (decoded YAML, JSON or a Terraform string) into a checked document.
 *
 * Untrusted input: the value. Promise: a parsed policy also compiles, and all problems are reported together with their
 * paths. Parsing does not rewrite; `canonicalPolicy` returns the one form for comparisons and diffs.
 */
import { CRITERIA, findCriterion } from "./criteria.ts";
import type { Criterion } from "./criterion.ts";
import { describe } from "./match.ts";
import { callWork } from "./mcp/argument-patterns.ts";
import type { ReportAt } from "./match.ts";
import { unknownWord } from "../shared/suggest.ts";
import { isRecord } from "../shared/is-record.ts";

/** One criterion: an object with exactly one key. */
export type CriterionDoc = Readonly<Record<string, unknown>>;

/** Operators of one action, joined by "or". Empty lists have no effect. */
export interface ActionDoc {
  /** All are true. */
  readonly and?: readonly CriterionDoc[];
  /** At least one is true. */
  readonly or?: readonly CriterionDoc[];
  /** All are false. */
  readonly not?: readonly CriterionDoc[];
  /** At least one is false. */
  readonly nor?: readonly CriterionDoc[];
}

export interface RulesDoc {
  /** Evaluate and record these rules without enforcing them; see policy/shadow.ts. */
  readonly shadow?: boolean;
  readonly allow?: ActionDoc;
  readonly deny?: ActionDoc;
  /** Tool calls that require an approval; see policy/mcp/approval.ts. */
  readonly approve?: ActionDoc;
  /** Groups of which another user must approve calls that match `approve`; absent: the calling user confirms. */
  readonly approvers?: readonly string[];
}

/** A policy: one rules object or several, whose actions are joined by "or". */
export type PolicyDoc = RulesDoc | readonly RulesDoc[];

export interface PolicyProblem {
  /** Relative to the policy: "" is the policy itself, "[0].allow.or[1].email.starts_with" a value in it. */
  readonly path: string;
  readonly message: string;
}

export type ParsedPolicy =
  | { readonly ok: true; readonly policy: PolicyDoc }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] };

export const ACTIONS = ["allow", "deny", "approve"] as const;
export const OPERATORS = ["and", "or", "not", "nor"] as const;
export type PolicyAction = (typeof ACTIONS)[number];
export type Operator = (typeof OPERATORS)[number];

const CRITERION_NAMES = CRITERIA.map((criterion) =>
  criterion.takesPath ? `${criterion.name}/<path>` : criterion.name,
);

/** Each request is checked against all of them. The length of lists (`in`) does not matter. */
const MAX_CRITERIA = 5000;

interface Checks {
  readonly report: ReportAt;
  readonly isChecked: boolean;
  /** Number so far. */
  criteria: number;
  readonly addPatterns: ReturnType<typeof callWork>;
}

/** @param isChecked valid in an earlier parse: patterns, the expensive part, are not compiled again */
export function parsePolicy(value: unknown, isChecked = false): ParsedPolicy {
  const problems: PolicyProblem[] = [];
  const report: ReportAt = (path, message) => void problems.push({ path, message });
  const checks: Checks = { report, isChecked, criteria: 0, addPatterns: callWork() };
  if (Array.isArray(value)) {
    for (const [index, rules] of value.entries()) checkRules(rules, `[${index}]`, checks);
  } else {
    checkRules(value, "", checks);
  }
  if (checks.criteria > MAX_CRITERIA)
    report("", `has ${checks.criteria} criteria, must have at most ${MAX_CRITERIA}; many values fit into one "in"`);
  return problems.length === 0 ? { ok: true, policy: value as PolicyDoc } : { ok: false, problems };
}

/**
 * Canonical form of a policy: a list of rules, keys in fixed order, matchers expanded, sets sorted, empty lists
 * dropped. Policies with the same canonical form decide equally. The order of criteria stays, for readable diffs.
 *
 * @param doc a parsed document
 */
export function canonicalPolicy(doc: PolicyDoc): readonly RulesDoc[] {
  const rules: readonly RulesDoc[] = isList(doc) ? doc : [doc];
  return rules.map(canonicalRules).filter((each) => Object.keys(each).length > 0);
}

/** Rules that decide: all except shadow rules. */
export function enforcedRules(doc: PolicyDoc): readonly RulesDoc[] {
  return (isList(doc) ? doc : [doc]).filter(({ shadow }) => shadow !== true);
}

/** Whether `doc` is a list; narrows readonly arrays, which Array.isArray does not. */
export function isList(doc: PolicyDoc): doc is readonly RulesDoc[] {
  return Array.isArray(doc);
}

function canonicalRules(rules: RulesDoc): RulesDoc {
  const entries = ACTIONS.flatMap((action) => {
    const block = rules[action];
    if (!block) return [];
    const operators = OPERATORS.flatMap((operator) => {
      const criteria = block[operator] ?? [];
      return criteria.length === 0 ? [] : [[operator, criteria.map(canonicalCriterion)] as const];
    });
    return operators.length === 0 ? [] : [[action, Object.fromEntries(operators)] as const];
  });
  if (entries.length === 0) return {};
  const isApproved = rules.approvers !== undefined && entries.some(([action]) => action === "approve");
  return {
    ...(rules.shadow === true && { shadow: true }),
    ...Object.fromEntries(entries),
    ...(isApproved && { approvers: canonicalGroups(rules.approvers) }),
  };
}

/** Sorted, unique. */
export function canonicalGroups(groups: readonly string[]): readonly string[] {
  return [...new Set(groups)].sort();
}

/** The criterion of a document, and its key as written. */
export function criterionOf(doc: CriterionDoc): { readonly key: string; readonly criterion: Criterion | undefined } {
  const [key = ""] = Object.keys(doc);
  return { key, criterion: findCriterion(key)?.criterion };
}

function canonicalCriterion(doc: CriterionDoc): CriterionDoc {
  const [key = "", data] = Object.entries(doc)[0] ?? [];
  const found = findCriterion(key);
  const read = found?.criterion.read(data, found.subPath, "", () => {}, true);
  return { [key]: read === undefined ? data : read.canonical };
}

const SHADOW = "shadow";
const APPROVERS = "approvers";
/** Members of a rule other than its actions. */
const MARKS: readonly string[] = [SHADOW, APPROVERS];
/** Each is compared with the groups of every user who opens the page. */
const MAX_APPROVERS = 64;

function checkRules(value: unknown, path: string, checks: Checks): void {
  const { report } = checks;
  if (!checkKeys(value, "action", ACTIONS, path, report, MARKS)) return;
  if (Object.hasOwn(value, SHADOW) && typeof value[SHADOW] !== "boolean")
    report(path === "" ? SHADOW : `${path}.${SHADOW}`, `is ${describe(value[SHADOW])}, must be true or false`);
  if (Object.hasOwn(value, APPROVERS)) {
    const problem = approversProblem(value);
    if (problem !== undefined) report(path === "" ? APPROVERS : `${path}.${APPROVERS}`, problem);
  }
  for (const action of ACTIONS) {
    if (!Object.hasOwn(value, action)) continue;
    const block = value[action];
    const at = path === "" ? action : `${path}.${action}`;
    if (!checkKeys(block, "operator", OPERATORS, at, report)) continue;
    for (const operator of OPERATORS) {
      if (Object.hasOwn(block, operator)) checkCriteria(block[operator], `${at}.${operator}`, checks);
    }
  }
}

function approversProblem(rules: Readonly<Record<string, unknown>>): string | undefined {
  const groups = rules[APPROVERS];
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === "string" && group !== ""))
    return `is ${describe(groups)}, must be a list of groups`;
  if (groups.length === 0) return "is an empty list, must have a group, or be removed so that users confirm themselves";
  if (groups.length > MAX_APPROVERS) return `has ${groups.length} groups, must be at most ${MAX_APPROVERS}`;
  return Object.hasOwn(rules, "approve") ? undefined : 'requires "approve" in the same rule';
}

function checkKeys(
  value: unknown,
  what: string,
  known: readonly string[],
  path: string,
  report: ReportAt,
  marks: readonly string[] = [],
): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value)) {
    report(path, `is ${describe(value)}, must be an object with ${known.join(", ")}`);
    return false;
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key) && !marks.includes(key))
      report(path === "" ? key : `${path}.${key}`, unknownWord(what, key, known));
  }
  return true;
}

function checkCriteria(value: unknown, path: string, checks: Checks): void {
  if (!Array.isArray(value)) {
    checks.report(path, `is ${describe(value)}, must be a list of criteria`);
    return;
  }
  checks.criteria += value.length;
  // Beyond the limit, criteria are not checked individually.
  if (checks.criteria > MAX_CRITERIA) return;
  for (const [index, item] of value.entries()) checkCriterion(item, `${path}[${index}]`, checks);
}

function checkCriterion(value: unknown, path: string, checks: Checks): void {
  const { report, isChecked } = checks;
  const entries = isRecord(value) ? Object.entries(value) : [];
  const [entry] = entries;
  if (!entry || entries.length !== 1) {
    const state = isRecord(value) ? `has ${entries.length} keys` : `is ${describe(value)}`;
    report(path, `${state}, must be an object with exactly one criterion`);
    return;
  }
  const [key, data] = entry;
  const found = findCriterion(key);
  if (!found) {
    report(`${path}.${key}`, unknownWord("criterion", key, CRITERION_NAMES));
  } else if (found.criterion.takesPath && found.subPath === "") {
    report(`${path}.${key}`, `has no path, must be written ${found.criterion.name}/<path>`);
  } else if (!found.criterion.takesPath && key !== found.criterion.name) {
    report(`${path}.${key}`, `takes no path, must be written ${found.criterion.name}`);
  } else {
    const patterns = found.criterion.read(data, found.subPath, `${path}.${key}`, report, isChecked)?.patterns;
    const problem = patterns && checks.addPatterns(patterns);
    if (problem !== undefined) report(`${path}.${key}`, problem);
  }
}
