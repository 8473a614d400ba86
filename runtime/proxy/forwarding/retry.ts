/**
 * Whether a request that failed is sent once more, and where.
 *
 * Promises: what has effects is sent again only when nothing of it can have reached an upstream.
 */
import type { Upstream } from "../../features/connection/compiled.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { Clock } from "../../shared/clock.ts";
import type { RequestContext } from "../request-context.ts";

export interface FailedAttempt {
  readonly failure: UpstreamFailure;
  readonly upstream: Upstream;
  /** How often it was sent, this time included. */
  readonly attempts: number;
  /** Nothing of its body is gone. */
  readonly isUntaken: boolean;
}

/** @returns undefined where the failure is the answer */
export function upstreamForRetry(clock: Clock, context: RequestContext, failed: FailedAttempt): Upstream | undefined {
  const { exchange, prepared } = context;
  const { failure, upstream, attempts, isUntaken } = failed;
  if (isUntaken && (failure === "unreachable" || failure === "connect-timeout")) {
    prepared.balancer.failed(upstream, clock.now());
    return pickAnother(clock, context, failed);
  }
  if (isUntaken && failure === "overloaded") return pickAnother(clock, context, failed);
  // A reset GET has most likely met a connection that the upstream was closing just then.
  const mayRepeat = isLost(failure) && attempts === 1 && isWithoutEffects(exchange.method) && !exchange.hasBody;
  return mayRepeat ? upstream : undefined;
}

function pickAnother(
  clock: Clock,
  context: RequestContext,
  { upstream, attempts }: FailedAttempt,
): Upstream | undefined {
  const { prepared } = context;
  if (attempts >= prepared.route.to.length || context.messageAddress !== undefined) return undefined;
  return prepared.balancer.pick(clock, context, upstream);
}

function isLost(failure: UpstreamFailure): boolean {
  return failure === "reset" || failure === "kept-closed";
}

function isWithoutEffects(method: string): boolean {
  return method === "GET" || method === "HEAD" || method === "OPTIONS";
}
