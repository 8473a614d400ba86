/** One request on its way through the proxy: results of each step for the next ones. */
import type { Snapshot } from "../config/snapshot.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { Upstream } from "../features/connection/compiled.ts";
import type { Exchange } from "../http/exchange.ts";
import type { ProviderTokens } from "../identity/interfaces.ts";
import type { AuthFailureReason, AuthResult, Principal } from "../identity/principal.ts";
import type { Inspection } from "../mcp/inspect.ts";
import type { CallPlan } from "../limits/history/plan.ts";
import type { McpMessage } from "../mcp/message.ts";
import type { GuardrailNote, GuardrailVerdict } from "../audit/guardrail-note.ts";
import type { MemberSessions } from "../mcp/federation/sessions.ts";
import type { Operation } from "../mcp/operations/operation.ts";
import type { OpenedMessage } from "../mcp/tasks/task-requests.ts";
import type { Decision, Facts, ApprovalNeed } from "../policy/facts.ts";
import type { RequestTrace } from "../tracing/tracing.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import type { InternalToken } from "./upstream-tokens.ts";
import type { ApprovalState } from "../approvals/interfaces.ts";

/** A guardrail's verdict about a call. */
export interface CallGuardrail {
  readonly note: GuardrailNote;
  /** Present if the call must not continue. */
  readonly denial?: Decision;
}

/** Of a request to a member of a federated route. */
export interface FederatedOrigin {
  /** Key of that route. */
  readonly route: string;
  /** Name or URI in the client's message; "" for none. */
  readonly name: string;
  /** The message to the member, if it was written from the client's, which was read. */
  readonly message: McpMessage | undefined;
}

export interface Aborting {
  abort(): void;
}

export interface RequestContext {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly prepared: PreparedRoute;
  /** Other readings of the path, by servers that cut off parameters; undefined if there are none. */
  readonly otherPaths: readonly string[] | undefined;
  /** Undefined on routes that let anonymous requests pass. */
  principal: Principal | undefined;
  /** Ordinary routes: the reason why no caller is known. */
  authFailure: AuthFailureReason | undefined;
  /** Set when the policy was evaluated. */
  facts: Facts | undefined;
  providerTokens: ProviderTokens;
  /** Set on the way upstream if the route rewrites paths; validated. */
  rewrittenPath: string | undefined;
  /** MCP server routes: path of the request below `to`, see mcp-paths.ts. */
  mcpPath: string | undefined;
  /**
   * MCP server routes: target (path with query) of a request to a sealed address. It must go nowhere else: other upstreams do
   * not know the session.
   */
  messageAddress: { readonly upstream: Upstream; readonly path: string } | undefined;
  /** MCP server routes: the parsed body, or the reason for its rejection. */
  inspection: Inspection | undefined;
  /** MCP server routes: the parsed message; only its bytes may go upstream as a body. */
  message: McpMessage | undefined;
  /** MCP server routes: counted and traced data of the message and its response. */
  operation: Operation | undefined;
  /** MCP server routes: the call needs an approval. */
  approval: CallApproval | undefined;
  /**
   * MCP server routes: an earlier response to the call required input for this approval; dismissed: its user closed the
   * prompt.
   */
  approvalRetry: { readonly id: string; readonly isDismissed: boolean } | undefined;
  /** MCP server routes: the guardrail's verdict about the call. */
  guardrail: CallGuardrail | undefined;
  /** MCP server routes: what history rules remember of the permitted call. */
  history: CallPlan | undefined;
  /** MCP server routes: takes the call out of the counts of history rules, if it goes no further. */
  uncount: (() => void) | undefined;
  /** MCP server routes: the tasks that the message names, opened, and the message with their upstream IDs. */
  tasks: OpenedMessage | undefined;
  /** MCP server routes: the upstream's own session ID, opened. */
  upstreamSession: string | undefined;
  /** Federated routes: the sessions of the members, opened. */
  memberSessions: MemberSessions | undefined;
  /** Federated routes: open requests to members. */
  memberRequests: Set<Aborting> | undefined;
  /** Requests to a member of a federated route. */
  federated: FederatedOrigin | undefined;
  /** MCP server routes, streams of GET: see `EndedStream`. */
  lastEventId: string | undefined;
  /** MCP server routes: the user's token for the upstream. */
  internalToken: InternalToken | undefined;
  /** The client accepts trailers, which is forwarded to the upstream; never on MCP server routes. */
  takesTrailers: boolean;
  /** The request came through a gateway before: its hop count, incremented. */
  hopCount: string | undefined;
  /** MCP server routes: Origin of a page that may call; responses carry CORS headers for it. */
  corsOrigin: string | undefined;
  /** With `audit`: data about the request's end. */
  outcome: RequestOutcome | undefined;
  /** By `performance.now()`. */
  readonly beganMs: number;
  /** Called when the request is over, possibly twice. */
  onEnd: (() => void) | undefined;
  /** Present with `tracing`. */
  readonly trace: RequestTrace | undefined;
}

/** Collected for the record of the request's outcome; present with `audit`. */
export interface RequestOutcome {
  /** Sequence number of the decision's record; the last one if there are several. */
  seq: number;
  allowed: boolean;
  /** The response is an upstream's. */
  isUpstreams: boolean;
  failure: UpstreamFailure | undefined;
  /** Calls that a history rule can require: whether the call succeeded. */
  hasSucceeded?: boolean;
  lists: { hidden: number; shown: number } | undefined;
  /** The guardrail's verdict about the result: the last one that is not "pass", if there are several. */
  guardrail?: GuardrailVerdict;
}

const NO_PROVIDER_TOKENS: ProviderTokens = { accessToken: "", idToken: "" };

export function createRequestContext(
  exchange: Exchange,
  snapshot: Snapshot,
  prepared: PreparedRoute,
  trace: RequestTrace | undefined,
  otherPaths: readonly string[] | undefined,
): RequestContext {
  return {
    exchange,
    snapshot,
    prepared,
    otherPaths,
    principal: undefined,
    authFailure: undefined,
    facts: undefined,
    providerTokens: NO_PROVIDER_TOKENS,
    rewrittenPath: undefined,
    mcpPath: undefined,
    messageAddress: undefined,
    inspection: undefined,
    message: undefined,
    operation: undefined,
    approval: undefined,
    approvalRetry: undefined,
    guardrail: undefined,
    history: undefined,
    uncount: undefined,
    tasks: undefined,
    upstreamSession: undefined,
    memberSessions: undefined,
    memberRequests: undefined,
    federated: undefined,
    lastEventId: undefined,
    takesTrailers: false,
    internalToken: undefined,
    hopCount: undefined,
    corsOrigin: undefined,
    outcome: undefined,
    beganMs: performance.now(),
    onEnd: undefined,
    trace,
  };
}

/** Sets the caller, or the reason why no caller is known; later results replace earlier ones. */
export function setCaller(context: RequestContext, result: AuthResult): void {
  context.principal = result.ok ? result.principal : undefined;
  context.authFailure = result.ok ? undefined : result.reason;
}

/** The approval that a call needs, and its state. */
interface CallApproval {
  readonly need: ApprovalNeed;
  readonly state: ApprovalState;
}
