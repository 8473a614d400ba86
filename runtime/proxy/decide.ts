/** One check: the policy is evaluated once, and one record documents it (D8, D9). */
import { respondAgainLater } from "../http/respond.ts";
import { blockedDecision, isBlocked } from "../policy/blocks.ts";
import { evaluate, refusedDecision } from "../policy/evaluate.ts";
import { formatExtra, formatRecord } from "../audit/record.ts";
import type { RecordWriter } from "../audit/record-writer.ts";
import type { Decision, Facts } from "../policy/facts.ts";
import { guardrailDenial } from "../mcp/guardrail/denial.ts";
import { lockReason } from "../mcp/tool-locks/locked-decision.ts";
import { decideShadow, type ShadowResult } from "../policy/shadow.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { AuthFailureReason, Principal } from "../identity/principal.ts";
import type { Limited } from "../limits/rate-limits.ts";
import type { RefusalReason } from "../mcp/refusals.ts";
import { routeCorsHeaders } from "./cors.ts";
import { takeLimits } from "./answers/limit-request.ts";
import { canRecord, type RecordingDeps, refuseUnrecorded } from "./answers/unrecorded.ts";
import type { RequestContext } from "./request-context.ts";
import { lockDenial } from "./lists/tool-lock.ts";
import type { ProxyMetrics } from "./metrics.ts";
import { followOutcome } from "./recording/outcome.ts";
import { type Check, type RecordDeps, recordInput, ruleOf } from "./recording/record-input.ts";
import { admitByHistory, checkHistory, type HistoryDeps, planHistory, shadowResults } from "./history/check.ts";
import { factsOf, httpFacts, NO_MESSAGE } from "./request-facts.ts";
import { after, type StepOutcome, type Step } from "./steps.ts";

export interface DecideDeps extends RecordingDeps, RecordDeps {
  readonly records: RecordWriter;
  readonly metrics?: ProxyMetrics;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "size" | "find">;
}

/** Reasons for rejecting a request before its policy is evaluated; recorded as allow-why-false. */
export type RefusedBefore =
  | `credential-${AuthFailureReason}`
  | "client-certificate-required"
  | "invalid-client-certificate"
  | "insufficient-scope"
  | "mcp-message-address-unknown"
  | "mcp-path-not-served"
  | "mcp-session-unknown"
  | "mcp-task-list-not-served"
  | "mcp-task-undeclared"
  | "mcp-task-unknown"
  | "origin-not-allowed"
  | "websocket-not-allowed"
  | RefusalReason;

/**
 * Step: checks blocks, then the route's policy, its history rules and its limits, and writes the record. No request continues before its
 * record is accepted.
 *
 * @param answers responses to denied, rate limited and insufficiently scoped requests
 * @param settle resolves to the decision once an otherwise allowed request has its approval state
 */
export function decide(
  deps: DecideDeps & HistoryDeps,
  answers: Answers,
  settle?: (context: RequestContext, decision: Decision) => Promise<Decision>,
): Step {
  return (context) => {
    const verdict = decideNow(deps, context);
    const isOpen = verdict.allowed || verdict.approval !== undefined;
    const history = isOpen ? planHistory(context) : undefined;
    const conclude = (decision: Decision, limited?: Limited): StepOutcome | Promise<StepOutcome> => {
      const { message, facts } = context;
      if (limited) context.trace?.refused("rate-limited");
      // No policy can allow these calls, so the facts are not recorded.
      const policyFacts = isBeyondPolicy(decision) ? undefined : facts;
      const shadow = shadowOf(deps, context, verdict, history && shadowResults(history.shadow, decision.allowed));
      // Checked again: reading the body and waiting for an approval take time.
      if (!canRecord(deps)) return refuseUnrecorded(context);
      const recorded = record(deps, context, { decision, message, policyFacts, shadow, limited });
      if (!decision.allowed) return after(recorded, () => done(answers.denied(context, decision)));
      if (limited) return after(recorded, () => done(answers.limited(context, limited)));
      return recorded === undefined ? "next" : recorded.then(() => "next");
    };
    const goOn = (decision: Decision): StepOutcome | Promise<StepOutcome> => {
      // Denied and pending requests do not count against limits.
      if (!decision.allowed) return conclude(decision);
      if (history !== undefined)
        return admitByHistory(deps, context, history, decision).then((admitted) =>
          conclude(admitted.decision, admitted.limited),
        );
      if (context.prepared.route.rateLimits === undefined) return conclude(decision);
      return after(takeLimits(deps, context), (limited) => conclude(decision, limited));
    };
    const needed = isOpen ? answers.missingScopes?.(context) : undefined;
    if (needed) {
      context.trace?.refused("insufficient-scope");
      const recorded = record(deps, context, {
        decision: refusedFor("insufficient-scope"),
        message: context.message,
      });
      return after(recorded, () => done(answers.askForScopes?.(context, needed)));
    }
    const approved = (decision: Decision): StepOutcome | Promise<StepOutcome> =>
      decision.approval && settle
        ? settle(context, decision).then((settled) => goOn(withLock(deps, context, settled)))
        : goOn(decision);
    return history === undefined
      ? approved(verdict)
      : checkHistory(deps, context, history, verdict).then((decision) => approved(decision));
  };
}

export interface Answers {
  denied(context: RequestContext, decision: Decision): void | Promise<void>;
  limited(context: RequestContext, limited: Limited): void;
  /** For allowed or approved requests: the scopes that the operation needs, if its token lacks any of them. */
  missingScopes?(context: RequestContext): readonly string[] | undefined;
  askForScopes?(context: RequestContext, needed: readonly string[]): void;
}

/**
 * Records a request that is rejected whatever its policy says, then responds. When the record queue is full, the response
 * waits: otherwise any client could fill the memory with rejected requests while the disk is slow.
 */
export function refuse(
  deps: DecideDeps,
  context: RequestContext,
  reason: RefusedBefore | Decision,
  answer: () => void | Promise<void>,
): StepOutcome | Promise<StepOutcome> {
  const decision = typeof reason === "string" ? refusedFor(reason) : reason;
  context.trace?.refused(decision.allowWhyFalse.join(" "));
  return after(record(deps, context, { decision }), () => done(answer()));
}

/**
 * `refuse()` for a caller who is not signed in, on a route that requires a sign-in. Records the facts: another policy may
 * allow it.
 */
export function refuseAnonymous(
  deps: DecideDeps,
  context: RequestContext,
  reason: RefusedBefore,
  answer: () => void | Promise<void>,
): StepOutcome | Promise<StepOutcome> {
  const decision = refusedFor(reason);
  context.trace?.refused(reason);
  const policyFacts = factsOf(undefined, httpFacts(context), undefined);
  return after(record(deps, context, { decision, policyFacts }), () => done(answer()));
}

/** The store or the provider is unavailable: that is not a verdict about the caller (D26). */
export function refuseUnavailable(deps: DecideDeps, context: RequestContext): StepOutcome | Promise<StepOutcome> {
  return refuse(deps, context, "credential-unavailable", () =>
    respondAgainLater(
      context.exchange,
      { code: "session.unavailable", message: "The session cannot be checked at the moment, try again shortly" },
      routeCorsHeaders(context.corsOrigin),
    ),
  );
}

function done(answered: void | Promise<void>): StepOutcome | Promise<StepOutcome> {
  return after(answered, () => "done");
}

function decideNow(deps: DecideDeps, context: RequestContext): Decision {
  const { trace } = context;
  const facts = currentFacts(context);
  context.facts = facts;
  const startMs = trace === undefined ? 0 : performance.now();
  const decision = decideFacts(deps, context, facts);
  trace?.decided(startMs, decision, facts.mcp);
  return decision;
}

function currentFacts(context: RequestContext): Facts {
  const { prepared, principal, message } = context;
  const { policy, shadow } = prepared.route;
  return factsOf(
    principal,
    httpFacts(context, policy.needsCertificate || shadow?.needsCertificate === true),
    prepared.isMcpServer ? (message?.facts ?? NO_MESSAGE) : undefined,
  );
}

function decideFacts(deps: DecideDeps, context: RequestContext, facts: Facts): Decision {
  return blockOf(deps, context, facts) ?? withLock(deps, context, evaluate(context.prepared.route.policy, facts));
}

/** Whether the message could continue now, if only after an approval. Nothing is recorded. */
export function mayContinue(deps: DecideDeps, context: RequestContext): boolean {
  const { allowed, approval } = decideFacts(deps, context, currentFacts(context));
  return allowed || approval !== undefined;
}

/**
 * The policy comes first: its denials do not depend on the tool's state, nor on a guardrail. A call denied here never asks for
 * approval.
 */
function withLock(deps: DecideDeps, context: RequestContext, decision: Decision): Decision {
  if (!decision.allowed && !decision.approval) return decision;
  const locked = context.prepared.toolLock && lockDenial(deps, context);
  return locked ?? context.guardrail?.denial ?? decision;
}

/** The decision is none of the policy, and no other policy could allow the call. */
function isBeyondPolicy(decision: Decision): boolean {
  return isBlocked(decision) || (lockReason(decision) ?? guardrailDenial(decision)) !== undefined;
}

/** Results of the route's shadow policies and rules. None for a request that no policy could allow. */
function shadowOf(
  { metrics }: DecideDeps,
  { prepared, facts }: RequestContext,
  decision: Decision,
  ofHistory: readonly ShadowResult[] = [],
): readonly ShadowResult[] | undefined {
  const { shadow } = prepared.route;
  if (facts === undefined || isBeyondPolicy(decision)) return undefined;
  if (shadow === undefined && ofHistory.length === 0) return undefined;
  const decisions = [...(shadow ? decideShadow(shadow, facts, decision) : []), ...ofHistory];
  metrics?.shadowDecided(decisions);
  return decisions;
}

/** The only place where a block stops a request. */
function blockOf({ blocks }: DecideDeps, { prepared, principal }: RequestContext, facts: Facts): Decision | undefined {
  if (blocks === undefined || blocks.size === 0) return undefined;
  const { user, clientId, grantId } = principal ?? {};
  const block = blocks.find({ user, clientId, grantId, routeKey: prepared.route.key, tool: facts.mcp?.tool });
  return block && blockedDecision(block);
}

/** The policy's decision for a caller, without a record: use it only to choose a better response. */
export function foresee(context: RequestContext, principal: Principal): Decision {
  const { policy } = context.prepared.route;
  return evaluate(policy, factsOf(principal, httpFacts(context, policy.needsCertificate), undefined));
}

function refusedFor(reason: RefusedBefore): Decision {
  let decision = refused.get(reason);
  if (!decision) refused.set(reason, (decision = refusedDecision(reason)));
  return decision;
}

const refused = new Map<RefusedBefore, Decision>();

/** @returns a promise when the record queue is full */
function record(deps: DecideDeps, context: RequestContext, check: Check): Promise<void> | undefined {
  const { records, metrics, clock } = deps;
  const { thread } = records;
  const fields = context.snapshot.settings.authorizeLogFields;
  metrics?.decided(check.decision, context.prepared.route, check.limited !== undefined);
  if (thread === undefined) return records.write(formatRecord(fields, recordInput(deps, context, check, undefined)));
  const rule = ruleOf(context, check);
  const input = recordInput(deps, context, check, thread.isAudited ? rule : undefined);
  const extra = thread.wantsExtra ? formatExtra(fields, input, thread.isAudited ? undefined : rule) : undefined;
  const recorded = records.write(formatRecord(fields, input), extra);
  followOutcome(thread, clock, context, check.decision);
  return recorded;
}
