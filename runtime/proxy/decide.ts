/** One check: policy is asked once, and one record tells of it (D8, D9). */
import { respondAgainLater } from "../http/respond.ts";
import { toolArguments, type McpMessage } from "../mcp/message.ts";
import { blockedDecision, isBlocked } from "../policy/blocks.ts";
import { evaluate, refusedDecision } from "../policy/evaluate.ts";
import type { Decision, Facts, McpFacts } from "../policy/facts.ts";
import { findDecidingRule } from "../policy/recorded/deciding-rule.ts";
import { lockReason } from "../policy/tool-lock.ts";
import { decideShadow, type ShadowDecision } from "../policy/shadow.ts";
import { formatRecord, type RecordInput } from "../audit/record.ts";
import type { Redactor } from "../audit/redaction/redactor.ts";
import { REFUSED_TEXT, type ReplayWriter } from "../audit/replay/write-facts.ts";
import { recordArgumentsOf } from "../features/mcp/record-arguments.ts";
import type { Clock } from "../shared/clock.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { AuthFailureReason, Principal } from "../identity/principal.ts";
import type { Limited } from "../limits/rate-limits.ts";
import type { RefusalReason } from "../mcp/refusals.ts";
import { routeCorsHeaders } from "./cors.ts";
import { type LimitDeps, takeLimits } from "./answers/limit-request.ts";
import { canRecord, type RecordingDeps, refuseUnrecorded } from "./answers/unrecorded.ts";
import type { ProxyMetrics } from "./metrics.ts";
import { followOutcome } from "./outcome.ts";
import type { RequestContext } from "./request-context.ts";
import { calledToolState, lockDenial, type ToolLockDeps } from "./lists/tool-lock.ts";
import { after, type Outcome, type Step } from "./steps.ts";

export interface DecideDeps extends RecordingDeps, Pick<ToolLockDeps, "toolLocks"> {
  /** Of the field `replay`; absent: it is in no record. */
  readonly replay?: ReplayWriter;
  /** Of arguments that are not to stand in records; absent: all stand as they are. */
  readonly redactor?: Pick<Redactor, "lineOf">;
  readonly metrics?: ProxyMetrics;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "size" | "find">;
  readonly clock: Clock;
}

/** Why a request was refused before its policy was asked; stands in the record as allow-why-false. */
export type RefusedBefore =
  | `credential-${AuthFailureReason}`
  | "client-certificate-required"
  | "invalid-client-certificate"
  | "insufficient-scope"
  | "mcp-message-address-unknown"
  | "mcp-path-not-served"
  | "mcp-session-unknown"
  | "mcp-task-list-not-served"
  | "mcp-task-unknown"
  | "origin-not-allowed"
  | "websocket-not-allowed"
  | RefusalReason;

/**
 * Step: asks what is blocked, then the route's policy, then its limits, and writes the record; nothing goes on before it
 * is taken.
 *
 * @param answers to who is not let in, and to who is, and is over a limit
 * @param settle what has become of the approval that nothing but is missing
 */
export function decide(
  deps: DecideDeps & LimitDeps,
  answers: Answers,
  settle?: (context: RequestContext, decision: Decision) => Promise<Decision>,
): Step {
  return (context) => {
    const verdict = decideNow(deps, context);
    const conclude = (decision: Decision, limited?: Limited): Outcome | Promise<Outcome> => {
      const { message, facts } = context;
      if (limited) context.trace?.refused("rate-limited");
      // What is blocked, or not as it was reviewed, no policy lets pass.
      const asked = isBlocked(decision) || lockReason(decision) ? undefined : facts;
      const shadow = shadowOf(deps, context, verdict);
      // Bodies are read and approvals waited for before this.
      if (!canRecord(deps)) return refuseUnrecorded(context);
      const recorded = record(deps, context, { decision, message, asked, shadow, limited });
      if (!decision.allowed) return after(recorded, () => done(answers.denied(context, decision)));
      if (limited) return after(recorded, () => done(answers.limited(context, limited)));
      return recorded === undefined ? "next" : recorded.then(() => "next");
    };
    const goOn = (decision: Decision): Outcome | Promise<Outcome> => {
      // Who is denied, or waits for an approval, uses up nothing.
      if (!decision.allowed || context.prepared.route.rateLimits === undefined) return conclude(decision);
      return after(takeLimits(deps, context), (limited) => conclude(decision, limited));
    };
    const needed = verdict.allowed || verdict.approval ? answers.missingScopes?.(context) : undefined;
    if (needed) {
      context.trace?.refused("insufficient-scope");
      const recorded = record(deps, context, { decision: refusedFor("insufficient-scope"), message: context.message });
      return after(recorded, () => done(answers.askForScopes?.(context, needed)));
    }
    return verdict.approval && settle
      ? settle(context, verdict).then((settled) => goOn(withLock(deps, context, settled)))
      : goOn(verdict);
  };
}

export interface Answers {
  denied(context: RequestContext, decision: Decision): void | Promise<void>;
  limited(context: RequestContext, limited: Limited): void;
  /** Of what policy lets pass, at once or approved: scopes that the operation needs and its token has not all. */
  missingScopes?(context: RequestContext): readonly string[] | undefined;
  askForScopes?(context: RequestContext, needed: readonly string[]): void;
}

/**
 * Records a request that goes no further, whatever its policy would say, then answers it: when the record queue is full,
 * the answer waits for room. Otherwise anybody could fill the memory with refused requests while the disk is slow.
 */
export function refuse(
  deps: DecideDeps,
  context: RequestContext,
  reason: RefusedBefore | Decision,
  answer: () => void | Promise<void>,
): Outcome | Promise<Outcome> {
  const decision = typeof reason === "string" ? refusedFor(reason) : reason;
  context.trace?.refused(decision.allowWhyFalse.join(" "));
  return after(record(deps, context, { decision }), () => done(answer()));
}

/** The same where nobody is signed in, and no route asks for more than its policy: another policy may let nobody in. */
export function refuseAnonymous(
  deps: DecideDeps,
  context: RequestContext,
  reason: RefusedBefore,
  answer: () => void | Promise<void>,
): Outcome | Promise<Outcome> {
  const decision = refusedFor(reason);
  context.trace?.refused(reason);
  const asked = factsOf(undefined, httpFacts(context), undefined);
  return after(record(deps, context, { decision, asked }), () => done(answer()));
}

/** The store or the provider cannot be asked: that is no verdict about the caller (D26). */
export function refuseUnavailable(deps: DecideDeps, context: RequestContext): Outcome | Promise<Outcome> {
  return refuse(deps, context, "credential-unavailable", () =>
    respondAgainLater(
      context.exchange,
      { code: "session.unavailable", message: "The session cannot be checked at the moment, try again shortly" },
      routeCorsHeaders(context.corsOrigin),
    ),
  );
}

function done(answered: void | Promise<void>): Outcome | Promise<Outcome> {
  return after(answered, () => "done");
}

function decideNow(deps: DecideDeps, context: RequestContext): Decision {
  const { prepared, principal, message, trace } = context;
  const { policy, shadow } = prepared.route;
  const facts = factsOf(
    principal,
    httpFacts(context, policy.needsCertificate || shadow?.needsCertificate === true),
    prepared.isMcpServer ? (message?.facts ?? NO_MESSAGE) : undefined,
  );
  context.facts = facts;
  const startMs = trace === undefined ? 0 : performance.now();
  const decision = blockOf(deps, context, facts) ?? withLock(deps, context, evaluate(policy, facts));
  trace?.decided(startMs, decision, facts.mcp);
  return decision;
}

/** Policy first: what it denies is its business, whatever the tool has become. Nobody is asked to approve what is denied here. */
function withLock(deps: DecideDeps, context: RequestContext, decision: Decision): Decision {
  if (context.prepared.toolLock === undefined || (!decision.allowed && !decision.approval)) return decision;
  return lockDenial(deps, context) ?? decision;
}

/** What the route's candidates would have said. Of what no policy would let pass nothing. */
function shadowOf(
  { metrics }: DecideDeps,
  { prepared, facts }: RequestContext,
  decision: Decision,
): readonly ShadowDecision[] | undefined {
  const { shadow } = prepared.route;
  if (shadow === undefined || facts === undefined || isBlocked(decision) || lockReason(decision)) return undefined;
  const decisions = decideShadow(shadow, facts, decision);
  metrics?.shadowDecided(decisions);
  return decisions;
}

/** The one place where a block stops a request, whichever way it came. */
function blockOf({ blocks }: DecideDeps, { prepared, principal }: RequestContext, facts: Facts): Decision | undefined {
  if (blocks === undefined || blocks.size === 0) return undefined;
  const { user, clientId, grantId } = principal ?? {};
  const block = blocks.find({ user, clientId, grantId, routeKey: prepared.route.key, tool: facts.mcp?.tool });
  return block && blockedDecision(block);
}

function httpFacts({ exchange, otherPaths }: RequestContext, withCertificate = false): Facts["http"] {
  const { method, path, host, remoteAddress: ip } = exchange;
  // The Fetch standard: a preflight is OPTIONS with both of these headers.
  const isCorsPreflight =
    method === "OPTIONS" &&
    exchange.header("origin") !== undefined &&
    exchange.header("access-control-request-method") !== undefined;
  const http = isCorsPreflight ? { method, path, host, ip, isCorsPreflight } : { method, path, host, ip };
  const certificate = withCertificate ? exchange.clientCertificate : undefined;
  if (certificate === undefined && otherPaths === undefined) return http;
  return { ...http, ...(certificate && { certificate }), ...(otherPaths && { otherPaths }) };
}

/** One shape for each case, written out: spreading absent members costs more than evaluating the policy. */
function factsOf(principal: Principal | undefined, http: Facts["http"], mcp: McpFacts | undefined): Facts {
  if (principal === undefined) return mcp === undefined ? { http } : { http, mcp };
  const { user, devices } = principal;
  // Only browser sessions have devices, and they do not reach MCP servers.
  if (mcp !== undefined) return { user, http, mcp };
  return devices === undefined ? { user, http } : { user, devices, http };
}

/** What the route's policy would say of somebody now, without a record: nothing may follow from it but a better question. */
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
const NO_MESSAGE: McpFacts = {};

function approvalNote({ approval }: RequestContext): RecordInput["approval"] {
  if (approval === undefined) return undefined;
  const { state } = approval;
  const id = "id" in state ? state.id : undefined;
  return { state: state.state, id, by: "by" in state ? state.by : undefined };
}

/** A grant says which way it was given: its user's consent, or an issuer's assertion alone. */
function authMethod({ kind, assertedBy }: Principal): string {
  return kind === "grant" && assertedBy !== undefined ? "id-jag" : kind;
}

interface Check {
  readonly decision: Decision;
  /** Absent: none was read, or it does not matter. */
  readonly message?: McpMessage | undefined;
  /** What a policy was asked, or would have been; absent: no policy would have changed anything. */
  readonly asked?: Facts | undefined;
  readonly shadow?: readonly ShadowDecision[] | undefined;
  readonly limited?: Limited | undefined;
}

/** @returns a promise when the record queue is full */
function record(deps: DecideDeps, context: RequestContext, check: Check): Promise<void> | undefined {
  const { decision, message, asked, shadow, limited } = check;
  const { replay } = deps;
  const { exchange, snapshot, prepared, principal } = context;
  deps.metrics?.decided(decision);
  const line = formatRecord(snapshot.settings.authorizeLogFields, {
    timeMs: deps.clock.now(),
    decision,
    shadow,
    limited: limited && { limit: limited.limit.name, retryAfterMs: limited.retryAfterMs },
    toolLock: message && calledToolState(deps, context),
    requestId: exchange.id,
    traceId: context.trace?.traceId,
    bundleDigest: snapshot.digest,
    route: prepared.route.key,
    http: context.facts?.http ?? httpFacts(context),
    user: principal?.user,
    sessionId: principal?.sessionId,
    grantId: principal?.grantId,
    clientId: principal?.clientId,
    issuer: principal?.assertedBy?.name ?? principal?.user.issuer?.name,
    issuerRules: principal?.assertedBy?.rules?.map(({ name }) => name),
    authMethod: principal && authMethod(principal),
    mcp: prepared.isMcpServer ? (message?.facts ?? NO_MESSAGE) : undefined,
    toolArguments: message ? () => toolArguments(message) : undefined,
    redact: deps.redactor?.lineOf(recordArgumentsOf(prepared.route)),
    replay: replay && (() => (asked ? replayText(replay, context, asked) : REFUSED_TEXT)),
    approval: approvalNote(context),
    rule: ruleOf(deps, context, check),
  });
  const recorded = deps.records.write(line);
  const { thread } = deps.records;
  if (thread !== undefined) followOutcome(thread, deps.clock, context, decision);
  return recorded;
}

/** With `audit` alone: without it a record is what it was. */
function ruleOf({ records }: DecideDeps, { prepared }: RequestContext, { asked, decision }: Check): string | undefined {
  return asked === undefined || records.thread?.isAudited !== true
    ? undefined
    : findDecidingRule(prepared.route.policy, asked, decision);
}

function replayText(writer: ReplayWriter, { exchange, message, prepared }: RequestContext, facts: Facts): string {
  const { clientCertificate: certificate } = exchange;
  const given = (): string | undefined => (message ? toolArguments(message) : undefined);
  return writer.write({ facts, certificate, toolArguments: given, declared: recordArgumentsOf(prepared.route) });
}
