/** A round of the event loop between two Ingresses: whoever translates must renew its Lease meanwhile. */
import { setImmediate as nextTurn } from "node:timers/promises";

/** A second of translating is no reason to lose it; a thousand rounds would be felt. */
const TURN_BUDGET_MS = 10;
let turnBeganMs = 0;

export async function giveWay(): Promise<void> {
  if (performance.now() - turnBeganMs < TURN_BUDGET_MS) return;
  await nextTurn();
  turnBeganMs = performance.now();
}
