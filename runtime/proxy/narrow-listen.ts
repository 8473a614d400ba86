/**
 * Removes from `subscriptions/listen` the resources that the policy does not let its user listen to. The stream itself is not
 * rejected: clients would read that as a server without subscriptions.
 */
import { readSubscriptions, withSubscriptions } from "../mcp/subscriptions.ts";
import { refusal } from "../mcp/refusals.ts";
import { refusalAnswer } from "../mcp/refuse.ts";
import { evaluate } from "../policy/evaluate.ts";
import { refuse, type DecideDeps } from "./decide.ts";
import { answerWire } from "./answers/answer-wire.ts";
import type { Step } from "./steps.ts";

/** Step: after the decision, which is about the message as a whole. */
export function narrowListen(deps: DecideDeps): Step {
  return (context) => {
    const { message, facts, exchange } = context;
    const { policy } = context.prepared.route;
    if (message?.facts.method !== "subscriptions/listen" || facts === undefined || !policy.needsMessage) return "next";
    const uris = readSubscriptions(message.bytes);
    if (uris === undefined) return "next";
    if (uris === "unreadable") {
      const why = refusal("mcp-invalid-message", message.id);
      return refuse(deps, context, why.reason, () => answerWire(context, refusalAnswer(why, exchange.id)));
    }
    const allowed = uris.filter((resource) => evaluate(policy, { ...facts, mcp: { ...facts.mcp, resource } }).allowed);
    if (allowed.length < uris.length)
      context.message = { ...message, bytes: withSubscriptions(message.bytes, allowed) };
    return "next";
  };
}
