/**
 * Calls that policy lets pass once they are approved (approvals/): asked for where it is decided, used up last before the
 * call leaves, so that nothing else that stops it costs an approval.
 */
import { APPROVAL_PATH } from "../../approvals/approval-page.ts";
import type { ApprovalState, Approvals, AskedCall } from "../../approvals/interfaces.ts";
import { findSite } from "../../identity/sites.ts";
import { clientFields } from "./client-fields.ts";
import { givenToTool } from "../../mcp/approval/approval-call.ts";
import { approvalAnswer, type MissingApproval } from "../../mcp/refuse.ts";
import { APPROVAL_REQUIRED } from "../../policy/mcp/approval.ts";
import { refusedDecision } from "../../policy/evaluate.ts";
import type { Decision } from "../../policy/facts.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { refuse, type DecideDeps } from "../decide.ts";
import { answerWire } from "../answers/answer-wire.ts";
import type { RequestContext } from "../request-context.ts";
import type { StepOutcome, Step } from "../steps.ts";

export interface ApproveDeps {
  /** Absent: what needs an approval is refused. */
  readonly approvals?: Approvals;
}

/**
 * Asks for the approval of this call. A notification cannot be answered, and so asks for none.
 *
 * @param decision one that nothing but an approval is missing of
 * @returns the decision as it is by now
 */
export async function settleApproval(
  { approvals }: ApproveDeps,
  context: RequestContext,
  decision: Decision,
): Promise<Decision> {
  const { message, principal, snapshot, exchange } = context;
  const { approval: need } = decision;
  const tool = message?.facts.tool;
  const pages = findSite(snapshot, exchange.host)?.authenticateOrigin;
  if (!approvals || !need || !principal || message?.kind !== "request" || tool === undefined) return decision;
  const given = givenToTool(message, clientFields(context));
  const state: ApprovalState =
    given === undefined || pages === undefined
      ? { state: "too-long" }
      : await approvals.ask({
          principal,
          route: serverOf(context),
          tool,
          given,
          approvers: need.approvers,
          page: pages + APPROVAL_PATH,
        });
  context.approval = { need, state };
  return state.state === "approved" ? need.approved : decision;
}

/** Where the call goes, and by which address: a route may lead to several endpoints, and a query say whose data is meant. */
function serverOf({ exchange, prepared: { route }, mcpPath, messageAddress }: RequestContext): AskedCall["route"] {
  const { key, name, to, mcp } = route;
  const { resource, path } = mcp?.kind === "server" ? mcp : { resource: "", path: undefined };
  // Its query is an address of ours, which says where it goes.
  if (messageAddress !== undefined) {
    const { upstream, path: announced } = messageAddress;
    return { key, name, server: resource, query: "", to: [upstream.origin + announced] };
  }
  const server = mcpPath === path ? resource : route.origin + exchange.path;
  return { key, name, server, query: exchange.query, to: to.map(({ origin, basePath }) => origin + basePath) };
}

/** Answers a call that is not approved yet, or will not be. @returns undefined when the call needs no approval */
export function missingApproval({ approval }: RequestContext): MissingApproval | undefined {
  if (approval === undefined) return undefined;
  const { state, need } = approval;
  if (state.state === "waiting") return { ...state, isByAsker: need.approvers.length === 0 };
  return state.state === "approved" ? undefined : state;
}

/**
 * Step: uses the approval up; nothing that could still stop the call may come behind it. Of several calls at once one goes
 * on. What became of that one is unknown until it has been answered.
 */
export function useApproval(deps: DecideDeps & ApproveDeps & { readonly log: Log }): Step {
  return (context) => {
    const { approval, exchange } = context;
    if (approval === undefined) return "next";
    const { state } = approval;
    // Whoever was not let in was answered before.
    if (state.state !== "approved" || !deps.approvals) throw new TypeError("a call without its approval");
    const { approvals } = deps;
    return approvals.use(state.found).then(
      (isOurs) => {
        if (!isOurs) return refuseUsed(deps, context);
        exchange.onClose((complete) => {
          if (complete && exchange.status > 0 && exchange.status < 500) void approvals.answered(state.id);
        });
        return "next";
      },
      (error: unknown) => {
        deps.log.error({ approval: state.id, reason: errorText(error) }, "cannot use approval");
        return refuseUsed(deps, context);
      },
    );
  };
}

/** Another call was faster, or nobody can tell: the client repeats the call, and is told where it stands. */
function refuseUsed(deps: DecideDeps, context: RequestContext): StepOutcome | Promise<StepOutcome> {
  const { message, exchange, messageAddress } = context;
  const readsBody = messageAddress === undefined;
  return refuse(deps, context, refusedDecision(APPROVAL_REQUIRED), () =>
    answerWire(context, approvalAnswer(message, { state: "used" }, exchange.id, readsBody)),
  );
}
