/** The decision about a message to an MCP server, and the response if it is denied or must wait. */
import { elicitationOf } from "../../mcp/approval/retry.ts";
import type { ApprovalStates } from "../../mcp/approval/request-state.ts";
import {
  approvalAnswer,
  denialAnswer,
  inputRequiredAnswer,
  type MissingApproval,
  type WireAnswer,
} from "../../mcp/refuse.ts";
import type { Decision } from "../../policy/facts.ts";
import { bindingOf } from "../announced-address.ts";
import { answerLimitedMcp } from "../answers/limit-request.ts";
import { decide, type DecideDeps } from "../decide.ts";
import { answerWire } from "../answers/answer-wire.ts";
import { answerMissingScopes, missingScopes, type ScopeDeps } from "../answers/require-scopes.ts";
import type { HistoryDeps } from "../history/check.ts";
import type { RequestContext } from "../request-context.ts";
import type { Step } from "../steps.ts";
import { missingApproval, settleApproval, type ApproveDeps } from "./approve.ts";

export interface DecideMcpDeps extends DecideDeps, ApproveDeps, HistoryDeps, ScopeDeps {
  readonly approvalStates: ApprovalStates;
}

/** Step: the policy decision, for MCP clients. */
export function decideMcp(deps: DecideMcpDeps): Step {
  const denied = (context: RequestContext, decision: Decision): void => {
    const { exchange, message, messageAddress } = context;
    // Old clients expect the response to a call in their stream, and read only the status of this one.
    const readsBody = messageAddress === undefined;
    const missing = missingApproval(context);
    answerWire(
      context,
      missing === undefined
        ? denialAnswer(message, decision, exchange.id, readsBody)
        : (askInstead(deps, context, missing) ?? approvalAnswer(message, missing, exchange.id, readsBody)),
    );
  };
  const askForScopes = (context: RequestContext, needed: readonly string[]): void =>
    answerMissingScopes(deps, context, needed);
  const answers = { denied, limited: answerLimitedMcp, missingScopes, askForScopes };
  return decide(deps, answers, (context, decision) => settleApproval(deps, context, decision));
}

/**
 * Asks the user through the client instead of sending the error, if the client supports that and only the user's own
 * confirmation is missing. An answer over this connection never counts as a second user's.
 */
function askInstead(
  { approvalStates }: DecideMcpDeps,
  context: RequestContext,
  missing: MissingApproval,
): WireAnswer | undefined {
  const { message, approvalRetry } = context;
  if (missing.state !== "waiting" || !missing.isByAsker || message?.kind !== "request") return undefined;
  const mode = elicitationOf(message);
  if (mode === undefined || approvalRetry?.isDismissed === true) return undefined;
  const { id, page } = missing;
  const isAsked = approvalRetry?.id === id;
  const question = isAsked ? undefined : { mode, page, tool: message.facts.tool ?? "" };
  return inputRequiredAnswer(message, approvalStates.seal(id, bindingOf(context)), question);
}
