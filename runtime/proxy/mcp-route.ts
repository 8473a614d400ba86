/** Steps of MCP server routes: clients with an External Token (D10, D11). */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { CodeWith } from "../http/codes.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondJson } from "../http/respond.ts";
import type { Revocations } from "../identity/interfaces.ts";
import type { Blocks } from "../identity/blocks.ts";
import { NONCE_HEADER, type Proofs } from "../identity/dpop/proofs.ts";
import type { AuthFailureReason, Principal } from "../identity/principal.ts";
import { inspect, type Inspection } from "../mcp/inspect.ts";
import { readTraceMeta } from "../tracing/trace-meta.ts";
import type { MessageAddresses } from "../mcp/message-address.ts";
import { refusalAnswer } from "../mcp/refuse.ts";
import type { McpSessions } from "../mcp/mcp-sessions.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import { namesMessageAddress } from "../shared/http/query.ts";
import { answerWire } from "./answers/answer-wire.ts";
import { bindingOf, openAddress } from "./announced-address.ts";
import { answerRoutePreflight, classifyOrigin, routeCorsHeaders } from "./cors.ts";
import { refuse, refuseUnavailable, type DecideDeps } from "./decide.ts";
import { followOperation } from "./recording/operation.ts";
import type { RequestContext } from "./request-context.ts";
import type { Step, StepOutcome } from "./steps.ts";
import { clearTools } from "../mcp/clear-tools.ts";
import { guard } from "../shared/faults/guard.ts";

/** Time limit for a message: slower clients are disconnected. */
const MESSAGE_TIMEOUT_MS = 30_000;

/** Step: servers MUST validate Origin (MCP transports): a page must not reach an MCP server through its visitor's browser. */
export function checkOrigin(deps: DecideDeps): Step {
  return (context) => {
    const { exchange, prepared, snapshot } = context;
    const origin = classifyOrigin(exchange, prepared.route, snapshot.settings);
    if (origin === "foreign") {
      const body = {
        error: "origin.not-allowed" satisfies CodeWith<403>,
        message: "Forbidden: this Origin may not call here",
      };
      return refuse(deps, context, "origin-not-allowed", () => answer(context, 403, body));
    }
    if (origin !== "none") context.corsOrigin = exchange.header("origin");
    return "next";
  };
}

/** Step: before authentication, since browsers send preflights without credentials. */
export function answerPreflight({ exchange, corsOrigin }: RequestContext): StepOutcome {
  if (exchange.method !== "OPTIONS") return "next";
  answerRoutePreflight(exchange, corsOrigin);
  return "done";
}

/** Step: names the endpoint in the response to other paths. The metadata of the route is public and names it anyway. */
export function findMcpPath(deps: DecideDeps): Step {
  return (context) => {
    const { exchange, prepared } = context;
    context.mcpPath = prepared.mcpPaths?.find(exchange.path);
    if (context.mcpPath !== undefined) return "next";
    const { mcp } = prepared.route;
    const endpoint = mcp?.kind === "server" ? mcp.resource : "";
    const message = `This address of an MCP server is not served; its endpoint is ${endpoint}`;
    const body = { error: "mcp.path-not-served" satisfies CodeWith<404>, message };
    return refuse(deps, context, "mcp-path-not-served", () => answer(context, 404, body));
  };
}

/** Step: opens the sealed address that an old server announced, if the request uses one (announced-address.ts). */
export function openMessageAddress(deps: DecideDeps & { readonly messageAddresses: MessageAddresses }): Step {
  return (context) => {
    if (!namesMessageAddress(context.exchange.query)) return "next";
    context.messageAddress = openAddress(deps.messageAddresses, context, epochSeconds(deps.clock));
    return context.messageAddress === undefined
      ? refuseUnknownSession(deps, context, "mcp-message-address-unknown")
      : "next";
  };
}

/** Step: reads the body. */
export function readMessage({ blocks }: MessageDeps): Step {
  return (context) => (resume) => {
    const { exchange, prepared } = context;
    const { route } = prepared;
    const maxBytes = route.mcp?.kind === "server" ? route.mcp.maxRequestBytes : 0;
    const isAwaited = exchange.hasBody && exchange.wholeBody === undefined;
    const timer = isAwaited
      ? setTimeout(
          guard(exchange, () => exchange.abort()),
          MESSAGE_TIMEOUT_MS,
        )
      : undefined;
    // If rules or scopes name tools, reject names that an upstream might fold or trim into another one.
    const options = clearTools(route, blocks);
    const done = (inspection: Inspection): void => {
      clearTimeout(timer);
      context.inspection = inspection;
      resume();
    };
    inspect(exchange, maxBytes, done, options, context.federated?.message);
  };
}

export interface MessageDeps {
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "hasTools" | "blockedTools">;
}

/** Step: takes the parsed message. */
export function takeMessage(deps: DecideDeps & ChallengeDeps & { readonly revocations: Revocations }): Step {
  return (context) => {
    const { exchange, inspection } = context;
    if (inspection === undefined) throw new TypeError("a message that was not read");
    if (!inspection.ok)
      return refuse(deps, context, inspection.reason, () =>
        answerWire(context, refusalAnswer(inspection, exchange.id)),
      );
    // A message may take half a minute to come, and the right to send it may have ended meanwhile.
    const ended = endOf(deps, context.principal);
    if (ended !== undefined) return refuseUnauthorized(deps, context, ended);
    const { message } = inspection;
    context.message = message;
    if (message === undefined) return "next";
    context.trace?.adopt(() => readTraceMeta(message.bytes));
    followOperation(deps.metrics, context, message);
    return "next";
  };
}

/** Step: rejects a session that is not this caller's on this route. */
export function openSession(deps: DecideDeps & { readonly mcpSessions: McpSessions }): Step {
  return (context) => {
    // Revision 2026-07-28 has no sessions: the header is not forwarded.
    if (context.message?.isModern === true) return "next";
    const sealed = context.exchange.header("mcp-session-id");
    if (sealed === undefined) return "next";
    context.upstreamSession = deps.mcpSessions.open(sealed, bindingOf(context));
    return context.upstreamSession === undefined ? refuseUnknownSession(deps, context, "mcp-session-unknown") : "next";
  };
}

export interface ChallengeDeps {
  readonly proofs: Proofs;
  /** Value of WWW-Authenticate for a request without a valid token; `origin` is the route's. */
  readonly challenge: (
    route: CompiledRoute,
    origin: string,
    failure: AuthFailureReason | "not-connected" | "insufficient-scope",
    requestPath: string | undefined,
    toolScopes?: readonly string[],
  ) => string;
  /** Shows a page to a user who opened the address; false = the caller is a program. Absent: callers are always programs. */
  readonly showAddress?: (
    exchange: Exchange,
    snapshot: Snapshot,
    route: CompiledRoute,
    code: string,
    headers: readonly string[],
  ) => boolean;
}

const UNAUTHORIZED = "unauthorized" satisfies CodeWith<401>;

/** Challenge for a request. A sealed address is not a resource: its clients are sent to the route's. */
export function challengeFor(
  { challenge }: ChallengeDeps,
  { exchange, prepared: { route } }: RequestContext,
  failure: AuthFailureReason | "not-connected",
): string {
  return challenge(route, route.origin, failure, namesMessageAddress(exchange.query) ? undefined : exchange.path);
}

/**
 * Long texts, for clients that re-register in the middle of a session: the session stays bound to the earlier registration,
 * and a client that does not start a new one automatically shows this text to its user.
 */
const SESSION_UNKNOWN = {
  "mcp-session-unknown":
    "Session not found: it has ended, belongs to another user, or the client has registered again since; initialize again",
  "mcp-message-address-unknown":
    "Session not found: its event stream has ended, belongs to another user, or the client has registered again since; open the stream again",
} as const;

/** 404 makes the client start a new session; 401 would make it sign in again (MCP 2025-11-25, Session Management). */
export function refuseUnknownSession(
  deps: DecideDeps,
  context: RequestContext,
  reason: keyof typeof SESSION_UNKNOWN,
): StepOutcome | Promise<StepOutcome> {
  const data = { reason, request_id: context.exchange.id };
  const error = { code: -32001, message: SESSION_UNKNOWN[reason], data };
  context.operation?.failed(error.code);
  return refuse(deps, context, reason, () => answer(context, 404, { jsonrpc: "2.0", error }));
}

export interface EndDeps {
  readonly revocations: Revocations;
  readonly clock: Clock;
}

/**
 * Checks the caller again after a wait.
 *
 * @param principal current state from the records; undefined: it no longer exists
 * @returns undefined while the right to continue lasts
 */
export function refuseEnded(
  deps: DecideDeps & ChallengeDeps & EndDeps,
  context: RequestContext,
  principal: Principal | undefined,
): StepOutcome | Promise<StepOutcome> | undefined {
  // An accepted call continues after expiry, also while it waits for an approval (proxy/forwarding/streams.ts).
  const { expiryGraceSeconds } = context.snapshot.settings;
  const ended = principal === undefined ? "revoked" : endOf(deps, principal, expiryGraceSeconds);
  return ended && refuseUnauthorized(deps, context, ended);
}

function endOf(
  { revocations, clock }: EndDeps,
  principal: Principal | undefined,
  graceSeconds = 0,
): "expired" | "revoked" | undefined {
  if (!principal) return undefined;
  if (principal.expiresAt + graceSeconds <= epochSeconds(clock)) return "expired";
  return revocations.isRevoked(principal.revocationKeys) ? "revoked" : undefined;
}

/** Replaces an upstream's session ID by ours; undefined if clients would not accept the ID. */
export function sealSession(
  sessions: McpSessions,
  context: RequestContext,
  upstreamSession: string,
): string | undefined {
  return sessions.seal(upstreamSession, bindingOf(context), context.exchange.header("mcp-session-id"));
}

export function refuseUnauthorized(
  deps: DecideDeps & ChallengeDeps,
  context: RequestContext,
  reason: AuthFailureReason,
): StepOutcome | Promise<StepOutcome> {
  if (reason === "unavailable") return refuseUnavailable(deps, context);
  return refuse(deps, context, `credential-${reason}`, () => {
    const nonce = reason === "proof-nonce" ? [NONCE_HEADER, deps.proofs.nonce()] : [];
    const headers = ["www-authenticate", challengeFor(deps, context, reason), ...nonce];
    const { exchange, snapshot, prepared } = context;
    if (deps.showAddress?.(exchange, snapshot, prepared.route, UNAUTHORIZED, headers) === true) return;
    answer(context, 401, { error: UNAUTHORIZED, message: "Unauthorized" }, headers);
  });
}

function answer(context: RequestContext, status: number, body: object, headers: readonly string[] = []): void {
  const cors = routeCorsHeaders(context.corsOrigin);
  respondJson(context.exchange, status, { ...body, request_id: context.exchange.id }, [...headers, ...cors]);
}
