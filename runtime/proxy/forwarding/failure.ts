/** What a client is told when its upstream did not answer. Never a 4xx: MCP clients take those for an answer of the server. */
import { respondError } from "../../http/respond.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { RequestContext } from "../request-context.ts";
import { routeCorsHeaders } from "../cors.ts";

const ANSWERS: Readonly<Record<UpstreamFailure, { readonly status: number; readonly message: string }>> = {
  unreachable: { status: 502, message: "The upstream cannot be reached" },
  "connect-timeout": { status: 504, message: "The upstream cannot be reached in time" },
  overloaded: { status: 503, message: "The upstream has too many requests under way" },
  unhealthy: { status: 503, message: "No upstream is healthy at the moment" },
  loop: { status: 508, message: "The request goes round in circles: it has come through this gateway before" },
  reset: { status: 502, message: "The upstream closed the connection before it answered" },
  timeout: { status: 504, message: "The upstream did not answer in time" },
  protocol: { status: 502, message: "The upstream gave no valid answer" },
  // The client's own doing; it is hardly there any more to read this.
  "request-body": { status: 400, message: "The request did not arrive completely" },
  closed: { status: 503, message: "The gateway is shutting down" },
};

/** What is over in a moment. */
const SHORT_LIVED: ReadonlySet<UpstreamFailure> = new Set(["overloaded", "unhealthy"]);
const RETRY_AFTER = ["retry-after", "1"];
const NOTHING: readonly string[] = [];

/** @returns the status that was answered */
export function answerFailure(context: RequestContext, failure: UpstreamFailure): number {
  const { status, message } = ANSWERS[failure];
  const headers = routeCorsHeaders(context.corsOrigin);
  const later = SHORT_LIVED.has(failure) ? RETRY_AFTER : NOTHING;
  respondError(context.exchange, status, { code: `upstream.${failure}`, message }, [...later, ...headers]);
  return status;
}
