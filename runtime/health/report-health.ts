/** Stores the reports of this process, and reads those of the others. */
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { type Closable, type Clock, epochSeconds } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { type PresenceRow, readPresence } from "../bundle/presence.ts";
import type { ProcessReport } from "./process-report.ts";
import { recur } from "../shared/timing/recurring.ts";

export interface ReportHealthDeps {
  readonly store: Pick<Store, "put" | "delete">;
  readonly id: string;
  readonly report: () => Promise<ProcessReport>;
  readonly clock: Clock;
  readonly log: Log;
}

const TAG = "health";
const TELL_EVERY_MS = 10_000;
/** Three reports may be lost before a process counts as silent … */
export const SILENT_AFTER_SECONDS = 35;
/** … and then stays visible for this time. */
const EXPIRES_AFTER_SECONDS = 120;

export function healthKey(id: string): string {
  return `health:${id}`;
}

export interface HealthReporter extends Closable {
  /** Called automatically; tests call it. Never rejects. */
  tell(): Promise<void>;
}

export function startReportingHealth({ store, id, report, clock, log }: ReportHealthDeps): HealthReporter {
  let closed = false;
  let telling = Promise.resolve();
  let isQueued = false;
  const stopTimer = recur("the health report", TELL_EVERY_MS, tell);
  void tell();

  return {
    tell,
    async close() {
      closed = true;
      stopTimer();
      await telling;
      await store.delete(healthKey(id)).catch(() => false);
    },
  };

  /** One at a time: a slow store must not get ever more requests. */
  function tell(): Promise<void> {
    if (isQueued) return telling;
    isQueued = true;
    return (telling = telling.then(async () => {
      isQueued = false;
      if (closed) return;
      try {
        const expiresAt = epochSeconds(clock) + EXPIRES_AFTER_SECONDS;
        await store.put(healthKey(id), await report(), { tags: [TAG], expiresAt });
      } catch (error) {
        log.debug({ reason: errorText(error) }, "cannot write health report");
      }
    }));
  }
}

/** Processes with reports, and those without a console, of which little is known. */
export interface Processes {
  readonly reports: readonly ProcessReport[];
  readonly others: readonly PresenceRow[];
}

/** @throws GatewayError `store.unavailable` */
export async function readProcesses(store: Pick<Store, "list" | "now">): Promise<Processes> {
  const [told, present] = await Promise.all([store.list<ProcessReport>(TAG), readPresence(store)]);
  const reports = told.map(({ value }) => value);
  const known = new Set(reports.map(({ id }) => id));
  return { reports, others: present.filter(({ id }) => !known.has(id)) };
}
