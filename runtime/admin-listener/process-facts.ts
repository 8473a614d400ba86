/**
 * Facts that readiness and status start with, for one or several processes; and the process's own faults, in the log
 * and the metrics.
 */
import type { StoreHealth } from "../store/watch/store-health.ts";
import type { Closable } from "../shared/clock.ts";
import { onFault, type Fault } from "../shared/faults/faults.ts";
import type { Log } from "../shared/log.ts";
import { VERSION } from "../shared/version.ts";
import { createCounter, type Series } from "./series.ts";
import { storeStatus } from "./store/store-status.ts";

/** @returns current facts of the process; never rejects, and resolves within 50 ms */
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

export interface FaultReports extends Closable {
  readonly series: Series;
}

/** Reports caught and uncaught faults. @param log the process has one for all that it runs */
export function reportFaults(log: Log): FaultReports {
  const faults = createCounter<"scope">({
    name: "gateway_faults_total",
    help: "Errors in the gateway itself, by effect: request (the request or its connection failed), task (none: the task runs again), process (it drains and exits).",
  });
  // From the start: a counter that appears with its first count shows no increase.
  for (const scope of ["request", "task", "process"] as const) faults.add({ scope }, 0);
  const report = ({ scope, error: err, request, what }: Fault): void => {
    faults.add({ scope });
    if (scope === "request") log.error({ request, what, err }, "request failed");
    else if (scope === "task") log.error({ task: what, err }, "background task failed");
    else log.error({ err }, "uncaught error, process drains and exits");
  };
  const stop = onFault(report);
  return { series: faults.series, close: () => Promise.resolve(stop()) };
}
