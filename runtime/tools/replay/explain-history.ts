/** `gateway explain --history`: the same answer after the calls in files of records. */
import { loadSlices, type SliceSource } from "../../config/load.ts";
import type { CertificateFacts } from "../../policy/facts.ts";
import { HISTORY_REASONS } from "../../policy/words/history-reasons.ts";
import { type ExplainAnswer, explainRequest, type ExplainOptions } from "../explain.ts";
import { withFileClasses } from "../file-classes.ts";
import { findKey, type ReplayDeps } from "./command.ts";
import { newConfiguration, replay } from "./replay.ts";

export interface HistoryOptions extends ExplainOptions {
  /** Files of records. */
  readonly history: readonly string[];
  /** See `ReplayOptions`. */
  readonly key?: string;
}

/** @throws GatewayError as `replay` */
export async function explainWithHistory(
  sources: readonly SliceSource[],
  options: HistoryOptions,
  { env }: Pick<ReplayDeps, "env">,
  certificate?: CertificateFacts,
): Promise<ExplainAnswer> {
  const answer = explainRequest(sources, options, certificate);
  const loaded = loadSlices(sources).config;
  const { call } = answer;
  if (!loaded || call === undefined || answer.answer === "problem" || answer.answer === "denied") return answer;
  const { config } = withFileClasses(loaded);
  const { key } = await findKey(options, config, env);
  const into = newConfiguration(config, key);
  // Values of the call, so that equal ones in the records are recognized.
  into.vocabulary.learnValues(scalarsIn(JSON.parse(options.arguments ?? "{}")));
  const report = await replay({ files: options.history, config, key, into });
  const { host, path } = call.facts.http;
  const found = into.routes.find(host, path, call.key);
  const history = found.ok ? found.route.history : undefined;
  if (!history) return withLines(answer, options, ["the route has no history rules"], answer.answer);
  const lastMs = Date.parse(report.until);
  const { id, actor } = call.facts.user ?? {};
  // Those of a hypothetical call are unknown.
  const caller = { user: id, grant: "", client: "", run: actor?.run };
  const { decision, denials } = await history.decide(Math.max(Date.now(), lastMs), call.facts, caller, call.decision);
  const lines = denials.map(
    ({ rule, reason }) =>
      `history rule "${rule.name}"${rule.isShadow ? " (in shadow)" : ""}: ${HISTORY_REASONS[reason]}`,
  );
  const verdict =
    decision === undefined ? "denied" : decision.allowed ? "allowed" : decision.approval ? "approval" : "denied";
  const known =
    decision === undefined ? ["the records do not have what a history rule needs, so it cannot be decided"] : [];
  const passes = lines.length + known.length === 0 ? ["no history rule denies the call now"] : [];
  return withLines(answer, options, [...lines, ...known, ...passes], verdict);
}

function withLines(
  answer: ExplainAnswer,
  { json, history }: HistoryOptions,
  lines: readonly string[],
  verdict: ExplainAnswer["answer"],
): ExplainAnswer {
  if (json === true) {
    const printed = { ...(JSON.parse(answer.text) as object), history: { verdict, reasons: lines } };
    return { ...answer, answer: verdict, text: JSON.stringify(printed, null, 2) };
  }
  const head = `after the calls in ${history.join(", ")}: ${verdict === "approval" ? "allowed once it is approved" : verdict}`;
  return {
    ...answer,
    answer: verdict,
    text: [answer.text, [head, ...lines.map((line) => `  ${line}`)].join("\n")].join("\n\n"),
  };
}

function scalarsIn(value: unknown): readonly unknown[] {
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(scalarsIn) : [value];
}
