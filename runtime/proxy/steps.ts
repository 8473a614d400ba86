/** Runs a request's list of steps (handle.ts); defines the results of steps. */
import type { RequestContext } from "./request-context.ts";
import { respondError } from "../http/respond.ts";
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";

/** "done": the request is answered, or will be without further steps. */
export type StepOutcome = "next" | "done";

/** Arranges a call of `resume`, which runs the next step: for events, where a promise would cost too much. */
export type Wait = (resume: () => void) => void;

/** A promise only if the step must wait: most requests run their whole list synchronously. */
export type Step = (context: RequestContext) => StepOutcome | Promise<StepOutcome> | Wait;

/** Continues synchronously if the value is there, and later if it must be waited for. */
export function after<T, R>(value: T | Promise<T>, goOn: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/**
 * Runs the steps in order up to the first that is done.
 *
 * Promise: a step that throws, now or later, or a list without a final step ends in a 500 and never upstream.
 */
export function runSteps(steps: readonly Step[], context: RequestContext, log: Log): void {
  runFrom(0, steps, context, log);
}

function runFrom(start: number, steps: readonly Step[], context: RequestContext, log: Log): void {
  try {
    let index = start;
    let outcome: ReturnType<Step>;
    do {
      const step = steps[index];
      if (step === undefined) throw new TypeError("a request that no step has answered");
      outcome = step(context);
      index += 1;
    } while (outcome === "next");
    if (outcome !== "done") runLater(outcome, index, steps, context, log);
  } catch (error) {
    fail(error, context, log);
  }
}

function runLater(
  outcome: Promise<StepOutcome> | Wait,
  index: number,
  steps: readonly Step[],
  context: RequestContext,
  log: Log,
): void {
  const resume = (): void => runFrom(index, steps, context, log);
  if (typeof outcome === "function") outcome(resume);
  else
    outcome.then(
      (later) => later === "next" && resume(),
      (error: unknown) => fail(error, context, log),
    );
}

/** A bug or a failing part ends the request without allowing anything. */
function fail(error: unknown, { exchange, prepared, trace }: RequestContext, log: Log): void {
  log.error(
    { request: exchange.id, trace: trace?.traceId, route: prepared.route.key, reason: errorText(error) },
    "request failed",
  );
  if (exchange.started) exchange.abort();
  else respondError(exchange, 500, { code: "internal", message: "The gateway failed to handle the request" });
}
