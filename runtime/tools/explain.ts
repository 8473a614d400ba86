/**
 * `gateway explain`: evaluates one hypothetical request against a configuration, with the proxy's own policy engine.
 */
import { formatProblem, loadSlices, type SliceSource } from "../config/load.ts";
import { explainedRoute } from "../simulation/explain/explained-route.ts";
import {
  explainedText,
  explainRequest as explain,
  type ExplainedVerdict,
} from "../simulation/explain/explain-request.ts";
import { type Question, questionText, readQuestion } from "../simulation/explain/question.ts";
import type { CertificateFacts } from "../policy/facts.ts";

/** Options of the command line. */
export interface ExplainOptions extends Question {
  /** Route key ("owner/name") or name. */
  readonly route: string;
  readonly json?: boolean;
}

/** The exit codes of the command, for scripts. */
export const EXPLAIN_EXIT = { allowed: 0, problem: 1, denied: 3, approval: 4 } as const;

export interface ExplainAnswer {
  readonly text: string;
  /** problem: the configuration is invalid, has no such route, or the question makes no sense. */
  readonly answer: ExplainedVerdict | "problem";
}

/** @param certificate of the client */
export function explainRequest(
  sources: readonly SliceSource[],
  options: ExplainOptions,
  certificate?: CertificateFacts,
): ExplainAnswer {
  const { config, problems } = loadSlices(sources);
  if (!config) return { answer: "problem", text: problems.map(formatProblem).join("\n") };
  const found = config.routes.find(({ key, name }) => key === options.route || name === options.route);
  if (!found) {
    const known = config.routes.map(({ key }) => `"${key}"`).join(", ");
    return refuse(`Cannot explain route "${options.route}": no route has this name, only ${known}`);
  }
  const route = explainedRoute(found);
  const read = readQuestion(options, route, { certificate });
  if (!read.ok) return refuse(`Cannot explain route "${options.route}": ${read.problem}`);
  const mtls = config.boot.downstream_mtls;
  const explained = explain(route, read.facts, {
    mcpEnabled: config.settings.runtime_flags?.mcp === true,
    demandsCertificate: mtls !== undefined && (mtls.enforcement ?? "") !== "policy",
  });
  const question = questionText(options, route.key);
  const { verdict, explanation, candidates, notes } = explained;
  if (options.json !== true) return { answer: verdict, text: explainedText(question, explained) };
  const tried = candidates.map(({ explanation: { rules }, ...candidate }) => ({ ...candidate, rules }));
  const { allowed } = explanation.decision;
  const printed = { route: route.key, question, allowed, notes, ...explanation };
  const whole = { ...printed, ...(tried.length > 0 && { shadow: tried }) };
  return { answer: verdict, text: JSON.stringify(whole, null, 2) };
}

function refuse(text: string): ExplainAnswer {
  return { answer: "problem", text };
}
