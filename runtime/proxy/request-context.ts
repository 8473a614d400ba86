/** One request on its way through the proxy: what each step has found out for the next ones. */
import type { Snapshot } from "../config/snapshot.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { Upstream } from "../features/connection/compiled.ts";
import type { Exchange } from "../http/exchange.ts";
import type { ProviderTokens } from "../identity/interfaces.ts";
import type { AuthFailureReason, AuthResult, Principal } from "../identity/principal.ts";
import type { Inspection } from "../mcp/inspect.ts";
import type { McpMessage } from "../mcp/message.ts";
import type { Operation } from "../mcp/operations/operation.ts";
import type { OpenedMessage } from "../mcp/tasks/task-requests.ts";
import type { Facts, ApprovalNeed } from "../policy/facts.ts";
import type { RequestTrace } from "../tracing/tracing.ts";
import type { PreparedRoute } from "./prepared-route.ts";
import type { InternalToken } from "./upstream-tokens.ts";
import type { ApprovalState } from "../approvals/interfaces.ts";

export interface RequestContext {
  readonly exchange: Exchange;
  readonly snapshot: Snapshot;
  readonly prepared: PreparedRoute;
  /** The path as servers read it that cut parameters off; undefined where it has none. */
  readonly otherPaths: readonly string[] | undefined;
  /** Undefined on routes that let anonymous requests pass. */
  principal: Principal | undefined;
  /** Ordinary routes: why nobody is known. */
  authFailure: AuthFailureReason | undefined;
  /** Set when the policy was asked. */
  facts: Facts | undefined;
  providerTokens: ProviderTokens;
  /** Set on the way upstream where the route rewrites paths; validated. */
  rewrittenPath: string | undefined;
  /** MCP server routes: where below `to` the request goes, see mcp-paths.ts. */
  mcpPath: string | undefined;
  /**
   * MCP server routes: the request came to a sealed address; it goes there (path with query) and nowhere else: other
   * upstreams know nothing of the session.
   */
  messageAddress: { readonly upstream: Upstream; readonly path: string } | undefined;
  /** MCP server routes: what was read of the body, or why it is refused. */
  inspection: Inspection | undefined;
  /** MCP server routes: the message that was understood; its bytes are the only body that may go upstream there. */
  message: McpMessage | undefined;
  /** MCP server routes: what of the message and its answer is counted and traced. */
  operation: Operation | undefined;
  /** MCP server routes: the call needs an approval. */
  approval: CallApproval | undefined;
  /** MCP server routes: the call was told before that input is required for this approval; dismissed: its user looked away. */
  approvalRetry: { readonly id: string; readonly isDismissed: boolean } | undefined;
  /** MCP server routes: the tasks that the message names, opened, and the message with them as it goes upstream. */
  tasks: OpenedMessage | undefined;
  /** MCP server routes: the upstream's own session id, opened. */
  upstreamSession: string | undefined;
  /** MCP server routes, streams of GET: see `EndedStream`. */
  lastEventId: string | undefined;
  /** MCP server routes: the user's token for the upstream. */
  internalToken: InternalToken | undefined;
  /** The client says that it keeps trailers, which the upstream hears; never on MCP server routes. */
  takesTrailers: boolean;
  /** The request came through a gateway before: its mark, brought forward. */
  hopCount: string | undefined;
  /** MCP server routes: Origin of a page that may call; its answers carry CORS headers. */
  corsOrigin: string | undefined;
  /** With `audit`: what is known of the request's end. */
  outcome: RequestOutcome | undefined;
  /** As `performance.now()` has it. */
  readonly beganMs: number;
  /** To be called when nothing more comes of the request; it may be called twice. */
  onEnd: (() => void) | undefined;
  /** Present with `tracing`. */
  readonly trace: RequestTrace | undefined;
}

/** What is found out on the way, for its end; present with `audit`. */
export interface RequestOutcome {
  /** Where the record of the decision stands; of several the last. */
  seq: number;
  allowed: boolean;
  /** The answer is an upstream's. */
  isUpstreams: boolean;
  failure: UpstreamFailure | undefined;
  lists: { hidden: number; shown: number } | undefined;
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
    tasks: undefined,
    upstreamSession: undefined,
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

/** Who calls, or why nobody is known; the latest word counts. */
export function setCaller(context: RequestContext, result: AuthResult): void {
  context.principal = result.ok ? result.principal : undefined;
  context.authFailure = result.ok ? undefined : result.reason;
}

/** What a call needs, and where that stands. */
interface CallApproval {
  readonly need: ApprovalNeed;
  readonly state: ApprovalState;
}
