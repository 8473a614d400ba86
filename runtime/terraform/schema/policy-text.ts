/**
 * Policies in Terraform: JSON in one string attribute.
 *
 * Two texts are the same policy when they decide alike, whatever their formatting and shorthands.
 */
import { canonicalJson } from "../../shared/canonical-json.ts";
import { formatPath } from "../../settings/problem.ts";
import { readSource } from "../../settings/source.ts";
import { canonicalPolicy, parsePolicy } from "../../policy/parse.ts";
import type { Value } from "../protocol/value.ts";

/** The user's own text of a policy as long as its meaning is the same, so that formatting is not a difference. */
export function policyText(policy: unknown, prior: Value): Value {
  if (policy === undefined || policy === null) return null;
  return typeof prior === "string" && samePolicy(policyOf(prior), policy) ? prior : JSON.stringify(policy);
}

/** True when both texts decide alike. Invalid ones are compared as data. */
export function samePolicyText(left: string, right: string): boolean {
  return left === right || samePolicy(policyOf(left), policyOf(right));
}

function samePolicy(left: unknown, right: unknown): boolean {
  return comparablePolicy(left) === comparablePolicy(right);
}

function comparablePolicy(policy: unknown): string {
  const parsed = parsePolicy(policy);
  return canonicalJson(parsed.ok ? canonicalPolicy(parsed.policy) : policy);
}

type PolicyReading = { readonly ok: true; readonly policy: unknown } | { readonly ok: false; readonly problem: string };

/** The policy in a Terraform string, or the reason why the text is not an unambiguous policy. */
export function readPolicy(text: string): PolicyReading {
  let reading = readings.get(text);
  if (!reading) {
    reading = readPolicyText(text);
    if (readings.size >= MOST_READINGS) readings.clear();
    readings.set(text, reading);
  }
  return reading;
}

/** Many routes have the same policy, and each is read several times in a plan. */
const readings = new Map<string, PolicyReading>();
const MOST_READINGS = 10_000;

function readPolicyText(text: string): PolicyReading {
  if (parseJson(text) === undefined) return { ok: false, problem: "is not JSON; write a policy with jsonencode(…)" };
  // JSON.parse keeps the last of repeated keys and drops rules that a reviewer may have read.
  const { value, problems } = readSource("policy", `{"policy":${text}}`);
  const [problem] = problems;
  if (!problem) return { ok: true, policy: (value as { policy: unknown }).policy };
  const place = formatPath(problem.path).slice("policy".length);
  return { ok: false, problem: place === "" ? problem.message : `at ${place} ${problem.message}` };
}

/** Undefined when it is not JSON. */
function policyOf(text: string): unknown {
  const reading = readPolicy(text);
  return reading.ok ? reading.policy : parseJson(text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
