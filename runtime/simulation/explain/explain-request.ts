/**
 * Decides one hypothetical request as the proxy would: for `gateway explain` and the console's simulator.
 *
 * Pure. Returns plain data, which can be sent between threads.
 */
import { DEVICE_UNAUTHENTICATED } from "../../policy/criteria.ts";
import { planCall } from "../../limits/history/plan.ts";
import { isAmbiguous } from "../../policy/evaluate.ts";
import { explain, type Explanation, formatExplanation } from "../../policy/explain.ts";
import type { Facts } from "../../policy/facts.ts";
import { ARGUMENT_UNKNOWN } from "../../policy/mcp/criteria.ts";
import { decideShadow, type ShadowDecision } from "../../policy/shadow.ts";
import type { ExplainedRoute } from "./explained-route.ts";

/** State of the gateway that affects requests in addition to the policy. */
export interface Circumstances {
  /** `runtime_flags.mcp` */
  readonly mcpEnabled: boolean;
  /** `downstream_mtls` rejects clients without a valid certificate before any policy applies. */
  readonly demandsCertificate: boolean;
}

/** approval: allowed after an approval. */
export type ExplainedVerdict = "allowed" | "approval" | "denied";

/** Result of a shadow policy of the route. */
export interface TriedCandidate extends Omit<ShadowDecision, "candidate"> {
  readonly candidate: string;
  readonly explanation: Explanation;
}

export interface Explained {
  readonly verdict: ExplainedVerdict;
  readonly explanation: Explanation;
  readonly candidates: readonly TriedCandidate[];
  /** Effects on such a request other than the policy's. */
  readonly notes: readonly string[];
}

export function explainRequest(route: ExplainedRoute, facts: Facts, circumstances: Circumstances): Explained {
  const explanation = plainExplanation(explain(route.policy, facts));
  const { decision } = explanation;
  const candidates = route.shadow ? decideShadow(route.shadow, facts, decision) : [];
  return {
    verdict: decision.allowed ? "allowed" : decision.approval ? "approval" : "denied",
    explanation,
    candidates: candidates.map(({ candidate, ...tried }) => ({
      candidate: candidate.name,
      ...tried,
      explanation: plainExplanation(explain(candidate.policy, facts)),
    })),
    notes: [...notesOf(route, facts, explanation, circumstances)],
  };
}

/** Several lines. @param question text of the question, see questionText() */
export function explainedText(question: string, { explanation, candidates, notes }: Explained): string {
  const tried = candidates.map((each) => formatExplanation(candidateText(each), each.explanation));
  return [formatExplanation(question, explanation), ...tried, ...notes.map((note) => `note: ${note}`)].join("\n\n");
}

export function candidateText({ candidate, outcome, flip }: TriedCandidate): string {
  const change = outcome === "error" ? "cannot be evaluated" : flip === "none" ? "no change" : flip;
  return `in shadow, ${candidate} (${change})`;
}

/** Operands may be compiled objects; their printed form is plain data. */
function plainExplanation({ decision, rules }: Explanation): Explanation {
  const plain = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
  const criteriaOf = ({ criteria }: Explanation["rules"][number]): Explanation["rules"][number]["criteria"] =>
    criteria.map((each) => ({ ...each, wanted: plain(each.wanted) }));
  return { decision, rules: rules.map((rule) => ({ ...rule, criteria: criteriaOf(rule) })) };
}

function* notesOf(
  route: ExplainedRoute,
  facts: Facts,
  { decision }: Explanation,
  { mcpEnabled, demandsCertificate }: Circumstances,
): Iterable<string> {
  const { allowWhyFalse } = decision;
  if (route.isMcp && !mcpEnabled) yield "MCP is off (runtime_flags.mcp), so the gateway answers 503";
  if (route.isMcpServer && facts.user === undefined)
    yield "an MCP server route responds with 401 to all requests without a token, whatever its policy says";
  if (route.isMcpServer && facts.http.isCorsPreflight === true)
    yield "preflight requests of MCP server routes are answered by the gateway itself";
  if (!route.isMcpServer && allowWhyFalse.includes(DEVICE_UNAUTHENTICATED))
    yield "a browser is redirected to verify a registered device; API clients get 450";
  if (allowWhyFalse.includes(ARGUMENT_UNKNOWN) && facts.mcp?.arguments === undefined)
    yield "no arguments were given (--arguments), so rules on arguments are unknown";
  if (route.history && (decision.allowed || decision.approval)) {
    const { id, actor } = facts.user ?? {};
    const plan = planCall(route.history, facts, { user: id, grant: undefined, client: undefined, run: actor?.run });
    for (const { rule } of plan?.restrictions ?? [])
      yield `history rule "${rule.name}"${rule.isShadow ? " (in shadow)" : ""} applies: ${rule.words}`;
  }
  if (route.hasGuardrail && facts.mcp?.method === "tools/call" && (decision.allowed || decision.approval))
    yield "the guardrail of the route is not asked here; it can deny the call, or change its arguments, which are then decided again";
  if (isAmbiguous(decision))
    yield `the response is 400: servers that ignore path parameters read the path as ${(facts.http.otherPaths ?? []).map((path) => `"${path}"`).join(" or ")}, which the policy decides differently`;
  if (demandsCertificate && facts.http.certificate?.isValid !== true)
    yield "downstream_mtls rejects clients without a valid certificate before the policy is evaluated";
}
