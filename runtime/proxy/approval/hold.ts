/**
 * Holds the retry of a call that waits for its user's approval until the approval is decided. Clients would otherwise repeat
 * it in rounds, and stop after ten.
 */
import type { Approvals } from "../../approvals/interfaces.ts";
import { findRoute, type Snapshots } from "../../config/snapshot.ts";
import type { Blocks } from "../../identity/blocks.ts";
import { readRetry, withoutRetry } from "../../mcp/approval/retry.ts";
import type { ApprovalStates } from "../../mcp/approval/request-state.ts";
import { readMessageHeaders } from "../../mcp/message-headers.ts";
import { parseMessage, type McpMessage } from "../../mcp/message.ts";
import { refusal } from "../../mcp/refusals.ts";
import { inputRequiredAnswer, refusalAnswer } from "../../mcp/refuse.ts";
import type { Principal } from "../../identity/principal.ts";
import { refusedDecision } from "../../policy/evaluate.ts";
import { APPROVAL_REQUIRED } from "../../policy/mcp/approval.ts";
import { bindingOf } from "../announced-address.ts";
import { refuse, type DecideDeps } from "../decide.ts";
import { answerWire } from "../answers/answer-wire.ts";
import { refuseEnded, type ChallengeDeps, type EndDeps } from "../mcp-route.ts";
import type { RequestContext } from "../request-context.ts";
import type { StepOutcome, Step } from "../steps.ts";

/** Below the minute after which clients drop a request. */
const HOLD_MS = 45_000;
/** Each held call keeps a message in memory. Calls above the limit are answered immediately. */
const MOST_HELD = 1_000;
const MOST_HELD_OF_USER = 16;
/** Longer messages are never approved, see mcp/approval/approval-call.ts. */
const MAX_RETRY_BYTES = 65_536;

export interface HoldDeps extends DecideDeps, ChallengeDeps, EndDeps {
  readonly approvals?: Approvals;
  readonly approvalStates: ApprovalStates;
  readonly holds: ApprovalHolds;
  readonly snapshots: Pick<Snapshots, "current" | "subscribe">;
  readonly blocks?: Pick<Blocks, "size" | "find" | "subscribe">;
  readonly current?: (principal: Principal) => Promise<Principal | undefined>;
  /** Default: 45 seconds. */
  readonly approvalHoldMs?: number;
}

/** Calls that are held right now. */
export interface ApprovalHolds {
  /** @returns undefined when too many are held */
  begin(userId: string): { readonly controller: AbortController; end(): void } | undefined;
  /** Releases all held calls, and holds none from now on: the process stops. */
  releaseAll(): void;
}

export function createApprovalHolds(): ApprovalHolds {
  const held = new Set<AbortController>();
  const ofUsers = new Map<string, number>();
  let isOver = false;
  return {
    begin(userId) {
      const ofUser = ofUsers.get(userId) ?? 0;
      if (isOver || held.size >= MOST_HELD || ofUser >= MOST_HELD_OF_USER) return undefined;
      const controller = new AbortController();
      held.add(controller);
      ofUsers.set(userId, ofUser + 1);
      return {
        controller,
        end() {
          held.delete(controller);
          const left = (ofUsers.get(userId) ?? 1) - 1;
          if (left === 0) ofUsers.delete(userId);
          else ofUsers.set(userId, left);
        },
      };
    },
    releaseAll() {
      isOver = true;
      for (const controller of held) controller.abort();
    },
  };
}

/** Step: before the decision, so that it uses the caller and the configuration of the end of the wait. */
export function holdForApproval(deps: HoldDeps): Step {
  return (context) => {
    const { message, prepared, principal, exchange } = context;
    const isCall = message?.isModern === true && message.facts.method === "tools/call";
    if (!isCall || !principal || !deps.approvals) return "next";
    const asks = prepared.route.policy.approve.length > 0 || prepared.history?.asksApproval === true;
    // A longer message cannot be waiting.
    if (message.bytes.length > MAX_RETRY_BYTES) return "next";
    const retry = readRetry(message);
    if (retry === undefined) return "next";
    const id = deps.approvalStates.open(retry.requestState, bindingOf(context));
    const plain = id === undefined ? undefined : withoutState(message, exchange.rawHeaders);
    if (id === undefined || plain === undefined) {
      const why = refusal("mcp-request-state-unknown", message.id);
      return refuse(deps, context, why.reason, () => answerWire(context, refusalAnswer(why, exchange.id)));
    }
    context.message = plain;
    context.approvalRetry = { id, isDismissed: retry.action === "cancel" };
    // The rule may be gone by now, but our state must never reach the upstream.
    if (retry.action === "cancel" || !asks) return "next";
    const { approvals } = deps;
    if (retry.action !== "decline") return hold(deps, approvals, context, principal, id);
    // A decline by the requesting user counts like one on the page: it allows nothing.
    return approvals.withdraw(id, principal).then(() => "next");
  };
}

function withoutState(message: McpMessage, rawHeaders: readonly string[]): McpMessage | undefined {
  const read = parseMessage(withoutRetry(message), readMessageHeaders(rawHeaders));
  return read.ok ? read : undefined;
}

/** Calls `end` once the call can no longer succeed: the steps after the wait then answer it. */
function followEnd(
  { revocations, blocks, snapshots }: HoldDeps,
  { prepared, message }: RequestContext,
  { user, clientId, grantId, revocationKeys }: Principal,
  end: () => void,
): () => void {
  const routeKey = prepared.route.key;
  const subject = { user, clientId, grantId, routeKey, tool: message?.facts.tool };
  const unfollow = [
    revocations.subscribe((key) => {
      if (revocationKeys.includes(key)) end();
    }),
    blocks?.subscribe(() => {
      if (blocks.find(subject) !== undefined) end();
    }),
    snapshots.subscribe((next) => {
      if (findRoute(next, routeKey) === undefined) end();
    }),
  ];
  return () => {
    for (const each of unfollow) each?.();
  };
}

async function hold(
  deps: HoldDeps,
  approvals: Approvals,
  context: RequestContext,
  principal: Principal,
  id: string,
): Promise<StepOutcome> {
  const held = deps.holds.begin(principal.user.id);
  if (held === undefined) return "next";
  const { controller } = held;
  let isGone = false;
  context.exchange.onClose(() => {
    isGone = true;
    controller.abort();
  });
  const unfollow = followEnd(deps, context, principal, () => controller.abort());
  try {
    await approvals.wait(id, deps.approvalHoldMs ?? HOLD_MS, controller.signal);
  } finally {
    unfollow();
    held.end();
  }
  // No client waits for the response, and the approval is for one call.
  if (isGone) return "done";
  const now = deps.current ? await deps.current(principal).catch(() => principal) : principal;
  const ended = refuseEnded(deps, context, now);
  if (ended !== undefined) return ended;
  context.principal = now;
  if (deps.snapshots.current() === context.snapshot) return "next";
  // Another configuration may decide differently: the client resends the call, and the new configuration decides.
  const requestState = deps.approvalStates.seal(id, bindingOf(context));
  return refuse(deps, context, refusedDecision(APPROVAL_REQUIRED), () =>
    answerWire(context, inputRequiredAnswer(context.message, requestState)),
  );
}
