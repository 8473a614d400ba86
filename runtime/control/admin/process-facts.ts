/** What readiness and status say first, of one process as of several. */
import type { StoreHealth } from "../../store/watch/store-health.ts";
import { VERSION } from "../../shared/version.ts";
import { storeStatus } from "./store/store-status.ts";

/** @returns facts of the moment, from a process that has started now; never rejects and answers within 50 ms */
export function processFacts(isDraining: () => boolean, storeHealth: Pick<StoreHealth, "look">) {
  const startedMs = performance.now();
  return async () => ({
    version: VERSION,
    node: process.version,
    uptime_seconds: Math.floor((performance.now() - startedMs) / 1000),
    draining: isDraining(),
    ...storeStatus(await storeHealth.look()),
  });
}
