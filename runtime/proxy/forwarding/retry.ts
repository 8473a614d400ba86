/**
 * Decides whether a failed request is resent, and to which upstream.
 *
 * Promises: a request with effects is resent only when no part of it can have reached an upstream.
 */
import type { Upstream } from "../../features/connection/compiled.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { Clock } from "../../shared/clock.ts";
import type { RequestContext } from "../request-context.ts";

export interface FailedAttempt {
  readonly failure: UpstreamFailure;
  readonly upstream: Upstream;
  /** Number of attempts, including this one. */
  readonly attempts: number;
  /** No part of its body was sent. */
  readonly isUntaken: boolean;
}

/** @returns undefined if the failure is final */
export function upstreamForRetry(clock: Clock, context: RequestContext, failed: FailedAttempt): Upstream | undefined {
  const { exchange, prepared } = context;
  const { failure, upstream, attempts, isUntaken } = failed;
  if (isUntaken && (failure === "unreachable" || failure === "connect-timeout")) {
    prepared.balancer.failed(upstream, clock.now());
    return pickAnother(clock, context, failed);
  }
  if (isUntaken && failure === "overloaded") return pickAnother(clock, context, failed);
  // A reset GET has most likely met a connection that the upstream was closing.
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
