/**
 * Rules without effect: those that can never match, or match every request.
 *
 * They are legal in the language, but mistakes that would be noticed late: an allow rule that admits no user, a deny
 * rule that protects nothing, a rule that opens or closes a whole route by accident. So they are errors in
 * configuration. Only certain cases are reported.
 *
 * A rule with only `accept` is a deliberately public route. A policy without rules (`[]`) is a closed one.
 */
import { findCriterion } from "./criteria.ts";
import type { Criterion } from "./criterion.ts";
import { type ListMatch, type StringMatch, compileListMatch, compileStringMatch } from "./match.ts";
import { impossibleOperand } from "./operands/impossible-operands.ts";
import {
  ACTIONS,
  type PolicyAction,
  type ActionDoc,
  type CriterionDoc,
  OPERATORS,
  type Operator,
  type PolicyDoc,
  type PolicyProblem,
  isList,
} from "./parse.ts";

/** One criterion with its data in canonical form. */
interface Part {
  readonly key: string;
  readonly name: string;
  readonly data: unknown;
  readonly fold: ((text: string) => string) | undefined;
  /** Test of a string matcher. */
  readonly passes: (text: string) => boolean;
}

/** Constant result of a rule for every request. */
type Constant = "never" | "always" | undefined;

/**
 * @param doc a valid document
 * @returns empty blocks and lists, and matchers and rules that never or always match
 */
export function validatePolicy(doc: PolicyDoc): readonly PolicyProblem[] {
  const rules = isList(doc) ? doc : [doc];
  return rules.flatMap((each, index) => [...validateAction(each, isList(doc) ? `[${index}]` : "")]);
}

/** @returns suspicious cases: operands of allow rules that can never match */
export function policyWarnings(doc: PolicyDoc): readonly PolicyProblem[] {
  const rules = isList(doc) ? doc : [doc];
  return rules.flatMap(({ allow = {} }, index) =>
    OPERATORS.flatMap((operator) =>
      (allow[operator] ?? []).flatMap((criterion, position) => {
        const { key, name, data } = openPart(criterion);
        const found = impossibleOperand(name, data, "allow", operator);
        const path = `${isList(doc) ? `[${index}].` : ""}allow.${operator}[${position}].${key}`;
        return found?.isError === false ? [{ path, message: found.message }] : [];
      }),
    ),
  );
}

function* validateAction(rules: Exclude<PolicyDoc, readonly unknown[]>, path: string): Iterable<PolicyProblem> {
  if (ACTIONS.every((action) => rules[action] === undefined))
    yield {
      path,
      message: 'is empty, must have "allow", "deny" or "approve"; write [] to deny all requests',
    };
  for (const action of ACTIONS) {
    const block = rules[action];
    if (!block) continue;
    const at = path === "" ? action : `${path}.${action}`;
    if (OPERATORS.every((operator) => block[operator] === undefined))
      yield { path: at, message: `is empty, must have at least one of ${OPERATORS.join(", ")}` };
    for (const operator of OPERATORS) {
      const criteria = block[operator];
      if (!criteria || (criteria.length === 0 && hasCriteria(block))) continue;
      yield* validateCriteria(criteria, action, operator, `${at}.${operator}`);
    }
  }
}

/**
 * Whether a list of the block has criteria: additional empty lists have no effect, and generators of policies produce
 * them.
 */
export function hasCriteria(block: ActionDoc): boolean {
  return OPERATORS.some((operator) => (block[operator]?.length ?? 0) > 0);
}

function* validateCriteria(
  criteria: readonly CriterionDoc[],
  action: PolicyAction,
  operator: Operator,
  path: string,
): Iterable<PolicyProblem> {
  if (criteria.length === 0) {
    yield { path, message: "is an empty list, must have at least one criterion or be removed" };
    return;
  }
  const parts = criteria.map(openPart);
  let valid = true;
  for (const [index, part] of parts.entries()) {
    const problem = matcherProblem(part) ?? operandError(part, action, operator);
    if (problem === undefined) continue;
    valid = false;
    yield { path: `${path}[${index}].${part.key}`, message: problem };
  }
  // A problem of a single criterion would only be repeated for the whole rule.
  if (!valid) return;
  const message = ruleProblem(action, operator, parts);
  if (message !== undefined) yield { path, message };
}

function operandError({ name, data }: Part, action: PolicyAction, operator: Operator): string | undefined {
  const found = impossibleOperand(name, data, action, operator);
  return found?.isError === true ? found.message : undefined;
}

function ruleProblem(action: PolicyAction, operator: Operator, parts: readonly Part[]): string | undefined {
  const constant = constantOf(operator, parts);
  if (constant === "never") {
    return `can never match and ${NO_EFFECT[action]}: ${NEVER_MATCHES[operator]}`;
  }
  // An approval for every tool call is clearly intended.
  if (constant !== "always" || action === "approve") return undefined;
  if (action === "deny") return "matches every request, so all are denied: must be narrower, or the policy must be []";
  const isPlain = (operator === "and" || operator === "or") && parts.every(({ name }) => name === "accept");
  return isPlain ? undefined : "matches every request: must be narrower, or only accept if all requests are allowed";
}

const NO_EFFECT: Readonly<Record<PolicyAction, string>> = {
  allow: "allows no request",
  deny: "denies nothing",
  approve: "requires no approval",
};

const NEVER_MATCHES: Readonly<Record<Operator, string>> = {
  and: "its criteria contradict each other, must be able to hold together",
  or: "must have a criterion that can hold",
  not: "one of its criteria always holds, must be able to be false together",
  nor: "its criteria always hold, one must be able to be false",
};

/** "not" is the opposite of "or", "nor" that of "and". */
function constantOf(operator: Operator, parts: readonly Part[]): Constant {
  switch (operator) {
    case "and":
      return allOf(parts);
    case "or":
      return anyOf(parts);
    case "not":
      return opposite(anyOf(parts));
    case "nor":
      return opposite(allOf(parts));
  }
  return operator satisfies never;
}

function opposite(constant: Constant): Constant {
  if (constant === undefined) return undefined;
  return constant === "never" ? "always" : "never";
}

function allOf(parts: readonly Part[]): Constant {
  if (parts.every(({ name }) => name === "accept")) return "always";
  if (parts.some(({ name }) => name === "reject")) return "never";
  const names = new Set(parts.map(({ name }) => name));
  if (names.has("client_certificate") && names.has("invalid_client_certificate")) return "never";
  const isContradiction = subjects(parts).some((group) =>
    group[0]?.fold ? contradict(group, parts, names) : hasContradictoryElements(group),
  );
  return isContradiction ? "never" : undefined;
}

function anyOf(parts: readonly Part[]): Constant {
  if (parts.some(({ name }) => name === "accept")) return "always";
  if (parts.every(({ name }) => name === "reject")) return "never";
  const names = new Set(parts.map(({ name }) => name));
  if (names.has("client_certificate") && names.has("invalid_client_certificate")) return undefined;
  const isTautology = subjects(parts).some((group) =>
    group[0]?.fold ? coversEverything(group) : hasContradictoryElements(group) && group.every(isSingle),
  );
  return isTautology ? "always" : undefined;
}

/** Groups the criteria by subject. */
function subjects(parts: readonly Part[]): readonly (readonly Part[])[] {
  return [...Map.groupBy(parts, ({ key }) => key).values()];
}

/** No text satisfies all of these matchers on one text. */
function contradict(group: readonly Part[], parts: readonly Part[], names: ReadonlySet<string>): boolean {
  const candidates = group.map(possibleTexts).find((texts) => texts !== undefined);
  if (names.has("cors_preflight") && group[0]?.name === "http_method" && !passesAll("OPTIONS", group)) return true;
  if (candidates === undefined) return false;
  const alive = candidates.filter((text) => passesAll(text, group));
  if (group[0]?.name !== "email") return alive.length === 0;
  const domains = parts.filter(({ name }) => name === "domain");
  return !alive.some((text) => passesAll(text.slice(text.indexOf("@") + 1), domains));
}

/** Every text satisfies one of these matchers: one matches all that another excludes. */
function coversEverything(group: readonly Part[]): boolean {
  // All tool calls may match, but other messages do not.
  if (group[0]?.name.startsWith("mcp_") === true) return false;
  return group.some((part) => {
    const { not, not_in: notIn = [], ...positive } = part.data as StringMatch;
    if (Object.keys(positive).length > 0) return false;
    const fold = part.fold ?? ((text) => text);
    const excluded = [...(not === undefined ? [] : [not]), ...notIn].map(fold);
    return excluded.every((text) => group.some((other) => other !== part && passesAll(text, [other])));
  });
}

/** One criterion requires an element that another excludes, or two require different only elements. */
function hasContradictoryElements(group: readonly Part[]): boolean {
  const all = group.filter(({ name }) => name === "groups" || name === "claim").map(({ data }) => data as ListMatch);
  const excluded = new Set(all.map(({ exclude }) => exclude).filter((each) => each !== undefined));
  const required = new Set(all.flatMap(({ has, is }) => [has, is]).filter((each) => each !== undefined));
  const only = new Set(all.map(({ is }) => is).filter((each) => each !== undefined));
  return [...required].some((each) => excluded.has(each)) || (only.size > 0 && required.size > 1);
}

/** `{ has: x }` with `{ exclude: x }` matches everything; with more operators, or `is`, it does not. */
function isSingle({ data }: Part): boolean {
  const match = data as ListMatch;
  return Object.keys(match).length === 1 && match.is === undefined;
}

/** Texts that can satisfy a matcher, if they are few. */
function possibleTexts({ data, fold = (text) => text }: Part): readonly string[] | undefined {
  const { is, in: list } = data as StringMatch;
  return is === undefined ? list?.map(fold) : [fold(is)];
}

function passesAll(text: string, parts: readonly Part[]): boolean {
  return parts.every(({ passes }) => passes(text));
}

/** Problem of one criterion alone. */
function matcherProblem(part: Part): string | undefined {
  if (!part.fold) {
    if (part.name !== "groups" && part.name !== "claim") return undefined;
    const match = part.data as ListMatch;
    const { has, is } = match;
    const sample = [is ?? has ?? ""];
    const isPossible = has === undefined && is === undefined ? true : compileListMatch(match)(sample);
    return isPossible ? undefined : "can never match: its operators contradict each other";
  }
  const match = part.data as StringMatch;
  if (match.in?.length === 0) return 'can never match: "in" is an empty list, must have at least one text';
  if (match.not_in?.length === 0) return 'excludes nothing: "not_in" is an empty list, must have at least one text';
  const texts = possibleTexts(part);
  if (texts && !texts.some((text) => passesAll(text, [part])))
    return "can never match: its operators contradict each other";
  return misplacedOperand(part.name, match);
}

/** Texts that the subject never has and that reveal the intended operand. */
function misplacedOperand(name: string, match: StringMatch): string | undefined {
  const { is, in: list = [], starts_with: start, contains, ends_with: end } = match;
  const whole = [...(is === undefined ? [] : [is]), ...list];
  const pieces = [start, contains, end].filter((text) => text !== undefined);
  // Placeholder for a value that only Terraform knows.
  const isKnown = (text: string): boolean => !text.includes("${");
  const all = [...whole, ...pieces].filter(isKnown);
  if (name === "domain" && all.some((text) => text.includes("@")))
    return 'can never match: has "@", must be the part of the address behind it';
  if (name !== "http_path") return undefined;
  if (all.some((text) => /[?#]/.test(text))) return 'can never match: has "?" or "#", must be a path without query';
  const fromStart = [...whole, ...(start === undefined ? [] : [start])].filter(isKnown);
  return fromStart.some((text) => !text.startsWith("/")) ? 'can never match: must start with "/"' : undefined;
}

function openPart(doc: CriterionDoc): Part {
  const [key = "", data] = Object.entries(doc)[0] ?? [];
  const found = findCriterion(key);
  const read = found?.criterion.read(data, found.subPath, "", () => {}, true);
  const criterion: Criterion | undefined = found?.criterion;
  const fold = criterion?.fold;
  let compiled: ((text: string) => boolean) | undefined;
  const passes = (text: string): boolean =>
    (compiled ??= compileStringMatch(read?.canonical as StringMatch, fold ?? ((plain) => plain)))(text);
  return { key, name: criterion?.name ?? key, data: read?.canonical, fold, passes };
}
