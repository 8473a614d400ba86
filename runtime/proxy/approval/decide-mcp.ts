/** The decision about a message to an MCP server, and the answer to who is not let in or must wait. */
import { approvalAnswer, denialAnswer } from "../../mcp/refuse.ts";
import type { Decision } from "../../policy/facts.ts";
import { answerLimitedMcp, type LimitDeps } from "../answers/limit-request.ts";
import { decide, type DecideDeps } from "../decide.ts";
import { answerWire } from "../answers/answer-wire.ts";
import type { RequestContext } from "../request-context.ts";
import type { Step } from "../steps.ts";
import { missingApproval, settleApproval, type ApproveDeps } from "./approve.ts";

/** Step: policy, for programs. */
export function decideMcp(deps: DecideDeps & ApproveDeps & LimitDeps): Step {
  const denied = (context: RequestContext, decision: Decision): void => {
    const { exchange, message, messageAddress } = context;
    // Old clients look for the answer to a call in their stream, and read no more of this one than its status.
    const readsBody = messageAddress === undefined;
    const missing = missingApproval(context);
    answerWire(
      context,
      missing
        ? approvalAnswer(message, missing, exchange.id, readsBody)
        : denialAnswer(message, decision, exchange.id, readsBody),
    );
  };
  const answers = { denied, limited: answerLimitedMcp };
  return decide(deps, answers, (context, decision) => settleApproval(deps, context, decision));
}
