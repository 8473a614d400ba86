/** What a blocked request is answered: that it is blocked, and not by what; the record says that. */
import { respondError } from "../http/respond.ts";
import { denialAnswer } from "../mcp/refuse.ts";
import { BLOCKED, blockedDecision } from "../policy/blocks.ts";
import { recordDecision } from "./decide.ts";
import type { Passage } from "./request-context.ts";
import { proceed, type StepDeps } from "./steps.ts";

/**
 * Refuses every request to a blocked route, whoever sends it, and records it.
 *
 * @returns false when the request goes on
 */
export function refuseBlockedRoute(deps: StepDeps, passage: Passage): boolean {
  const { exchange, plan } = passage;
  if (deps.blocks === undefined || deps.blocks.size === 0) return false;
  const block = deps.blocks.find({ routeKey: plan.route.key });
  if (!block) return false;
  const decision = blockedDecision(block);
  proceed(deps, passage, recordDecision(deps, passage, decision), () => {
    if (!plan.isMcpServer) return answerBlocked(passage);
    const { status, headers, body } = denialAnswer(undefined, decision, exchange.id);
    const bytes = Buffer.from(body);
    exchange.respond(status, ["x-request-id", exchange.id, "content-length", String(bytes.length), ...headers], bytes);
  });
  return true;
}

/** On an ordinary route. */
export function answerBlocked({ exchange }: Passage): void {
  respondError(exchange, 403, { code: BLOCKED, message: "Access is blocked at the moment" });
}
