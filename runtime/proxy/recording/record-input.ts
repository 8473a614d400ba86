/** The content of a check's record. */
import type { RecordInput } from "../../audit/record.ts";
import type { Redactor } from "../../audit/redaction/redactor.ts";
import { REFUSED_TEXT, type ReplayWriter } from "../../audit/replay/write-facts.ts";
import { recordArgumentsOf } from "../../features/mcp/record-arguments.ts";
import type { Principal } from "../../identity/principal.ts";
import type { Limited } from "../../limits/rate-limits.ts";
import { toolArguments, type McpMessage } from "../../mcp/message.ts";
import type { Decision, Facts } from "../../policy/facts.ts";
import { findDecidingRule } from "../../policy/recorded/deciding-rule.ts";
import type { ShadowResult } from "../../policy/shadow.ts";
import type { Clock } from "../../shared/clock.ts";
import { calledToolState, type ToolLockDeps } from "../lists/tool-lock.ts";
import type { RequestContext } from "../request-context.ts";
import { httpFacts, NO_MESSAGE } from "../request-facts.ts";

export interface RecordDeps extends Pick<ToolLockDeps, "toolLocks"> {
  /** Writes the field `replay`; absent: records do not have it. */
  readonly replay?: ReplayWriter;
  /** Redacts arguments in records; absent: all are recorded as they are. */
  readonly redactor?: Pick<Redactor, "lineOf">;
  readonly clock: Clock;
}

export interface Check {
  readonly decision: Decision;
  /** Absent: no message was read, or it does not matter. */
  readonly message?: McpMessage | undefined;
  /** Facts that a policy evaluated, or would have; absent: no policy could change the decision. */
  readonly policyFacts?: Facts | undefined;
  readonly shadow?: readonly ShadowResult[] | undefined;
  readonly limited?: Limited | undefined;
}

/** @param rule the deciding rule, if the log line contains it */
export function recordInput(
  deps: RecordDeps,
  context: RequestContext,
  check: Check,
  rule: string | undefined,
): RecordInput {
  const { decision, message, policyFacts, shadow, limited } = check;
  const { replay } = deps;
  const { exchange, snapshot, prepared, principal } = context;
  return {
    timeMs: deps.clock.now(),
    decision,
    shadow,
    limited: limited && { limit: limited.limit.name, retryAfterMs: limited.retryAfterMs },
    toolLock: message && calledToolState(deps, context),
    guardrail: context.guardrail?.note,
    federated: context.federated,
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
    replay: replay && (() => (policyFacts ? replayText(replay, context, policyFacts) : REFUSED_TEXT)),
    approval: approvalNote(context),
    rule,
  };
}

/** Undefined if no rule was evaluated. */
export function ruleOf({ prepared }: RequestContext, { policyFacts, decision }: Check): string | undefined {
  return policyFacts === undefined ? undefined : findDecidingRule(prepared.route.policy, policyFacts, decision);
}

function replayText(writer: ReplayWriter, { exchange, message, prepared }: RequestContext, facts: Facts): string {
  const { clientCertificate: certificate } = exchange;
  const given = (): string | undefined => (message ? toolArguments(message) : undefined);
  return writer.write({ facts, certificate, toolArguments: given, declared: recordArgumentsOf(prepared.route) });
}

function approvalNote({ approval }: RequestContext): RecordInput["approval"] {
  if (approval === undefined) return undefined;
  const { state } = approval;
  const id = "id" in state ? state.id : undefined;
  return { state: state.state, id, by: "by" in state ? state.by : undefined };
}

/** The origin of a grant: its user's consent, or only an issuer's assertion. */
function authMethod({ kind, assertedBy, user }: Principal): string {
  if (user.actor !== undefined) return "agent-run";
  return kind === "grant" && assertedBy !== undefined ? "id-jag" : kind;
}
