/** `rate_limits`: checked for each request that the policy allows, and the responses to rate limited requests. */
import { respondAgainLater, respondError } from "../../http/respond.ts";
import { limitHeaders, retryAfterSeconds } from "../../limits/limit-headers.ts";
import type { Admission, Limited, RateLimits } from "../../limits/rate-limits.ts";
import { limitAnswer } from "../../mcp/refuse.ts";
import { routeCorsHeaders } from "../cors.ts";
import { answerWire } from "./answer-wire.ts";
import type { RequestContext } from "../request-context.ts";
import { after } from "../steps.ts";

export interface LimitDeps {
  /** Absent: nothing is limited. */
  readonly limits?: Pick<RateLimits, "take">;
}

/** @returns undefined when the request is within all limits; a promise only if the store must be queried */
export function takeLimits(
  { limits }: LimitDeps,
  context: RequestContext,
): Limited | undefined | Promise<Limited | undefined> {
  const { prepared, principal, facts } = context;
  if (prepared.route.rateLimits === undefined || limits === undefined) return undefined;
  const admission = limits.take(prepared.route, {
    user: principal?.user.id,
    client: principal?.clientId,
    tool: facts?.mcp?.tool,
  });
  return after(admission, (admitted) => (admitted.ok ? hold(context, admitted.release) : admitted));
}

/** Releases when the request ends, in whichever way. The exchange gets no event for the end of a WebSocket connection. */
function hold(context: RequestContext, release: Extract<Admission, { ok: true }>["release"]): undefined {
  if (release === undefined) return undefined;
  context.onEnd = release;
  context.exchange.onClose(release);
  return undefined;
}

/** Response on ordinary routes. */
export function answerLimited({ exchange }: RequestContext, limited: Limited): void {
  if (limited.retryAfterMs === undefined) return answerUnavailable(exchange);
  const { retryAfterMs, limit } = limited;
  respondError(
    exchange,
    429,
    {
      code: "limits.exceeded",
      message: `Too many requests: the limit "${limit.name}" of this address is used up, try again in ${retryAfterSeconds(retryAfterMs)} s`,
      canRetry: true,
    },
    limitHeaders(limited),
  );
}

/** Response on MCP server routes. */
export function answerLimitedMcp(context: RequestContext, limited: Limited): void {
  const { exchange, message, messageAddress, corsOrigin } = context;
  if (limited.retryAfterMs === undefined) return answerUnavailable(exchange, routeCorsHeaders(corsOrigin));
  const { limit, retryAfterMs } = limited;
  // Old clients expect the response to a call in their stream, and read only the status of this one.
  const readsBody = messageAddress === undefined;
  const shown = { limit: limit.name, retryAfterMs, seconds: retryAfterSeconds(retryAfterMs) };
  const wire = limitAnswer(message, shown, exchange.id, readsBody);
  answerWire(context, { ...wire, headers: [...wire.headers, ...limitHeaders(limited)] });
}

function answerUnavailable(exchange: RequestContext["exchange"], headers: readonly string[] = []): void {
  const message = "The limits of this address cannot be counted at the moment, try again shortly";
  respondAgainLater(exchange, { code: "limits.unavailable", message }, headers);
}
