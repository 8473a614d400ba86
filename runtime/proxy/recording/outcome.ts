/** Records the outcome of a request whose decision was recorded: once, when it is over. */
import type { OutcomeInput } from "../../audit/outcome-record.ts";
import type { RecordsOfThread } from "../../audit/record-writer.ts";
import type { Decision } from "../../policy/facts.ts";
import type { Clock } from "../../shared/clock.ts";
import type { RequestContext, RequestOutcome } from "../request-context.ts";

/** Call it after each record of a decision. */
export function followOutcome(
  thread: RecordsOfThread,
  clock: Clock,
  context: RequestContext,
  { allowed }: Decision,
): void {
  const { outcome: known, exchange, beganMs } = context;
  const seq = thread.lastSeq;
  if (known) {
    known.seq = seq;
    known.allowed = allowed;
    return;
  }
  const outcome: RequestOutcome = { seq, allowed, isUpstreams: false, failure: undefined, lists: undefined };
  context.outcome = outcome;
  exchange.onClose((isComplete) => {
    const status = exchange.meantStatus ?? exchange.status;
    thread.writeOutcome({
      timeMs: clock.now(),
      of: outcome.seq,
      requestId: exchange.id,
      status,
      failedBy: exchange.isBroken === true ? "gateway" : failedBy(outcome, status, isComplete),
      failure: outcome.failure,
      hasSucceeded: outcome.hasSucceeded,
      durationMs: performance.now() - beganMs,
      lists: outcome.lists,
      guardrail: outcome.guardrail,
    });
  });
}

function failedBy(
  { allowed, isUpstreams, failure }: RequestOutcome,
  status: number,
  isComplete: boolean,
): OutcomeInput["failedBy"] {
  if (failure === "request-body") return "client";
  if (failure === "overloaded" || failure === "loop" || failure === "closed") return "gateway";
  if (failure !== undefined) return "upstream";
  if (!isComplete && status !== 101) return "client";
  if (status >= 500) return isUpstreams ? "upstream" : "gateway";
  return status >= 400 && allowed ? "client" : undefined;
}
