/**
 * The retry of a call that waits for its user's approval is held until that has been decided, rather than sent round and
 * round: clients count rounds, and end after ten.
 */
import type { Approvals } from "../../approvals/interfaces.ts";
import type { Snapshots } from "../../config/snapshot.ts";
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

/** Below the minute after which clients give a request up. */
const HOLD_MS = 45_000;
/** Each holds a message in memory. What is more is answered at once. */
const MOST_HELD = 1_000;
const MOST_HELD_OF_USER = 16;
/** Longer messages are never approved, see mcp/approval/approval-call.ts. */
const MAX_RETRY_BYTES = 65_536;

export interface HoldDeps extends DecideDeps, ChallengeDeps, EndDeps {
  readonly approvals?: Approvals;
  readonly approvalStates: ApprovalStates;
  readonly holds: ApprovalHolds;
  readonly snapshots: Pick<Snapshots, "current">;
  readonly current?: (principal: Principal) => Promise<Principal | undefined>;
  /** Default: 45 seconds. */
  readonly approvalHoldMs?: number;
}

/** Calls that are held right now. */
export interface ApprovalHolds {
  /** @returns undefined when too many are held */
  begin(userId: string): { readonly controller: AbortController; end(): void } | undefined;
  /** Lets all go on, and those to come: the process stops. */
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

/** Step: before the decision, which is then made about the caller, and by the configuration, as they are at its end. */
export function holdForApproval(deps: HoldDeps): Step {
  return (context) => {
    const { message, prepared, principal, exchange } = context;
    const isCall = message?.isModern === true && message.facts.method === "tools/call";
    if (!isCall || !principal || !deps.approvals) return "next";
    const asks = prepared.route.policy.approve.length > 0;
    // Too long to have been let wait.
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
    // The rule may be gone since: what is ours is the upstream's in no case.
    if (retry.action === "cancel" || !asks) return "next";
    const { approvals } = deps;
    if (retry.action !== "decline") return hold(deps, approvals, context, principal, id);
    // Of the user who asks this is as good as the page: nothing is let pass by it.
    return approvals.withdraw(id, principal).then(() => "next");
  };
}

function withoutState(message: McpMessage, rawHeaders: readonly string[]): McpMessage | undefined {
  const read = parseMessage(withoutRetry(message), readMessageHeaders(rawHeaders));
  return read.ok ? read : undefined;
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
  try {
    await approvals.wait(id, deps.approvalHoldMs ?? HOLD_MS, controller.signal);
  } finally {
    held.end();
  }
  // Nobody would get the answer, and the approval is for one call.
  if (isGone) return "done";
  const now = deps.current ? await deps.current(principal).catch(() => principal) : principal;
  const ended = refuseEnded(deps, context, now);
  if (ended !== undefined) return ended;
  context.principal = now;
  if (deps.snapshots.current() === context.snapshot) return "next";
  // Another configuration may say something else of this call: it comes again, and is decided by that one.
  const requestState = deps.approvalStates.seal(id, bindingOf(context));
  return refuse(deps, context, refusedDecision(APPROVAL_REQUIRED), () =>
    answerWire(context, inputRequiredAnswer(context.message, requestState)),
  );
}
