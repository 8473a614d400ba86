/**
 * Decides a recorded request with the same evaluation as a live request.
 *
 * A record may omit values that a criterion needs (withheld.ts). Then the policy is evaluated twice: with these
 * criteria as favorable to the request as possible, and as unfavorable. Outcomes are ordered false, unknown, true; each
 * operator preserves or reverses that order, and so does the verdict (denied, with an approval, allowed). If both
 * verdicts are equal, that is the verdict; otherwise it is unknown.
 */
import { type CompiledPolicy, evaluate } from "../evaluate.ts";
import type { ArgumentFacts, Decision, Facts } from "../facts.ts";
import { compileStringMatch } from "../match.ts";
import type { ArgumentMatch } from "../mcp/argument-match.ts";
import { parsePointer } from "../mcp/argument-values.ts";
import { FALSE, TRUE } from "../packed-outcome.ts";
import type { PolicyAction } from "../parse.ts";
import { freedom } from "../shadow.ts";
import type { Leaf, OperatorRule } from "../tree.ts";
import { leavesOf } from "./operands.ts";
import { canTell, placeholder } from "./withheld.ts";

/** Facts in the record of a request. */
export interface RecordedFacts extends Facts {
  /** False: the record has no claims of the user, or none in a comparable form. */
  readonly hasClaims: boolean;
  /** False: the client was not asked for a certificate then, but would be now. */
  readonly isCertificateKnown: boolean;
  /** Arguments of a tool call; absent if not recorded. Omitted values are `Withheld`. */
  readonly recordedArguments?: ArgumentFacts | undefined;
}

export interface RecordedPolicy {
  readonly best: CompiledPolicy;
  readonly worst: CompiledPolicy;
  /** Set if evaluating `best` needed a value that the record omits. */
  readonly assumed: { isAny: boolean };
  readonly needs: RecordNeeds;
  /** Values that its criteria need and a record may omit. */
  readonly neededValues: readonly NeededValue[];
}

/** Values of a record that policies need; other claims and arguments need not be read. */
export interface RecordNeeds {
  /** Names of top-level claims. */
  readonly claims: ReadonlySet<string>;
  /** Whether a rule reads arguments of this tool. */
  readonly argumentsOf: (tool: string) => boolean;
}

/** Combined needs of several policies. */
export function needsOfAll(all: readonly RecordNeeds[]): RecordNeeds {
  return {
    claims: new Set(all.flatMap(({ claims }) => [...claims])),
    argumentsOf: (tool) => all.some((each) => each.argumentsOf(tool)),
  };
}

interface NeededValue {
  /** "claim/department", "argument /amount of pay". */
  readonly what: string;
  readonly isOmitted: (facts: RecordedFacts) => boolean;
}

export function forRecords(policy: CompiledPolicy): RecordedPolicy {
  const leaves = leavesOf(policy);
  const neededValues = leaves.flatMap((leaf) => {
    const isOmitted = omissionTest(leaf);
    return isOmitted ? [{ what: describeNeeded(leaf), isOmitted }] : [];
  });
  const assumed = { isAny: false };
  return {
    neededValues,
    assumed,
    best: neededValues.length > 0 ? assuming(policy, true, assumed) : policy,
    worst: neededValues.length > 0 ? assuming(policy, false, assumed) : policy,
    needs: needsOf(leaves),
  };
}

function needsOf(leaves: readonly Leaf[]): RecordNeeds {
  const claims = leaves.filter(({ criterion }) => criterion.name === "claim");
  const tools = leaves
    .filter(({ criterion }) => criterion.name === "mcp_tool_argument")
    .map(({ data }) => toolOf(data));
  return {
    // As claimTexts finds them: by the whole path, or by its first segment.
    claims: new Set(claims.flatMap(({ subPath }) => [subPath, subPath.split("/")[0] ?? subPath])),
    argumentsOf: (tool) => tools.some((isMeant) => isMeant(tool)),
  };
}

/** As in the criterion itself. */
function toolOf(data: unknown): (tool: string) => boolean {
  return compileStringMatch((data as ArgumentMatch).tool, (text) => text);
}

/** @returns undefined if the record omits a decisive value */
export function decideRecorded(policy: RecordedPolicy, facts: RecordedFacts): Decision | undefined {
  const { best, worst, assumed } = policy;
  assumed.isAny = false;
  const most = evaluate(best, facts);
  if (!assumed.isAny) return most;
  const least = evaluate(worst, facts);
  if (freedom(most) !== freedom(least)) return undefined;
  // The reasons that are valid whatever the omitted values are.
  return most.allowed ? least : most;
}

/** Values that the policy needs and the record omits, in the order of its rules, without duplicates. */
export function omittedValues({ neededValues }: RecordedPolicy, facts: RecordedFacts): readonly string[] {
  return [...new Set(neededValues.filter(({ isOmitted }) => isOmitted(facts)).map(({ what }) => what))];
}

function describeNeeded({ criterion, key, data }: Leaf): string {
  if (criterion.name !== "mcp_tool_argument")
    return criterion.about === "certificate" ? "the client's certificate" : key;
  const { tool, argument } = data as ArgumentMatch;
  const isName = tool.is !== undefined && Object.keys(tool).length === 1;
  return `${argument === "" ? "the arguments" : `argument ${argument}`} of ${isName ? tool.is : `tools ${JSON.stringify(tool)}`}`;
}

/** As the criteria find them. */
export function comparableArguments(given: ArgumentFacts): ArgumentFacts {
  return { find: (pointer, withNumbers) => placeholder(given.find(pointer, withNumbers)) };
}

function assuming(policy: CompiledPolicy, isHelpful: boolean, assumed: RecordedPolicy["assumed"]): CompiledPolicy {
  const leaves = (action: PolicyAction, { operator, leaves: all }: OperatorRule): readonly Leaf[] => {
    const isTurned = (action !== "allow") !== (operator === "not" || operator === "nor");
    return all.map((leaf) => assumingLeaf(leaf, isHelpful !== isTurned, assumed));
  };
  return {
    ...policy,
    allow: policy.allow.map((rule) => ({ ...rule, leaves: leaves("allow", rule) })),
    deny: policy.deny.map((rule) => ({ ...rule, leaves: leaves("deny", rule) })),
    approve: policy.approve.map((rule) => ({ ...rule, leaves: leaves("approve", rule) })),
    known: [new Map(), new Map()],
  };
}

function assumingLeaf(leaf: Leaf, isTrue: boolean, assumed: RecordedPolicy["assumed"]): Leaf {
  const isOpen = omissionTest(leaf);
  if (!isOpen) return leaf;
  const isOmitted = (facts: Facts): boolean => {
    const is = isOpen(facts as RecordedFacts);
    if (is) assumed.isAny = true;
    return is;
  };
  const { find, test, criterion } = leaf;
  const { without } = criterion;
  const isMissing = (facts: Facts): boolean => !isOmitted(facts) && without?.isMissing(facts) === true;
  return {
    ...leaf,
    ...(without && { criterion: { ...criterion, without: { ...without, isMissing } } }),
    test: (facts) => (isOmitted(facts) ? isTrue : test(facts)),
    find: find && ((facts) => (isOmitted(facts) ? (isTrue ? TRUE : FALSE) : find(facts))),
  };
}

/** Whether a record omits a value that the criterion needs; undefined for criteria whose values are always recorded. */
function omissionTest({ criterion, data }: Leaf): ((facts: RecordedFacts) => boolean) | undefined {
  if (criterion.name === "claim") return ({ hasClaims }) => !hasClaims;
  if (criterion.about === "certificate") return ({ isCertificateKnown }) => !isCertificateKnown;
  if (criterion.name !== "mcp_tool_argument") return undefined;
  const match = data as ArgumentMatch;
  const pointer = parsePointer(match.argument) ?? [];
  const matchesTool = toolOf(data);
  return ({ mcp, recordedArguments: given }) =>
    matchesTool(mcp?.tool ?? "") && (given === undefined || !canTell(match, given.find(pointer, true)));
}
