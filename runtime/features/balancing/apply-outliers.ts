/**
 * Passive checks: upstreams that answer users' requests with errors are ejected for a while, longer each time.
 *
 * Promise: the last healthy upstream is never ejected, and never more upstreams at the same time than the settings
 * permit.
 */
import type { OutlierDetection } from "./compiled.ts";
import type { UpstreamFailure } from "../connection/failure.ts";
import type { UpstreamState } from "./apply-state.ts";

/** Both methods return whether the upstream is ejected from now on. */
export interface Outliers {
  answered(state: UpstreamState, status: number, nowMs: number): boolean;
  failed(state: UpstreamState, failure: UpstreamFailure, nowMs: number): boolean;
}

/** Failures caused by the client or the gateway, not the upstream. */
const UNCOUNTED_FAILURES: ReadonlySet<UpstreamFailure> = new Set([
  "overloaded",
  "request-body",
  "closed",
  "unhealthy",
  "loop",
]);

/** @param all the upstreams of one route */
export function createOutliers(settings: OutlierDetection, all: readonly UpstreamState[]): Outliers {
  const { consecutive5xx, consecutiveGatewayFailure, baseEjectionMs, maxEjectionMs, maxEjectionPercent } = settings;
  // A share that rounds down to none would have no effect.
  const mostEjected = Math.max(1, Math.floor((all.length * maxEjectionPercent) / 100));

  const countError = (state: UpstreamState, isGatewayError: boolean, nowMs: number): boolean => {
    state.errorsInARow += 1;
    state.gatewayErrorsInARow = isGatewayError ? state.gatewayErrorsInARow + 1 : 0;
    const isOutlier =
      (consecutive5xx > 0 && state.errorsInARow >= consecutive5xx) ||
      (consecutiveGatewayFailure > 0 && state.gatewayErrorsInARow >= consecutiveGatewayFailure);
    if (!isOutlier || !mayEject(state, nowMs)) return false;
    eject(state, nowMs);
    return true;
  };

  const mayEject = (state: UpstreamState, nowMs: number): boolean => {
    if (state.isEjected(nowMs)) return false;
    const ejected = all.filter((each) => each.isEjected(nowMs)).length;
    return ejected < mostEjected && all.some((each) => each !== state && each.isHealthy(nowMs));
  };

  const eject = (state: UpstreamState, nowMs: number): void => {
    if (nowMs - state.ejectedUntilMs > maxEjectionMs) state.ejectionsInARow = 0;
    state.ejectionsInARow += 1;
    state.ejections += 1;
    const forMs = Math.min(baseEjectionMs * state.ejectionsInARow, Math.max(baseEjectionMs, maxEjectionMs));
    state.ejectedSinceMs = nowMs;
    state.ejectedUntilMs = nowMs + forMs;
    state.errorsInARow = 0;
    state.gatewayErrorsInARow = 0;
  };

  return {
    answered(state, status, nowMs) {
      if (status >= 500) return countError(state, status >= 502 && status <= 504, nowMs);
      state.errorsInARow = 0;
      state.gatewayErrorsInARow = 0;
      return false;
    },
    failed(state, failure, nowMs) {
      return !UNCOUNTED_FAILURES.has(failure) && countError(state, true, nowMs);
    },
  };
}
