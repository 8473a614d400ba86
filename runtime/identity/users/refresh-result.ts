/** Results of a refresh at the identity provider. */
import { setTimeout as delay } from "node:timers/promises";

import type { TokenRefresh } from "../../shared/clock.ts";
import type { Identities } from "../interfaces.ts";

export type RefreshResult = Awaited<ReturnType<Identities["refresh"]>>;

export const REFUSED: RefreshResult = { ok: false, reason: "refused" };
export const UNAVAILABLE: RefreshResult = { ok: false, reason: "unavailable" };
/** Callers treat these like the results above; metrics distinguish them (provider/provider-verdicts.ts). */
export const UNCONFIRMED: RefreshResult = { ...REFUSED };
export const OUTAGE: RefreshResult = { ...UNAVAILABLE };

export function countedAs(result: RefreshResult): TokenRefresh["result"] {
  if (result.ok) return "ok";
  if (result === UNCONFIRMED) return "unconfirmed";
  return result === OUTAGE ? "outage" : result.reason;
}

const MAX_WAIT_MS = 3000;

/** Maximum time that a request waits for an unresponsive provider. */
export async function afterWaiting(): Promise<RefreshResult> {
  await delay(MAX_WAIT_MS, undefined, { ref: false });
  return UNAVAILABLE;
}
