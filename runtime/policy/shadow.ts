/**
 * Policies that are tried before they bind: a route's `shadow_policy`, and rules of its `policy` beside `shadow: true`.
 *
 * Each of them is a candidate, a whole policy of its own. The first stands in place of `policy`; a rule stands beside all
 * rules in force and without the other candidates, so that several do not hide each other. Candidates are decided on the
 * same facts by the same code, after the decision that is enforced. Promises: pure; nothing here changes that decision,
 * and a candidate that cannot be evaluated has the outcome `error`, which is neither yes nor no.
 */
import { type AccessKeys, routePolicy } from "./access-keys.ts";
import { compilePolicy, evaluate, isFailed, type CompiledPolicy } from "./evaluate.ts";
import type { Decision, Facts } from "./facts.ts";
import { enforcedRules, isList, type PolicyDoc } from "./parse.ts";

/** Candidates of one route. */
export const MAX_CANDIDATES = 4;

export type ShadowOutcome = "allow" | "approve" | "deny" | "error";
/** What enforcing the candidate would do: nothing, let the request pass, or refuse it. An approval is between the two. */
export type ShadowFlip = "none" | "gains" | "loses";
/** What a candidate would replace, or add to. */
export type CandidateKind = "shadow_policy" | "rule";

export interface CandidateDoc {
  /** Where it stands in the route: "shadow_policy", "policy[2]". */
  readonly name: string;
  readonly kind: CandidateKind;
  /** All that would decide about the route, access keys included. */
  readonly policy: PolicyDoc;
}

export interface Candidate extends Pick<CandidateDoc, "name" | "kind"> {
  readonly policy: CompiledPolicy;
}

/** The candidates of a route; there is at least one. */
export interface Shadow {
  readonly candidates: readonly Candidate[];
  /** Some of them has a criterion about the client's certificate. */
  readonly needsCertificate: boolean;
}

export interface ShadowDecision {
  readonly candidate: Candidate;
  readonly outcome: ShadowOutcome;
  /** "none" with the outcome `error`: nobody knows. */
  readonly flip: ShadowFlip;
  /** Why it is allowed, or why not; sorted. */
  readonly reasons: readonly string[];
}

/** As a route has them. */
export interface ShadowKeys extends AccessKeys {
  readonly policy?: PolicyDoc;
  readonly shadow_policy?: PolicyDoc;
}

/** @returns candidates in the order in which they are recorded; [] for a route that tries nothing */
export function candidatesOf(route: ShadowKeys): readonly CandidateDoc[] {
  const { policy = [], shadow_policy: whole } = route;
  const rules = isList(policy) ? policy : [policy];
  if (whole === undefined && !rules.some(({ shadow }) => shadow === true)) return [];
  const found: CandidateDoc[] = [];
  const add = (name: string, kind: CandidateDoc["kind"], replacing: PolicyDoc): void =>
    void found.push({ name, kind, policy: routePolicy({ ...route, policy: replacing }) ?? [] });
  if (whole !== undefined) add("shadow_policy", "shadow_policy", whole);
  for (const [index, { shadow, ...rule }] of rules.entries()) {
    if (shadow === true) add(`policy[${index}]`, "rule", [...enforcedRules(policy), rule]);
  }
  return found;
}

/** @throws GatewayError `policy.invalid`, see `compilePolicy` */
export function compileShadow(route: ShadowKeys): Shadow | undefined {
  const candidates = candidatesOf(route).map((doc) => ({ ...doc, policy: compilePolicy(doc.policy) }));
  if (candidates.length === 0) return undefined;
  return { candidates, needsCertificate: candidates.some(({ policy }) => policy.needsCertificate) };
}

/** @param enforced what the route's policy says of the same facts */
export function decideShadow({ candidates }: Shadow, facts: Facts, enforced: Decision): readonly ShadowDecision[] {
  return candidates.map((candidate) => {
    const decision = evaluate(candidate.policy, facts);
    const { allowWhyTrue, allowWhyFalse } = decision;
    if (isFailed(decision)) return { candidate, outcome: "error", flip: "none", reasons: allowWhyFalse };
    const gain = freedom(decision) - freedom(enforced);
    const flip = gain === 0 ? "none" : gain > 0 ? "gains" : "loses";
    const reasons = decision.allowed ? allowWhyTrue : allowWhyFalse;
    return { candidate, outcome: OUTCOMES[freedom(decision)], flip, reasons };
  });
}

/** What a decision comes to, from least to most. */
export const OUTCOMES = ["deny", "approve", "allow"] as const;

/** Position in `OUTCOMES`. */
export function freedom({ allowed, approval }: Decision): 0 | 1 | 2 {
  if (allowed) return 2;
  return approval === undefined ? 0 : 1;
}
