/**
 * Policies as Terraform has them: JSON in one string attribute.
 *
 * Two texts are the same policy when they decide alike; formatting and shorthands are no difference.
 */
import { canonicalJson } from "../config/slice.ts";
import { readSource } from "../config/source.ts";
import { canonicalPolicy, parsePolicy } from "../policy/parse.ts";
import type { Value } from "./value.ts";

/** The user's own text of a policy as long as it says the same, so that formatting is no difference. */
export function policyText(policy: unknown, prior: Value): Value {
  if (policy === undefined || policy === null) return null;
  return typeof prior === "string" && samePolicy(readPolicy(prior), policy) ? prior : JSON.stringify(policy);
}

/** True when both decide alike. Policies that do not parse are compared as data. */
export function samePolicy(left: unknown, right: unknown): boolean {
  return comparablePolicy(left) === comparablePolicy(right);
}

/** The policy in a Terraform string; undefined when it is no JSON. */
export function readPolicy(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function comparablePolicy(policy: unknown): string {
  const parsed = parsePolicy(policy);
  return canonicalJson(parsed.ok ? canonicalPolicy(parsed.policy) : policy);
}

/** What keeps the text from being one policy to every reader. */
export function policyFault(text: string): string | undefined {
  if (readPolicy(text) === undefined) return "is not JSON; write a policy with jsonencode(…)";
  // JSON.parse keeps the last of repeated keys and drops rules that a reviewer may have read.
  return readSource("policy", `{"policy":${text}}`).problems[0]?.message;
}
