/** Says in the log and in the metrics what guards caught, and what nobody caught. */
import type { Closable } from "../../shared/clock.ts";
import { onFault, type Fault } from "../../shared/faults/faults.ts";
import type { Log } from "../../shared/log.ts";
import { createCounter, type Series } from "../admin/series.ts";

export interface FaultReports extends Closable {
  readonly series: Series;
}

/** @param log the process has one for all that it runs */
export function reportFaults(log: Log): FaultReports {
  const faults = createCounter<"scope">({
    name: "gateway_faults_total",
    help: "Mistakes of the gateway itself, by what ended: request (that one, or its connection), task (nothing, it goes on), process (it drains and ends).",
  });
  // From the beginning: what appears with its first count has no increase.
  for (const scope of ["request", "task", "process"] as const) faults.add({ scope }, 0);
  const report = ({ scope, error: err, request, what }: Fault): void => {
    faults.add({ scope });
    if (scope === "request") log.error({ request, what, err }, "request failed");
    else if (scope === "task") log.error({ task: what, err }, "a task failed, it goes on");
    else log.error({ err }, "an error that nobody caught: the process drains and ends");
  };
  const stop = onFault(report);
  return { series: faults.series, close: () => Promise.resolve(stop()) };
}
