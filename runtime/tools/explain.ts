/**
 * `gateway explain`: evaluates one hypothetical request against a configuration, with the proxy's own policy engine.
 */
import { problemsText } from "../config/surfaces/documentation.ts";
import { loadSlices, type CheckedConfig, type CheckedRoute, type SliceSource } from "../config/load.ts";
import { explainedRoute, type ExplainedRoute } from "../simulation/explain/explained-route.ts";
import {
  explainedText,
  explainRequest as explain,
  type ExplainedVerdict,
} from "../simulation/explain/explain-request.ts";
import { memberQuestion } from "../simulation/explain/federated.ts";
import { type Question, questionText, readQuestion } from "../simulation/explain/question.ts";
import { withFileClasses } from "./file-classes.ts";
import type { CertificateFacts, Decision, Facts } from "../policy/facts.ts";

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
  /** For history rules: the facts and policy's decision, of the member for a federated route. */
  readonly call?: Pick<ExplainedPart, "key" | "facts" | "decision">;
}

/** @param certificate of the client */
export function explainRequest(
  sources: readonly SliceSource[],
  options: ExplainOptions,
  certificate?: CertificateFacts,
): ExplainAnswer {
  const loaded = loadSlices(sources);
  if (!loaded.config) return { answer: "problem", text: problemsText(loaded.problems) };
  const { config, unknown } = withFileClasses(loaded.config);
  const found = config.routes.find(({ key, name }) => key === options.route || name === options.route);
  if (!found) {
    const known = config.routes.map(({ key }) => `"${key}"`).join(", ");
    return refuse(`Cannot explain route "${options.route}": no route has this name, only ${known}`);
  }
  const own = explainRoute(config, found, options, options.route, certificate);
  if (typeof own === "string") return refuse(own);
  const second = own.federated && memberQuestion(options, own.federated);
  const target = typeof second === "object" ? config.routes.find(({ key }) => key === second.key) : undefined;
  const member =
    typeof second === "object" && target
      ? explainRoute(config, target, second.question, target.key, certificate)
      : undefined;
  if (typeof member === "string") return refuse(member);
  const note = [
    ...(typeof second === "string" ? [second] : []),
    ...[found.key, target?.key].flatMap((key) => unknown.get(key ?? "") ?? []),
  ];
  if (options.json === true) {
    const whole = { ...own.printed, notes: [...own.printed.notes, ...note], ...(member && { member: member.printed }) };
    return {
      answer: stricter(own.verdict, member?.verdict),
      text: JSON.stringify(whole, null, 2),
      call: member ?? own,
    };
  }
  const text = [
    own.text,
    ...(member ? [`and the member's own policy:\n\n${member.text}`] : []),
    ...note.map((each) => `note: ${each}`),
  ];
  return { answer: stricter(own.verdict, member?.verdict), text: text.join("\n\n"), call: member ?? own };
}

export interface ExplainedPart extends Pick<ExplainedRoute, "federated"> {
  readonly verdict: ExplainedVerdict;
  /** Key of the route. */
  readonly key: string;
  readonly facts: Facts;
  readonly decision: Decision;
  readonly text: string;
  /** As JSON. */
  readonly printed: Readonly<Record<string, unknown>> & { readonly notes: readonly string[] };
}

/** @returns a text: why there is none */
function explainRoute(
  { boot, settings }: CheckedConfig,
  checked: CheckedRoute,
  question: Question,
  name: string,
  certificate: CertificateFacts | undefined,
): ExplainedPart | string {
  const route = explainedRoute(checked);
  const read = readQuestion(question, route, { certificate });
  if (!read.ok) return `Cannot explain route "${name}": ${read.problem}`;
  const mtls = boot.downstream_mtls;
  const explained = explain(route, read.facts, {
    mcpEnabled: settings.runtime_flags?.mcp === true,
    demandsCertificate: mtls !== undefined && (mtls.enforcement ?? "") !== "policy",
  });
  const asked = questionText(question, route.key);
  const { verdict, explanation, candidates, notes } = explained;
  const tried = candidates.map(({ explanation: { rules }, ...candidate }) => ({ ...candidate, rules }));
  const { allowed } = explanation.decision;
  const printed = { route: route.key, question: asked, allowed, notes, ...explanation };
  return {
    federated: route.federated,
    verdict,
    key: route.key,
    facts: read.facts,
    decision: explanation.decision,
    text: explainedText(asked, explained),
    printed: { ...printed, ...(tried.length > 0 && { shadow: tried }) },
  };
}

function stricter(one: ExplainedVerdict, other: ExplainedVerdict = "allowed"): ExplainedVerdict {
  return one === "denied" || other === "allowed" ? one : other;
}

function refuse(text: string): ExplainAnswer {
  return { answer: "problem", text };
}
