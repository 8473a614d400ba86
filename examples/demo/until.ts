import { setTimeout as pause } from "node:timers/promises";

import { POLL_MS } from "../../test/support/limits.ts";

/**
 * Asks again and again; a question that fails is a no.
 *
 * @returns milliseconds that it took
 * @throws Error when it does not come about
 */
export async function until(holds: () => Promise<boolean>, what: string, withinMs = POLL_MS): Promise<number> {
  const beganAt = performance.now();
  let cause: unknown;
  const ask = (): Promise<boolean> =>
    holds().catch((error: unknown) => {
      cause = error;
      return false;
    });
  while (!(await ask())) {
    if (performance.now() - beganAt > withinMs) {
      throw new Error(`It did not come about within ${withinMs / 1000} s that ${what}`, { cause });
    }
    await pause(50);
  }
  return Math.round(performance.now() - beganAt);
}
