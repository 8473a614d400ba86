/** The reason of a decision in words: the rule that decided, or the reason codes. Unknown codes stay as they are. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { historyCauseWords, readHistoryReason } from "../../policy/words/history-reasons.ts";
import type { PolicyAction } from "../../policy/parse.ts";
import { rulePointers } from "../../policy/recorded/deciding-rule.ts";
import type { OperatorRule } from "../../policy/tree.ts";
import { criterionWords } from "../../policy/words/criterion-words.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { isRecord } from "../../shared/is-record.ts";

const WORDS: Readonly<Record<string, string>> = {
  blocked: "blocked by an administrator",
  "policy-error": "policy evaluation error",
  "http-path-ambiguous": "ambiguous path",
  "user-unauthenticated": "not signed in",
  "device-unauthenticated": "no verified device",
  "insufficient-scope": "the token lacks a scope that the tool needs",
  "tool-changed": "the tool differs from the lock",
  "tool-not-reviewed": "the tool is not in the lock",
  "tool-not-listed": "the tool has not been listed yet",
  "guardrail-denied": "denied by the guardrail",
  "guardrail-failed": "no usable verdict of the guardrail",
  "approval-needed": "approval required",
  "authenticated-user": "signed in",
  accept: "public",
  reject: "always denied",
};

export interface DecidingRule {
  readonly action: PolicyAction;
  /** From 1, in the order in which rules win: deny rules, approve rules, allow rules. */
  readonly number: number;
  readonly rule: OperatorRule;
}

/**
 * By the record, which names the rule also where its facts, such as arguments, are no longer known.
 *
 * @param policy of the configuration that decided
 */
export function decidingRule(policy: CompiledRoute["policy"], { value }: KeptRecord): DecidingRule | undefined {
  const pointer = value["rule"];
  if (typeof pointer !== "string") return undefined;
  const pointers = rulePointers(policy);
  let before = 0;
  for (const action of WINNING) {
    const index = pointers[action].indexOf(pointer);
    const rule = policy[action][index];
    if (rule) return { action, number: before + index + 1, rule };
    before += policy[action].length;
  }
  return undefined;
}

const WINNING: readonly PolicyAction[] = ["deny", "approve", "allow"];

const ACTION_NAMES: Readonly<Record<PolicyAction, string>> = {
  deny: "Deny rule",
  approve: "Approve rule",
  allow: "Allow rule",
};

const JOINTS: Readonly<Record<OperatorRule["operator"], string>> = { and: " and ", or: " or ", not: "; ", nor: "; " };
const LEADS: Readonly<Record<OperatorRule["operator"], string>> = {
  and: "",
  or: "",
  not: "none of: ",
  nor: "not all of: ",
};

/** 'Deny rule 1: the tool is "drop"' */
export function ruleText({ action, number, rule: { operator, leaves } }: DecidingRule): string {
  const shown = leaves.slice(0, MAX_CLAUSES).map(criterionWords);
  const more = leaves.length > MAX_CLAUSES ? [`${leaves.length - MAX_CLAUSES} more`] : [];
  return `${ACTION_NAMES[action]} ${number}: ${LEADS[operator]}${[...shown, ...more].join(JOINTS[operator])}`;
}

const MAX_CLAUSES = 6;

/** @param policy of the configuration that decided, if it is known @returns one line */
export function reasonText(record: KeptRecord, policy?: CompiledRoute["policy"]): string {
  const { outcome, value, result } = record;
  const limit = isRecord(value["limited"]) ? value["limited"]["limit"] : undefined;
  if (outcome === "limited") return typeof limit === "string" ? `Limit "${limit}" exceeded` : "Rate limit exceeded";
  if (outcome === "sign-in") return "Not signed in";
  const rule = policy && decidingRule(policy, record);
  const why = rule ? ruleText(rule) : codesText(record);
  if (outcome !== "error") return why;
  const failure = result?.failure ?? (result && `status ${result.status}`);
  return `Allowed, then failed${failure === undefined ? "" : `: ${failure}`}`;
}

function codesText({ outcome, value }: KeptRecord): string {
  const whyDenied = codes(value["deny-why-true"]);
  const whyNot = codes(value["allow-why-false"]);
  const why = codes(value["allow-why-true"]);
  if (outcome === "waiting") return "Pending approval";
  if (value["allow"] === true) return why.length === 0 ? "Allowed" : inWords(why);
  if (value["deny"] === true && whyDenied.length > 0)
    return `Deny rule matched: ${whyDenied.map(subjectOf).join(", ")}`;
  return whyNot.length === 0 ? "No allow rule matched" : inWords(whyNot);
}

function codes(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}

function inWords(reasons: readonly string[]): string {
  const text = reasons.map(wordsOf).join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** A criterion that matches in a deny rule is a reason against the request. */
function subjectOf(code: string): string {
  const name = code.replace(/-(?:ok|unauthorized)$/, "");
  return SUBJECTS[name] ?? wordsOf(code);
}

function wordsOf(code: string): string {
  const known = WORDS[code];
  if (known !== undefined) return known;
  const history = readHistoryReason(code);
  if (history) return historyCauseWords(history);
  const [, name = "", ending] = /^(.+)-(ok|unauthorized|unknown)$/.exec(code) ?? [];
  const subject = SUBJECTS[name] ?? name.replaceAll("-", " ");
  if (ending === "ok") return `${subject} matched`;
  if (ending === "unauthorized") return `${subject} did not match`;
  if (ending === "unknown") return `${subject} unknown`;
  if (code.startsWith("credential-")) return `credential ${code.slice("credential-".length).replaceAll("-", " ")}`;
  return code.replaceAll("-", " ");
}

const SUBJECTS: Readonly<Record<string, string>> = {
  user: "the user",
  email: "the email address",
  domain: "the domain",
  groups: "the groups",
  claim: "a claim",
  idp: "the identity provider",
  device: "the device",
  "http-method": "the method",
  "http-path": "the path",
  "source-ip": "the address",
  "client-certificate": "the client certificate",
  "mcp-tool": "the tool",
  "mcp-tool-argument": "an argument",
  "mcp-prompt": "the prompt",
  "mcp-resource": "the resource",
  "mcp-method": "the MCP method",
};
