/** What the ways of ordinary and MCP server routes have in common. */
import { errorText } from "../shared/errors.ts";
import { respondError } from "../http/respond.ts";
import type { ForwardDeps } from "./forwarding/forward.ts";
import { forward } from "./forwarding/forward.ts";
import { answerRoute, refuseRewrite } from "./answer-route.ts";
import type { Passage, ProxyDeps } from "./request-context.ts";
import { rewritePath } from "../features/routing/apply-rewrite.ts";
import { upgrade } from "./forwarding/upgrade.ts";

export interface StepDeps extends ProxyDeps {
  readonly forwarding: ForwardDeps;
}

/**
 * Goes on at once where the value is there, and later where it must be waited for.
 *
 * Promise: whatever throws later ends in a 500 and not upstream; what throws at once is caught by the `guard` in which
 * every way begins.
 */
export function proceed<T>(deps: StepDeps, passage: Passage, value: T | Promise<T>, next: (value: T) => void): void {
  if (value instanceof Promise) void proceedLater(deps, passage, value, next);
  else next(value);
}

async function proceedLater<T>(
  deps: StepDeps,
  passage: Passage,
  value: Promise<T>,
  next: (value: T) => void,
): Promise<void> {
  try {
    next(await value);
  } catch (error) {
    fail(deps, passage, error);
  }
}

/** Runs a step from where nobody would catch what it throws. */
export function guard(deps: StepDeps, passage: Passage, step: () => void): void {
  try {
    step();
  } catch (error) {
    fail(deps, passage, error);
  }
}

/** A bug or a failing part: the request is over, and nothing of it was allowed. */
export function fail(deps: StepDeps, passage: Passage, error: unknown): void {
  const { exchange, plan, trace } = passage;
  deps.log.error(
    { request: exchange.id, trace: trace?.traceId, route: plan.route.key, reason: errorText(error) },
    "request failed",
  );
  if (exchange.started) exchange.abort();
  else respondError(exchange, 500, { code: "internal", message: "The gateway failed to handle the request" });
}

/** The last step of every way: nothing but a recorded, allowed request comes here. */
export function forwardAllowed(deps: StepDeps, passage: Passage, recorded: Promise<void> | undefined): void {
  const { principal, plan } = passage;
  if (!plan.needsProviderTokens || !principal) {
    if (recorded === undefined) send(deps, passage);
    else proceed(deps, passage, recorded, () => send(deps, passage));
    return;
  }
  proceed(deps, passage, Promise.all([deps.authenticator.providerTokens(principal), recorded]), ([tokens]) => {
    passage.providerTokens = tokens;
    send(deps, passage);
  });
}

function send(deps: StepDeps, passage: Passage): void {
  const { exchange, plan } = passage;
  const { answer, rewrite } = plan.route;
  if (answer !== undefined) {
    const status = answerRoute(passage, answer);
    deps.metrics?.answered(plan.route, status, 0);
    return;
  }
  if (rewrite !== undefined) {
    passage.rewrittenPath = rewritePath(exchange.path, plan.route, rewrite);
    if (passage.rewrittenPath === undefined) {
      const status = refuseRewrite(exchange);
      deps.metrics?.answered(plan.route, status, 0);
      return;
    }
  }
  const { upgrade: offer } = exchange;
  if (offer === undefined) forward(deps.forwarding, passage);
  else upgrade(deps.forwarding, passage, offer);
}

/** The store or the provider cannot be asked: that is no verdict about the caller (D26). */
export function answerUnavailable(passage: Passage, headers: readonly string[] = []): void {
  respondError(
    passage.exchange,
    503,
    { code: "session.unavailable", message: "The session cannot be checked at the moment, try again shortly" },
    ["retry-after", "5", ...headers],
  );
}
