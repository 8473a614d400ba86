/**
 * Decides a recorded request, by the same evaluation as a request that comes in.
 *
 * A record may keep to itself what a criterion asks for (withheld.ts). Then the policy is evaluated twice, with these
 * criteria as favourable to the request as they could be, and as unfavourable: outcomes go from false over unknown to true,
 * each operator preserves or reverses that order, and so does the verdict. Where both verdicts are the same, that is the
 * verdict; otherwise nobody can tell, and nobody guesses.
 */
import { type CompiledPolicy, evaluate } from "../evaluate.ts";
import type { ArgumentFacts, Decision, Facts } from "../facts.ts";
import { compileStringMatch } from "../match.ts";
import type { ArgumentMatch } from "../mcp/argument-match.ts";
import { parsePointer } from "../mcp/argument-values.ts";
import { FALSE, TRUE } from "../packed-outcome.ts";
import type { Action } from "../parse.ts";
import type { Leaf, OperatorRule } from "../tree.ts";
import { canTell, standIn } from "./withheld.ts";

/** What a record tells of a request. */
export interface RecordedFacts extends Facts {
  /** False: the user's claims are not in the record, or in no form that can be compared. */
  readonly hasClaims: boolean;
  /** False: the client was not asked for a certificate then, and would be now. */
  readonly isCertificateKnown: boolean;
  /** Of a tool call; absent where the record has none. Values that it does not tell are `Withheld`. */
  readonly recordedArguments?: ArgumentFacts | undefined;
}

export interface RecordedPolicy {
  readonly best: CompiledPolicy;
  readonly worst: CompiledPolicy;
  readonly needsClaims: boolean;
  readonly needsArguments: boolean;
}

export function forRecords(policy: CompiledPolicy): RecordedPolicy {
  const leaves = [...policy.allow, ...policy.deny].flatMap((rule) => rule.leaves);
  const isOpen = leaves.some((leaf) => openness(leaf));
  return {
    best: isOpen ? assuming(policy, true) : policy,
    worst: isOpen ? assuming(policy, false) : policy,
    needsClaims: leaves.some(({ criterion }) => criterion.name === "claim"),
    needsArguments: leaves.some(({ criterion }) => criterion.name === "mcp_tool_argument"),
  };
}

/** @returns undefined when the record does not tell enough */
export function decideRecorded({ best, worst }: RecordedPolicy, facts: RecordedFacts): Decision | undefined {
  const most = evaluate(best, facts);
  if (best === worst) return most;
  const least = evaluate(worst, facts);
  if (most.allowed !== least.allowed) return undefined;
  // The reasons that hold whatever the record keeps to itself.
  return most.allowed ? least : most;
}

/** As the criteria find them. */
export function comparableArguments(given: ArgumentFacts): ArgumentFacts {
  return { find: (pointer, withNumbers) => standIn(given.find(pointer, withNumbers)) };
}

function assuming(policy: CompiledPolicy, isHelpful: boolean): CompiledPolicy {
  const rules = (action: Action): readonly OperatorRule[] =>
    policy[action].map(({ operator, leaves }) => {
      const isTurned = (action === "deny") !== (operator === "not" || operator === "nor");
      return { operator, leaves: leaves.map((leaf) => assumingLeaf(leaf, isHelpful !== isTurned)) };
    });
  return { ...policy, allow: rules("allow"), deny: rules("deny"), known: [new Map(), new Map()] };
}

function assumingLeaf(leaf: Leaf, assumed: boolean): Leaf {
  const isUntold = openness(leaf);
  if (!isUntold) return leaf;
  const { find, test, criterion } = leaf;
  const { without } = criterion;
  const isMissing = (facts: Facts): boolean => !isUntold(facts as RecordedFacts) && without?.isMissing(facts) === true;
  return {
    ...leaf,
    ...(without && { criterion: { ...criterion, without: { ...without, isMissing } } }),
    test: (facts) => (isUntold(facts as RecordedFacts) ? assumed : test(facts)),
    find: find && ((facts) => (isUntold(facts as RecordedFacts) ? (assumed ? TRUE : FALSE) : find(facts))),
  };
}

/** Whether a record tells what a criterion asks for; undefined for those that ask for nothing that a record could lack. */
function openness({ criterion, data }: Leaf): ((facts: RecordedFacts) => boolean) | undefined {
  if (criterion.name === "claim") return ({ hasClaims }) => !hasClaims;
  if (criterion.about === "certificate") return ({ isCertificateKnown }) => !isCertificateKnown;
  if (criterion.name !== "mcp_tool_argument") return undefined;
  const match = data as ArgumentMatch;
  const pointer = parsePointer(match.argument) ?? [];
  const isMeant = compileStringMatch(match.tool, (text) => text);
  return ({ mcp, recordedArguments: given }) =>
    isMeant(mcp?.tool ?? "") && (given === undefined || !canTell(match, given.find(pointer, true)));
}
