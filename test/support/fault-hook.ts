/**
 * Loaded by a gateway's process before all else: replaces runtime/shared/faults/guard.ts by one that notes which guards run, and makes
 * the one that the test names throw. The program under test has no code for it.
 */
import { registerHooks } from "node:module";
import { isMainThread } from "node:worker_threads";

import { THROWN, type FaultAnswer, type FaultQuestion, type Place } from "./fault-places.ts";

const GUARD = /\/runtime\/shared\/faults\/guard\.ts$/;
const SOURCE = `
import * as real from "./guard.ts?real";
const at = globalThis.faultAt;
export const guard = (owner, run) => real.guard(owner, at(run));
export const guardEach = (run) => real.guardEach(at(run));
export const guardSocket = (socket, run) => real.guardSocket(socket, at(run));
export const task = (what, run) => real.task(what, at(run));
`;

if (isMainThread && process.send) install();

function install(): void {
  let armed: FaultQuestion = {};
  let reached = new Set<Place>();
  let thrown = false;

  const hit = (): void => {
    armed = {};
    thrown = true;
    throw new Error(THROWN);
  };
  const at = (run: (...args: unknown[]) => unknown): ((...args: unknown[]) => unknown) => {
    const place = callerOf(at);
    return (...args) => {
      reached.add(place);
      if (armed.arm === place) hit();
      return run(...args);
    };
  };
  Object.assign(globalThis, { faultAt: at });

  process.on("message", (question: FaultQuestion) => {
    const answer: FaultAnswer = { reached: [...reached], thrown };
    reached = new Set();
    thrown = false;
    armed = question;
    process.send?.(answer);
  });
  process.channel?.unref();
  registerHooks({
    load: (url, context, next) =>
      GUARD.test(url) ? { format: "module", shortCircuit: true, source: SOURCE } : next(url, context),
  });
}

/** The call before that of the replaced guard. */
function callerOf(below: (...args: never[]) => unknown): Place {
  const before = { prepareStackTrace: Error.prepareStackTrace?.bind(Error), stackTraceLimit: Error.stackTraceLimit };
  Error.stackTraceLimit = 2;
  Error.prepareStackTrace = (_error, frames) => frames;
  const trace: { stack?: unknown } = {};
  Error.captureStackTrace(trace, below);
  const frame = (trace.stack as NodeJS.CallSite[])[1];
  Object.assign(Error, before);
  return `${frame?.getFileName()}:${frame?.getLineNumber()}:${frame?.getColumnNumber()}`;
}
