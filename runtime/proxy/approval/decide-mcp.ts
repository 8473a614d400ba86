/** The decision about a message to an MCP server, and the answer to who is not let in or must wait. */
import { approvalAnswer, denialAnswer } from "../../mcp/refuse.ts";
import type { Decision } from "../../policy/facts.ts";
import { decide, type DecideDeps } from "../decide.ts";
import { answerWire } from "../mcp-route.ts";
import type { RequestContext } from "../request-context.ts";
import type { Step } from "../steps.ts";
import { missingApproval, settleApproval, type ApproveDeps } from "./approve.ts";

/** Step: policy, for programs. */
export function decideMcp(deps: DecideDeps & ApproveDeps): Step {
  const answerDenied = (context: RequestContext, decision: Decision): void => {
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
  return decide(deps, answerDenied, (context, decision) => settleApproval(deps, context, decision));
}
