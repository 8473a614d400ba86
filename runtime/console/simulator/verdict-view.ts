/** An explanation as the page shows it. */
import { formatExplanation, type Explanation, type RuleTrace } from "../../policy/explain.ts";
import type { TraceView, VerdictView } from "../../pages/console/policy/verdict.ts";
import type { Explained, ExplainedVerdict } from "../../simulation/explain/explain-request.ts";
import { candidateText, explainedText } from "../../simulation/explain/explain-request.ts";
import { metWords, ruleViews } from "../decisions/rule-views.ts";
import { showUntrusted, showUntrustedLines } from "../show-untrusted.ts";
import type { AskedInForce } from "./ask-in-force.ts";

const MAX_TEXT = 20_000;
const MAX_WHY = 600;

const VERDICTS: Readonly<Record<ExplainedVerdict, VerdictView["verdict"]>> = {
  allowed: { tone: "good", icon: "allowed", text: "Allowed" },
  approval: { tone: "warn", icon: "clock", text: "Requires approval" },
  denied: { tone: "bad", icon: "blocks", text: "Denied" },
};

export function inForceView({ question, explained, deniedBy, besides }: AskedInForce, digest: string): VerdictView {
  const view = verdictView("Active configuration", question, explained);
  const own = besides.map(([what, text]) => [what, showUntrusted(text, 1_000)] as const);
  if (deniedBy === undefined) return { ...view, digest, besides: own };
  const text = deniedBy === "block" ? "Denied by a block" : "Denied by the tool lock";
  return { ...view, digest, besides: own, why: undefined, verdict: { ...VERDICTS.denied, text } };
}

export function verdictView(title: string, question: string, explained: Explained): VerdictView {
  const { verdict, explanation, candidates, notes } = explained;
  const deciding = decidingOf(explanation);
  return {
    title,
    verdict: VERDICTS[verdict],
    question: showUntrusted(question, 500),
    why: deciding && whyText(explanation, deciding),
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

/** @returns undefined: no allow rule matches. A deny rule that is unknown denies what an allow rule matches. */
function decidingOf({ decision, rules }: Explanation): RuleTrace | undefined {
  const first = (action: RuleTrace["action"], outcome: RuleTrace["outcome"]): RuleTrace | undefined =>
    rules.find((rule) => rule.action === action && rule.outcome === outcome);
  if (decision.denied) return first("deny", "true");
  if (decision.allowed) return first("allow", "true");
  if (decision.approval) return first("approve", "true") ?? first("approve", "unknown");
  return first("allow", "true") && first("deny", "unknown");
}

function whyText({ rules }: Explanation, deciding: RuleTrace): string {
  const { outcome, criteria } = deciding;
  const met = criteria.filter((each) => each.outcome === outcome).map(metWords);
  const words = met.length === 0 ? "" : `: ${met.join(", and ")}${outcome === "unknown" ? " (unknown)" : ""}`;
  return showUntrusted(`Rule ${rules.indexOf(deciding) + 1}${words}`, MAX_WHY);
}

function reasonsOf({ decision }: Explanation): string {
  return (decision.allowed ? decision.allowWhyTrue : decision.allowWhyFalse).join(", ");
}

function traceView(explanation: Explanation, text: string): TraceView {
  const rules = ruleViews(explanation.rules, { deciding: decidingOf(explanation), seesUsers: true });
  return { rules, text: showUntrustedLines(text, MAX_TEXT) };
}
