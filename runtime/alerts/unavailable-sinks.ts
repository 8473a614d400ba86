/** Notifies of record sinks that have been unavailable for a minute, and of records lost to one. */
import type { Notify } from "../audit/events.ts";
import type { RecordsOfThread } from "../audit/record-writer.ts";
import type { Closable, Clock } from "../shared/clock.ts";
import { recur } from "../shared/timing/recurring.ts";

const LOOK_EVERY_MS = 10_000;
const AWAY_MS = 60_000;

export function startAlertingOnSinks(thread: Pick<RecordsOfThread, "status">, notify: Notify, clock: Clock): Closable {
  const stopTimer = recur("check of record sinks", LOOK_EVERY_MS, alertOnSinks(thread, notify, clock));
  return { close: async () => stopTimer() };
}

/** @returns a function for one check */
export function alertOnSinks(thread: Pick<RecordsOfThread, "status">, notify: Notify, clock: Clock): () => void {
  const unavailableSince = new Map<string, number>();
  const reported = new Map<string, number>();
  return () => {
    const now = clock.now();
    for (const { name: sink, kind, isAway, waiting, lost } of thread.status()) {
      if (kind === "record_store") continue;
      if (!isAway) unavailableSince.delete(sink);
      else if (!unavailableSince.has(sink)) unavailableSince.set(sink, now);
      // The same in all processes: one of them notifies.
      if (now - (unavailableSince.get(sink) ?? now) >= AWAY_MS)
        notify({ type: "records.away", subject: sink, data: { sink, waiting } });
      if (lost > (reported.get(sink) ?? 0)) notify({ type: "records.lost", subject: sink, data: { sink, lost } });
      reported.set(sink, lost);
    }
  };
}
