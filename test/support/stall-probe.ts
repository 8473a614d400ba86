/**
 * Hostile cases must not block the gateway's thread for long. The ordinary limit is for all of them; a file or a case that
 * takes more states it with `mayStall`.
 *
 * The probe measures the cost of a turn of the event loop, as CPU time of its thread in units of the same process. A probe in
 * another thread would get late responses on a busy host. The case's own work also counts, so a limit is an upper bound for
 * the gateway. A case that exceeds it runs again (`retry` in vitest.config.ts): only a stall that occurs each time fails.
 */
import { afterEach, beforeEach, expect } from "vitest";

import { ORDINARY_UNITS, stallLimit } from "./stall-limit.ts";
import { cpuMicros, unitMicros, unitNow } from "./work.ts";

let longest = 0;
let since = 0;
/** ID of the chain of turns that is followed. */
let running = 0;

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

const file = expect.getState().testPath;
// Before the module of the file itself is loaded, which may state another limit.
if (file?.includes("/test/hostile/") === true) {
  stallLimit.ofFile = ORDINARY_UNITS;
  unitMicros();
  beforeEach(() => {
    stallLimit.isInCase = true;
    stallLimit.most = stallLimit.ofFile;
    longest = 0;
    since = cpuMicros();
    running += 1;
    setImmediate(nextTurn, running).unref();
  });
  afterEach(() => {
    takeTurn();
    running += 1;
    stallLimit.isInCase = false;
    const { most } = stallLimit;
    if (longest < most * unitMicros()) return;
    // Measured again before a case fails: the host may be slower than when this process began.
    const units = longest / Math.max(unitMicros(), unitNow());
    if (units >= most)
      throw new Error(`A turn of the event loop took ${Math.round(units)} units of work, at most ${most} are stated`);
  });
}
