/** What was explained, as the page shows it. */
import { formatExplanation, OPERATOR_TEXTS, type Explanation } from "../../policy/explain.ts";
import type { RuleView, TraceView, VerdictView } from "../../pages/console/policy/verdict.ts";
import type { Explained, ExplainedVerdict } from "../../simulation/explain/explain-request.ts";
import { candidateText, explainedText } from "../../simulation/explain/explain-request.ts";
import { showUntrusted, showUntrustedLines } from "../show-untrusted.ts";
import type { AskedInForce } from "./ask-in-force.ts";

/** A trace of everything that a long policy has is no longer read by anybody. */
const MAX_RULES = 100;
const MAX_CRITERIA = 100;
const MAX_TEXT = 20_000;

const VERDICTS: Readonly<Record<ExplainedVerdict, VerdictView["verdict"]>> = {
  allowed: { tone: "good", text: "Allowed" },
  approval: { tone: "warn", text: "Requires approval" },
  denied: { tone: "bad", text: "Denied" },
};

export function inForceView({ question, explained, deniedBy, besides }: AskedInForce, digest: string): VerdictView {
  const view = verdictView("Active configuration", question, explained);
  const own = besides.map(([what, text]) => [what, showUntrusted(text, 1_000)] as const);
  if (deniedBy === undefined) return { ...view, digest, besides: own };
  const text = deniedBy === "block" ? "Denied by a block" : "Denied by the tool lock";
  return { ...view, digest, besides: own, verdict: { tone: "bad", text } };
}

export function verdictView(title: string, question: string, explained: Explained): VerdictView {
  const { verdict, explanation, candidates, notes } = explained;
  return {
    title,
    verdict: VERDICTS[verdict],
    question: showUntrusted(question, 500),
    reasons: reasonsOf(explanation),
    trace: traceView(explanation, explainedText(question, { ...explained, candidates: [] })),
    candidates: candidates.map((each) => ({
      title: showUntrusted(candidateText(each)),
      verdict: each.outcome,
      trace: traceView(each.explanation, formatExplanation(candidateText(each), each.explanation)),
    })),
    besides: [],
    notes: notes.map((note) => showUntrusted(note, 500)),
  };
}

function reasonsOf({ decision }: Explanation): string {
  return (decision.allowed ? decision.allowWhyTrue : decision.allowWhyFalse).join(", ");
}

function traceView({ rules }: Explanation, text: string): TraceView {
  return { rules: rules.slice(0, MAX_RULES).map(ruleView), text: showUntrustedLines(text, MAX_TEXT) };
}

function ruleView({ action, operator, outcome, criteria }: Explanation["rules"][number]): RuleView {
  return {
    title: `${action}, ${OPERATOR_TEXTS[operator]}`,
    outcome,
    criteria: criteria.slice(0, MAX_CRITERIA).map(({ criterion, wanted, actual, outcome: found, reasons }) => ({
      outcome: found,
      asked: showUntrusted(`${criterion} ${JSON.stringify(wanted)}`, 500),
      actual: showUntrusted(actual, 500),
      reasons: reasons.join(", "),
    })),
  };
}
