/** Notifies of live processes that have not applied the configuration published a minute ago. */
import type { Notify } from "../audit/events.ts";
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { type Closable, type Clock, epochSeconds } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { livenessOf } from "../bundle/liveness.ts";
import { readPresence } from "../bundle/presence.ts";
import { readPublication } from "../bundle/published.ts";
import { recur } from "../shared/timing/recurring.ts";

export interface LagAlertDeps {
  readonly store: Store;
  readonly notify: Notify;
  readonly clock: Clock;
  readonly log: Log;
}

/** A process checks the store every few seconds, and validation takes some more. */
const GRACE_SECONDS = 60;
const LOOK_EVERY_MS = 30_000;
const MAX_REASON = 1000;

/** Every process checks all of them: a process that hangs cannot report itself. */
export function startAlertingOnLag(deps: LagAlertDeps): Closable {
  let looking = Promise.resolve();
  const stopTimer = recur("check for lagging processes", LOOK_EVERY_MS, () => (looking = check()));
  return {
    async close() {
      stopTimer();
      await looking;
    },
  };

  async function check(): Promise<void> {
    try {
      await alertOnLag(deps);
    } catch (error) {
      // The store reports its own failure.
      deps.log.debug({ reason: errorText(error) }, "cannot check replicas");
    }
  }
}

/** One check. @throws GatewayError `store.unavailable` */
export async function alertOnLag({ store, notify, clock }: Omit<LagAlertDeps, "log">): Promise<void> {
  const { publication } = await readPublication(store);
  const { generation, owners } = publication;
  const changedAt = Math.max(0, ...owners.flatMap(({ versions }) => versions.at(-1)?.at ?? 0));
  if (generation === 0 || epochSeconds(clock) - changedAt < GRACE_SECONDS) return;
  const rows = await readPresence(store);
  // A slice rejected by a process is reported by that process.
  for (const { id, reason } of livenessOf(rows, generation, []).laggards) {
    const data = { replica: id, generation, reason: reason.slice(0, MAX_REASON) };
    notify({ type: "replica.behind", subject: JSON.stringify([id, generation]), data });
  }
}
