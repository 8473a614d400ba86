/** Lets the event loop run between two Ingresses: the controller must renew its Lease during a translation. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** Translating for a second must not lose the Lease, but a thousand turns would be noticeable. */
const TURN_BUDGET_MS = 10;
let turnBeganMs = 0;

export async function giveWay(): Promise<void> {
  if (performance.now() - turnBeganMs < TURN_BUDGET_MS) return;
  await nextTurn();
  turnBeganMs = performance.now();
}
