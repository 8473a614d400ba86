/** The longest turn of the event loop that a hostile case may cause. stall-probe.ts compares. */

/** A unit is 0.5 to 2 ms: a turn of half a second is found on an ordinary host. */
export const ORDINARY_UNITS = 300;

const STATE = Symbol.for("gateway.test.stall-probe");

interface State {
  /** Limit that the running case, or else its file, has stated. */
  most: number;
  ofFile: number;
  isInCase: boolean;
}

/** Shared in the process: Vitest loads a set-up file as another module than a test's import. */
const shared = globalThis as unknown as { [STATE]?: State };
export const stallLimit: State = (shared[STATE] ??= { most: ORDINARY_UNITS, ofFile: ORDINARY_UNITS, isInCase: false });

/** In a case: one turn of the event loop may cost this much. At the top of a file: the same for each of its cases. */
export function mayStall(units: number): void {
  if (!stallLimit.isInCase) stallLimit.ofFile = units;
  stallLimit.most = units;
}
