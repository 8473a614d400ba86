/**
 * Policies that are evaluated without being enforced: a route's `shadow_policy`, and rules of its `policy` with
 * `shadow: true`.
 *
 * Each is a complete shadow policy. `shadow_policy` replaces `policy`; a shadow rule is added to all enforced rules,
 * without the other shadow rules, so that they do not hide each other. They are decided on the same facts by the same
 * code, after the enforced decision. Promises: pure. Nothing here changes the enforced decision. A shadow policy that
 * cannot be evaluated has the outcome `error`, neither allowed nor denied.
 */
import { type AccessKeys, routePolicy } from "./access-keys.ts";
import { compilePolicy, evaluate, isFailed, type CompiledPolicy } from "./evaluate.ts";
import type { Decision, Facts } from "./facts.ts";
import { bindToolClasses } from "./bind-tool-classes.ts";
import type { ToolClasses } from "./mcp/tool-classes.ts";
import { enforcedRules, isList, type PolicyDoc } from "./parse.ts";

/** Limit of shadow policies per route. */
export const MAX_CANDIDATES = 4;

export type ShadowOutcome = "allow" | "approve" | "deny" | "error";
/** Effect of enforcing the shadow policy: none, the request passes, or it is denied. An approval is between the two. */
export type ShadowFlip = "none" | "gains" | "loses";
/** Whether it would replace the policy or extend it. */
export type CandidateKind = "shadow_policy" | "rule";

export interface CandidateDoc {
  /** Location in the route: "shadow_policy", "policy[2]". */
  readonly name: string;
  readonly kind: CandidateKind;
  /** The complete policy for the route, including access keys. */
  readonly policy: PolicyDoc;
}

export interface Candidate extends Pick<CandidateDoc, "name" | "kind"> {
  readonly policy: CompiledPolicy;
}

/** Shadow policies of a route; at least one. */
export interface Shadow {
  readonly candidates: readonly Candidate[];
  /** At least one has a criterion about the client's certificate. */
  readonly needsCertificate: boolean;
}

/** Result of evaluating something that is not enforced: a shadow policy, or a history rule in shadow. */
export interface ShadowResult {
  readonly candidate: { readonly name: string; readonly kind: CandidateKind | "history_rule" };
  readonly outcome: ShadowOutcome;
  /** "none" with the outcome `error`: the effect is unknown. */
  readonly flip: ShadowFlip;
  /** Reasons of the outcome, sorted. */
  readonly reasons: readonly string[];
}

export interface ShadowDecision extends ShadowResult {
  readonly candidate: Candidate;
}

/** Members of a route that form shadow policies. */
export interface ShadowKeys extends AccessKeys {
  readonly policy?: PolicyDoc;
  readonly shadow_policy?: PolicyDoc;
}

/** @returns shadow policies in recording order; [] for a route without any */
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
export function compileShadow(route: ShadowKeys, classes?: ToolClasses): Shadow | undefined {
  const candidates = candidatesOf(route).map((doc) => ({
    ...doc,
    policy: bindToolClasses(compilePolicy(doc.policy), classes),
  }));
  if (candidates.length === 0) return undefined;
  return { candidates, needsCertificate: candidates.some(({ policy }) => policy.needsCertificate) };
}

/** @param enforced decision of the route's policy on the same facts */
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

/** Outcomes of a decision, from least to most access. */
export const OUTCOMES = ["deny", "approve", "allow"] as const;

/** Position in `OUTCOMES`. */
export function freedom({ allowed, approval }: Decision): 0 | 1 | 2 {
  if (allowed) return 2;
  return approval === undefined ? 0 : 1;
}
