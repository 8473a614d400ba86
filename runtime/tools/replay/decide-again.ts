/** One recorded check under another configuration: the same, another verdict, or undecidable. */
import type { Outcome, RecordedCheck } from "../../audit/replay/read-record.ts";
import type { Vocabulary } from "../../audit/replay/vocabulary.ts";
import {
  decideRecorded,
  omittedValues,
  type RecordedFacts,
  type RecordedPolicy,
} from "../../policy/recorded/decide-recorded.ts";
import { freedom, OUTCOMES } from "../../policy/shadow.ts";
import type { HistoryAnswer, RecordHistory } from "./record-history.ts";
import type { Decision } from "../../policy/facts.ts";
import type { ReplayRoutes } from "./routes.ts";

/**
 * As for shadow policies: "gains" means more access than recorded, "loses" less; the order is denied, with an approval,
 * allowed. refused: rejected before the policy was evaluated, then and now.
 */
export type Change = "same" | "gains" | "loses" | "undecidable" | "refused";

export interface Again {
  readonly change: Change;
  /** Absent: undecidable. */
  readonly outcome?: Outcome;
  /** Key of the route that the request matches now; "" for none. */
  readonly route: string;
  /** Reasons of the new decision, or why it is undecidable. */
  readonly reasons: readonly string[];
  /** Present if history rules decide, too: the policy allows the call, or requires its approval. */
  readonly open?: UndecidedCall;
  /** Changes that shadow policies would make to it. */
  readonly candidates: readonly CandidateAgain[];
}

/** A call that history rules still have to decide, in order. */
export interface UndecidedCall {
  readonly history: RecordHistory;
  readonly facts: RecordedFacts;
  readonly decision: Decision;
}

export interface CandidateAgain {
  readonly name: string;
  readonly change: Exclude<Change, "refused">;
}

export interface NewConfiguration {
  readonly routes: ReplayRoutes;
  readonly vocabulary: Vocabulary;
  readonly asksForCertificates: boolean;
}

/** Reasons why a record is undecidable under any rules. */
export const UNDECIDABLE_REASONS = {
  absent: "recorded without `replay` among `authorize_log_fields`",
  omitted: "its facts were too long to record",
  newer: "recorded by a later version of the gateway",
} as const;
const OTHER_KIND = "its address was that of an MCP server and no longer is, or the reverse";
const NO_FEDERATED = "its federated route has another name or is no longer one";

/** @throws RangeError when the facts cannot be read */
export function decideAgain(
  { outcome, route: recordedRoute, federated, request }: RecordedCheck,
  { routes, vocabulary, asksForCertificates }: NewConfiguration,
): Again {
  if (request === "refused") return { change: "refused", route: recordedRoute, reasons: [], candidates: [] };
  if (typeof request === "string") return undecidable(recordedRoute, [UNDECIDABLE_REASONS[request]]);
  const { host, path } = request;
  const found = federated
    ? routes.findMember(federated, { route: recordedRoute, host, path })
    : routes.find(host, path, recordedRoute);
  if (found === undefined) return undecidable(recordedRoute, [NO_FEDERATED]);
  if (!found.ok) return decided("", outcome, "deny", [found.reason]);
  const { route, otherPaths } = found;
  const { key, needs } = route;
  if (route.isOff) return decided(key, outcome, "deny", ["mcp-off"]);
  if (route.isMcpServer !== (request.mcp !== undefined)) return undecidable(key, [OTHER_KIND]);
  const facts = request.facts({ vocabulary, otherPaths, asksForCertificates, needs });
  const decision = decideRecorded(route.policy, facts);
  const candidates = route.candidates.map(({ name, policy }) => ({
    name,
    change: changeBy(policy, facts, decision),
  }));
  if (!decision) return { ...undecidable(key, whyUntold(route.policy, facts)), candidates };
  const reasons = decision.allowed ? decision.allowWhyTrue : decision.allowWhyFalse;
  const { history } = route;
  const isOpen = history !== undefined && (decision.allowed || decision.approval !== undefined);
  return {
    ...decided(key, outcome, outcomeOf(decision), reasons),
    candidates,
    ...(isOpen && { open: { history, facts, decision } }),
  };
}

/** The same check after its history rules. */
export function afterHistory(
  { outcome }: Pick<RecordedCheck, "outcome">,
  again: Again,
  { decision, denials }: Pick<HistoryAnswer, "decision" | "denials">,
): Again {
  const { route, candidates } = again;
  const shadow = denials
    .filter(({ rule }) => rule.isShadow)
    .map((denial): CandidateAgain => ({
      name: `history_rules.${denial.rule.name}`,
      change: denial.reason === "history-unknown" ? "undecidable" : "loses",
    }));
  const tried = [...candidates, ...shadow];
  if (!decision) return { ...undecidable(route, [HISTORY_UNTOLD]), candidates: tried };
  const reasons = decision.allowed ? decision.allowWhyTrue : decision.allowWhyFalse;
  return { ...decided(route, outcome, outcomeOf(decision), reasons), candidates: tried };
}

/** A task's result is recorded under the ID of the request that got it, so its call has no outcome. */
const HISTORY_UNTOLD =
  "the records do not have outcomes (those of calls that became tasks never are) or arguments that a history rule needs";

function decided(route: string, before: Outcome, outcome: Outcome, reasons: readonly string[]): Again {
  return { change: changeOf(before, outcome), outcome, route, reasons, candidates: [] };
}

function undecidable(route: string, reasons: readonly string[]): Again {
  return { change: "undecidable", route, reasons, candidates: [] };
}

function changeBy(
  policy: RecordedPolicy,
  facts: RecordedFacts,
  enforced: Decision | undefined,
): CandidateAgain["change"] {
  const decision = decideRecorded(policy, facts);
  return decision && enforced ? changeOf(outcomeOf(enforced), outcomeOf(decision)) : "undecidable";
}

function changeOf(before: Outcome, now: Outcome): "same" | "gains" | "loses" {
  if (before === now) return "same";
  return OUTCOMES.indexOf(before) < OUTCOMES.indexOf(now) ? "gains" : "loses";
}

function outcomeOf(decision: Decision): Outcome {
  return OUTCOMES[freedom(decision)];
}

function whyUntold(policy: RecordedPolicy, facts: RecordedFacts): readonly string[] {
  return omittedValues(policy, facts).map((what) => `the record does not have ${what}`);
}
