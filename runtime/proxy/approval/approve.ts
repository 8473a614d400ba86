/**
 * Calls that the policy allows once they are approved (approvals/). The approval is requested at the decision and consumed as
 * the last step before the call leaves, so that no other rejection costs an approval.
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
  /** Absent: calls that need an approval are denied. */
  readonly approvals?: Approvals;
}

/**
 * Requests the approval of this call. A notification gets no response, and so requests none.
 *
 * @param decision one that lacks only an approval
 * @returns the current decision
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

/**
 * The call's destination, and its address: a route may lead to several endpoints, and a query may select whose data is used.
 */
function serverOf({ exchange, prepared: { route }, mcpPath, messageAddress }: RequestContext): AskedCall["route"] {
  const { key, name, to, mcp } = route;
  const { resource, path } = mcp?.kind === "server" ? mcp : { resource: "", path: undefined };
  // The query is an address of ours, which contains the destination.
  if (messageAddress !== undefined) {
    const { upstream, path: announced } = messageAddress;
    return { key, name, server: resource, query: "", to: [upstream.origin + announced] };
  }
  const server = mcpPath === path ? resource : route.origin + exchange.path;
  return { key, name, server, query: exchange.query, to: to.map(({ origin, basePath }) => origin + basePath) };
}

/** @returns the missing approval, pending or denied; undefined when the call needs none */
export function missingApproval({ approval }: RequestContext): MissingApproval | undefined {
  if (approval === undefined) return undefined;
  const { state, need } = approval;
  if (state.state === "waiting") return { ...state, isByAsker: need.approvers.length === 0 };
  return state.state === "approved" ? undefined : state;
}

/**
 * Step: consumes the approval. No later step may reject the call. Of several concurrent calls one continues. Its outcome is
 * unknown until it has been answered.
 */
export function useApproval(deps: DecideDeps & ApproveDeps & { readonly log: Log }): Step {
  return (context) => {
    const { approval, exchange } = context;
    if (approval === undefined) return "next";
    const { state } = approval;
    // Calls without an approval were answered before.
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

/** Another call was faster, or the store is unavailable: the client repeats the call, and gets the current state. */
function refuseUsed(deps: DecideDeps, context: RequestContext): StepOutcome | Promise<StepOutcome> {
  const { message, exchange, messageAddress } = context;
  const readsBody = messageAddress === undefined;
  context.uncount?.();
  return refuse(deps, context, refusedDecision(APPROVAL_REQUIRED), () =>
    answerWire(context, approvalAnswer(message, { state: "used" }, exchange.id, readsBody)),
  );
}
