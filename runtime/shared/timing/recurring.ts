/**
 * Work that recurs, on wake-ups that all parts of a process share: an idle process wakes once a second instead of once for
 * each part. Waking costs more than what most of them do.
 */
import { task } from "../faults/guard.ts";

const TICK_MS = 1_000;

interface Job {
  readonly everyTicks: number;
  readonly run: () => void;
  waits: number;
}

const jobs = new Set<Job>();
let timer: NodeJS.Timeout | undefined;

/**
 * Does not keep the process running. The first time is up to a second earlier than `everyMs` from now. Parts of a second have
 * a timer of their own.
 *
 * @param what for the log, if it fails @returns ends it
 */
export function recur(what: string, everyMs: number, work: () => unknown): () => void {
  const run = task(what, work);
  if (everyMs % TICK_MS !== 0) {
    const own = setInterval(run, everyMs).unref();
    return () => clearInterval(own);
  }
  const everyTicks = everyMs / TICK_MS;
  const job: Job = { everyTicks, run, waits: everyTicks };
  jobs.add(job);
  timer ??= setInterval(runDue, TICK_MS).unref();
  return () => {
    jobs.delete(job);
    if (jobs.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

const runDue = task("recurring work", () => {
  // A job may end others.
  for (const job of jobs) {
    job.waits -= 1;
    if (job.waits > 0) continue;
    job.waits = job.everyTicks;
    job.run();
  }
});
