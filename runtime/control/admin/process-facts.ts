/** What readiness and status say first, of one process as of several. */
import type { Store } from "../../store/store.ts";
import { within } from "../../shared/clock.ts";
import { VERSION } from "../../shared/version.ts";

const ASK_AGAIN_AFTER_MS = 1_000;
/** Below the time probes usually wait for us. */
const ANSWER_WITHIN_MS = 2_000;

/** @returns facts of the moment, from a process that has started now; never rejects and answers within two seconds */
export function processFacts(isDraining: () => boolean, store: Pick<Store, "get">) {
  const isStoreHealthy = storeHealth(store);
  const startedMs = performance.now();
  return async () => ({
    version: VERSION,
    node: process.version,
    uptime_seconds: Math.floor((performance.now() - startedMs) / 1000),
    draining: isDraining(),
    store: (await isStoreHealthy()) ? ("ok" as const) : ("down" as const),
  });
}

/** Whether the store answers; asked at most once a second, however often somebody wants to know. */
function storeHealth(store: Pick<Store, "get">): () => Promise<boolean> {
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let answer = Promise.resolve(false);
  return () => {
    if (performance.now() - askedAtMs >= ASK_AGAIN_AFTER_MS) {
      askedAtMs = performance.now();
      answer = ask(store);
    }
    return answer;
  };
}

function ask(store: Pick<Store, "get">): Promise<boolean> {
  const answered = store.get("status:health").then(
    () => true,
    () => false,
  );
  return within(ANSWER_WITHIN_MS, answered, () => false);
}
