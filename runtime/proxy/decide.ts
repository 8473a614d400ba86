/** One check: policy is asked once, and one record tells of it (D8, D9). */
import { toolArguments, type McpMessage } from "../mcp/message.ts";
import { blockedDecision } from "../policy/blocks.ts";
import { evaluate, refusedDecision } from "../policy/evaluate.ts";
import type { Decision, Facts, McpFacts } from "../policy/facts.ts";
import { formatRecord } from "../audit/record.ts";
import type { RecordWriter } from "../audit/record-writer.ts";
import type { Clock } from "../shared/clock.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { AuthFailureReason, Principal } from "../identity/principal.ts";
import type { Passage, ProxyMetrics } from "./request-context.ts";

export interface DecideDeps {
  readonly records: RecordWriter;
  readonly metrics?: ProxyMetrics;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "size" | "find">;
  readonly clock: Clock;
}

/** Why a request was refused before its policy was asked; stands in the record as allow-why-false. */
export type RefusedBefore =
  | `credential-${AuthFailureReason}`
  | "origin-not-allowed"
  | "mcp-session-unknown"
  | (string & {});

export interface Checked {
  readonly decision: Decision;
  /** Present when the record queue is full: the request waits for room. */
  readonly recorded: Promise<void> | undefined;
}

/** Asks what is blocked, then the route's policy, and writes the record. */
export function decide(deps: DecideDeps, passage: Passage, message?: McpMessage): Checked {
  const { plan, principal } = passage;
  const facts = factsOf(
    principal,
    httpFacts(passage, plan.route.policy.needsCertificate),
    plan.isMcpServer ? (message?.facts ?? NO_MESSAGE) : undefined,
  );
  passage.facts = facts;
  const { trace } = passage;
  const startMs = trace === undefined ? 0 : performance.now();
  const decision = blockOf(deps, passage, facts) ?? evaluate(plan.route.policy, facts);
  trace?.decided(startMs, decision, facts.mcp);
  return { decision, recorded: record(deps, passage, decision, message) };
}

/** The one place where a block stops a request, whichever way it came. */
function blockOf({ blocks }: DecideDeps, { plan, principal }: Passage, facts: Facts): Decision | undefined {
  if (blocks === undefined || blocks.size === 0) return undefined;
  const { user, clientId, grantId } = principal ?? {};
  const block = blocks.find({ user, clientId, grantId, routeKey: plan.route.key, tool: facts.mcp?.tool });
  return block && blockedDecision(block);
}

function httpFacts({ exchange, otherPath }: Passage, withCertificate = false): Facts["http"] {
  const { method, path, host, remoteAddress: ip } = exchange;
  // The Fetch standard: a preflight is OPTIONS with both of these headers.
  const isCorsPreflight =
    method === "OPTIONS" &&
    exchange.header("origin") !== undefined &&
    exchange.header("access-control-request-method") !== undefined;
  const http = isCorsPreflight ? { method, path, host, ip, isCorsPreflight } : { method, path, host, ip };
  const certificate = withCertificate ? exchange.clientCertificate : undefined;
  if (certificate === undefined && otherPath === undefined) return http;
  return { ...http, ...(certificate && { certificate }), ...(otherPath !== undefined && { otherPath }) };
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
export function foresee(passage: Passage, principal: Principal): Decision {
  const { policy } = passage.plan.route;
  return evaluate(policy, factsOf(principal, httpFacts(passage, policy.needsCertificate), undefined));
}

/**
 * Writes the record of a request that goes no further, whatever its policy would say.
 *
 * @returns a promise when the record queue is full: the answer waits for room. Otherwise anybody could fill the memory
 *   with refused requests while the disk is slow
 */
export function recordRefusal(deps: DecideDeps, passage: Passage, reason: RefusedBefore): Promise<void> | undefined {
  let decision = refused.get(reason);
  if (!decision) refused.set(reason, (decision = refusedDecision(reason)));
  passage.trace?.refused(reason);
  return record(deps, passage, decision, undefined);
}

/** The same for a decision that is made already. */
export function recordDecision(deps: DecideDeps, passage: Passage, decision: Decision): Promise<void> | undefined {
  passage.trace?.refused(decision.allowWhyFalse.join(" "));
  return record(deps, passage, decision, undefined);
}

/** Reasons are ours and few. */
const refused = new Map<string, Decision>();
const NO_MESSAGE: McpFacts = {};

function record(
  deps: DecideDeps,
  passage: Passage,
  decision: Decision,
  message: McpMessage | undefined,
): Promise<void> | undefined {
  const { exchange, snapshot, plan, principal } = passage;
  deps.metrics?.decided(decision);
  const line = formatRecord(snapshot.settings.authorizeLogFields, {
    timeMs: deps.clock.now(),
    decision,
    requestId: exchange.id,
    traceId: passage.trace?.traceId,
    bundleDigest: snapshot.digest,
    route: plan.route.key,
    http: passage.facts?.http ?? httpFacts(passage),
    user: principal?.user,
    sessionId: principal?.sessionId,
    grantId: principal?.grantId,
    clientId: principal?.clientId,
    mcp: plan.isMcpServer ? (message?.facts ?? NO_MESSAGE) : undefined,
    toolArguments: message ? () => toolArguments(message) : undefined,
  });
  return deps.records.write(line);
}
