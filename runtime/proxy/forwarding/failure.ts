/** Responses to clients whose upstream did not respond. Never a 4xx: MCP clients read those as a response of the server. */
import { respondError } from "../../http/respond.ts";
import type { StatusOf } from "../../http/codes.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { RequestContext } from "../request-context.ts";
import { routeCorsHeaders } from "../cors.ts";

/** Only operators learn which kind of connection the upstream closed. */
type ShownFailure = Exclude<UpstreamFailure, "kept-closed">;

const ANSWERS: {
  readonly [Failure in ShownFailure]: {
    readonly status: StatusOf<`upstream.${Failure}`>;
    readonly message: string;
  };
} = {
  unreachable: { status: 502, message: "The service behind this address cannot be reached" },
  "connect-timeout": { status: 504, message: "The service behind this address cannot be reached in time" },
  overloaded: { status: 503, message: "The service behind this address has too many requests at the moment" },
  unhealthy: { status: 503, message: "The service behind this address is not working at the moment" },
  loop: { status: 508, message: "This address leads back to the gateway itself. An administrator has to change that" },
  reset: { status: 502, message: "The service behind this address closed the connection before it responded" },
  timeout: { status: 504, message: "The service behind this address did not respond in time" },
  protocol: { status: 502, message: "The service behind this address sent an invalid response" },
  // The client's own fault. It has hardly stayed connected to read this.
  "request-body": { status: 400, message: "The request did not arrive completely" },
  closed: { status: 503, message: "The gateway is shutting down" },
};

/** Failures that a retry does not fix. */
const LASTING: ReadonlySet<UpstreamFailure> = new Set(["loop", "request-body"]);
/** Failures that are over in a moment. */
const SHORT_LIVED: ReadonlySet<UpstreamFailure> = new Set(["overloaded", "unhealthy"]);
const RETRY_AFTER = ["retry-after", "1"];
const NOTHING: readonly string[] = [];

/** @returns the status of the response */
export function answerFailure(context: RequestContext, met: UpstreamFailure): number {
  const failure = met === "kept-closed" ? "reset" : met;
  const { status, message } = ANSWERS[failure];
  const headers = routeCorsHeaders(context.corsOrigin);
  const later = SHORT_LIVED.has(failure) ? RETRY_AFTER : NOTHING;
  const parts = { code: `upstream.${failure}` as const, message, canRetry: !LASTING.has(failure) };
  respondError(context.exchange, status, parts, [...later, ...headers]);
  return status;
}
