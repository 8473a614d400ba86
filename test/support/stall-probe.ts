/**
 * No hostile case holds up the gateway's thread for long: each one that may take more than the ordinary says so.
 *
 * Measured is what a turn of the event loop costs, in CPU time of its thread and by a unit of the same run. Answers to a probe
 * in another thread would come late on a busy machine, for reasons that are not the gateway's. What the case itself does in
 * between counts as well, so a limit is an upper bound for the gateway.
 */
import { afterEach, beforeEach, expect } from "vitest";

import { cpuMicros, unitMicros, unitNow } from "./work.ts";

/** Of any case: some 20 are usual, and what one input did before there were budgets took thousands. */
const ORDINARY_UNITS = 1000;

const STATED = Symbol.for("gateway.test.stated-stall");

let longest = 0;
let since = 0;
/** Of the chain of turns that is followed. */
let running = 0;

/** Of the process: a set-up file is another module for Vitest than what a test imports. */
const stated = globalThis as unknown as { [STATED]?: number };

/** In a case: a turn of the event loop may cost so much. */
export function mayStall(units: number): void {
  stated[STATED] = units;
}

function takeTurn(): void {
  const now = cpuMicros();
  longest = Math.max(longest, now - since);
  since = now;
}

function nextTurn(chain: number): void {
  if (chain !== running) return;
  takeTurn();
  // Unreferenced: the loop still sleeps while there is nothing to do, and comes by once in each turn.
  setImmediate(nextTurn, chain).unref();
}

const isHostile = expect.getState().testPath?.includes("/test/hostile/") === true;

if (isHostile) {
  unitMicros();
  beforeEach(() => {
    stated[STATED] = ORDINARY_UNITS;
    longest = 0;
    since = cpuMicros();
    running += 1;
    setImmediate(nextTurn, running).unref();
  });
  afterEach(() => {
    takeTurn();
    running += 1;
    const most = stated[STATED] ?? ORDINARY_UNITS;
    // Measured anew before a case fails: caches and clocks may have been faster when this process began.
    const units = longest / (longest < most * unitMicros() ? unitMicros() : Math.max(unitMicros(), unitNow()));
    expect(units, "the longest turn of the event loop, in units of work (test/support/work.ts)").toBeLessThan(most);
  });
}
