/**
 * Decides one request against a route's policy.
 *
 * Untrusted input: the facts. Promises: pure (same facts, same decision). Deny wins over approve, approve over allow.
 * Without a matching allow rule the request is denied. What cannot be checked, including a throw, is denied. The proxy,
 * `gateway explain` and unit tests use this same code.
 *
 * Without a signed-in user, criteria about the user are unknown, neither true nor false (three-valued logic). A request
 * passes only with a certain "allow" and a certain "not denied": `not: [domain: …]` never allows an anonymous request.
 * The same applies to sessions without a verified device, and to groups and claims that the provider omitted.
 */
import { GatewayError } from "../shared/errors.ts";
import { askApproval, isAlike } from "./mcp/approval.ts";
import { PATH_AMBIGUOUS } from "./criteria.ts";
import type { Criterion } from "./criterion.ts";
import type { Decision, Facts } from "./facts.ts";
import { FALSE, TRUE, outcomeOf, reasonNames, reasonsOf, unite } from "./packed-outcome.ts";
import type { StringMatch } from "./match.ts";
import type { ArgumentMatch } from "./mcp/argument-match.ts";
import { TOOL_OK } from "./mcp/criteria.ts";
import type { PackedOutcome } from "./packed-outcome.ts";
import { canonicalPolicy, enforcedRules, parsePolicy } from "./parse.ts";
import type { PolicyDoc, RulesDoc } from "./parse.ts";
import { mayReachSomething } from "./reach.ts";
import { compileTree, findAny } from "./tree.ts";
import type { PolicyTree } from "./tree.ts";

/** Reason if evaluation itself failed. */
export const POLICY_ERROR = "policy-error";

export interface CompiledPolicy extends PolicyTree {
  /** Canonical document without shadow rules; [] denies all requests. */
  readonly doc: readonly RulesDoc[];
  /** Has a criterion about tools. */
  readonly needsTool: boolean;
  /** Tool matchers of its rules. */
  readonly toolMatches: readonly StringMatch[];
  /** Has an `idp` criterion. */
  readonly needsProvider: boolean;
  /** Has a criterion about messages, including those about tools. */
  readonly needsMessage: boolean;
  /** Has a `device` criterion. */
  readonly needsDevice: boolean;
  /** Has an `http_path` criterion. */
  readonly needsPath: boolean;
  /** Has a criterion about the client's certificate. */
  readonly needsCertificate: boolean;
  /** A request without a signed-in user could be allowed. */
  readonly mayAllowAnonymous: boolean;
  /** Decisions by outcome: a policy has few distinct ones. Filled by `evaluate`. */
  readonly known: KnownDecisions;
}

/** [for tool calls, for everything else] → outcome under allow → outcome under deny → decision. */
type KnownDecisions = readonly [
  Map<PackedOutcome, Map<PackedOutcome, Decision>>,
  Map<PackedOutcome, Map<PackedOutcome, Decision>>,
];

/** Beyond it decisions are not cached, so that no caller can grow the maps without limit. */
const MAX_KNOWN = 64;

/**
 * Omits shadow rules, so that no compiled policy can enforce them.
 *
 * @param doc a valid document; undefined = no policy, which allows nothing
 * @throws GatewayError `policy.invalid` if the document is invalid
 */
export function compilePolicy(doc: PolicyDoc | undefined): CompiledPolicy {
  const parsed = parsePolicy(doc ?? [], true);
  if (!parsed.ok) {
    const [first] = parsed.problems;
    throw new GatewayError("policy.invalid", `Cannot compile the policy: "${first?.path}" ${first?.message}`);
  }
  const rules = canonicalPolicy(enforcedRules(parsed.policy));
  const tree = compileTree(rules);
  const leaves = [...tree.allow, ...tree.deny, ...tree.approve].flatMap((rule) => rule.leaves);
  const isAbout = (topic: Criterion["about"]): boolean => leaves.some(({ criterion }) => criterion.about === topic);
  const hasKey = (name: string): boolean => leaves.some(({ key }) => key === name);
  return {
    ...tree,
    doc: rules,
    needsTool: isAbout("tool"),
    toolMatches: leaves.flatMap(({ key, data }) =>
      key === "mcp_tool" ? [data as StringMatch] : key === "mcp_tool_argument" ? [(data as ArgumentMatch).tool] : [],
    ),
    needsMessage: isAbout("tool") || isAbout("message"),
    needsDevice: isAbout("device"),
    needsProvider: hasKey("idp"),
    needsPath: hasKey("http_path"),
    needsCertificate: isAbout("certificate"),
    mayAllowAnonymous: mayReachSomething(tree, undefined),
    known: [new Map(), new Map()],
  };
}

/**
 * A path with parameters has several readings, and the upstream's is unknown here. If their verdicts differ, the
 * decision is `isAmbiguous`, a denial with its own reason.
 *
 * @returns the verdict with its reasons, ready for the record; the object is shared and frozen
 */
export function evaluate(policy: CompiledPolicy, facts: Facts): Decision {
  try {
    const decision = evaluateReading(policy, facts);
    if (!policy.needsPath || facts.http.otherPaths === undefined) return decision;
    const { otherPaths, ...http } = facts.http;
    const isAgreed = otherPaths.every((path) =>
      isAlike(evaluateReading(policy, { ...facts, http: { ...http, path } }), decision),
    );
    return isAgreed ? decision : AMBIGUOUS;
  } catch {
    // A criterion that cannot be checked must not count as "no deny rule matched".
    return FAILED;
  }
}

/** The readings of the path have different verdicts: another path would help, signing in would not. */
export function isAmbiguous(decision: Decision): boolean {
  return decision === AMBIGUOUS;
}

/** Evaluation itself failed, so nothing is known about the caller. */
export function isFailed(decision: Decision): boolean {
  return decision === FAILED;
}

function evaluateReading(policy: CompiledPolicy, facts: Facts): Decision {
  const allow = findAny(policy.allow, facts);
  const deny = findAny(policy.deny, facts);
  return askApproval(policy, facts, findDecision(policy, allow, deny, facts.mcp?.method === "tools/call"));
}

/** Decision for the record of a request rejected before or without policy evaluation (400, 401, 413, 415). */
export function refusedDecision(...reasons: readonly string[]): Decision {
  return freeze({
    allowed: false,
    denied: false,
    allowWhyTrue: [],
    allowWhyFalse: [...reasons].sort(),
    denyWhyTrue: [],
    denyWhyFalse: [],
  });
}

const FAILED = refusedDecision(POLICY_ERROR);
const AMBIGUOUS = refusedDecision(PATH_AMBIGUOUS);

function findDecision(
  policy: CompiledPolicy,
  allow: PackedOutcome,
  deny: PackedOutcome,
  isToolCall: boolean,
): Decision {
  const byAllow = policy.known[isToolCall ? 0 : 1];
  let byDeny = byAllow.get(allow);
  const known = byDeny?.get(deny);
  if (known) return known;
  const decision = makeDecision(policy.reasons, allow, deny, isToolCall);
  if (!byDeny && byAllow.size < MAX_KNOWN) byAllow.set(allow, (byDeny = new Map()));
  if (byDeny && byDeny.size < MAX_KNOWN) byDeny.set(deny, decision);
  return decision;
}

/** @see DECISIONS.md D9: how the reasons of both actions form the record */
function makeDecision(
  names: readonly string[],
  allow: PackedOutcome,
  deny: PackedOutcome,
  isToolCall: boolean,
): Decision {
  const denied = outcomeOf(deny) === TRUE;
  const allowed = outcomeOf(allow) === TRUE && outcomeOf(deny) === FALSE;
  const whyNot = unite(
    outcomeOf(allow) === TRUE ? 0 : reasonsOf(allow),
    outcomeOf(deny) === FALSE ? 0 : reasonsOf(deny),
  );
  const whyAllowed = allowed ? reasonNames(reasonsOf(allow), names) : [];
  // Every allowed tool call has this reason, even if no `mcp_tool` rule, or only one under deny, concerns it.
  if (allowed && isToolCall && !whyAllowed.includes(TOOL_OK)) whyAllowed.push(TOOL_OK);
  const whyDeny = reasonNames(reasonsOf(deny), names);
  return freeze({
    allowed,
    denied,
    allowWhyTrue: whyAllowed.sort(),
    allowWhyFalse: allowed ? [] : reasonNames(whyNot, names),
    denyWhyTrue: denied ? whyDeny : [],
    denyWhyFalse: denied ? [] : whyDeny,
  });
}

function freeze(decision: Decision): Decision {
  for (const value of Object.values(decision) as unknown[]) Object.freeze(value);
  return Object.freeze(decision);
}
