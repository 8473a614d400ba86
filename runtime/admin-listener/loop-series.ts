/** Delay of the event loop, with the names and units of prom-client's metrics, which it replaces: they need a timer. */
import { type LoopDelays, watchLoopDelay } from "../shared/timing/loop-delay.ts";
import { task } from "../shared/faults/guard.ts";
import type { Series } from "./series.ts";

const NAME = "gateway_nodejs_eventloop_lag";

type Statistic = readonly [
  name: string,
  help: string,
  read: (delays: LoopDelays) => number,
  merge: NonNullable<Series["merge"]>,
];

const STATISTICS: readonly Statistic[] = [
  ["min", "The minimum event loop delay.", ({ min }) => min, "min"],
  ["max", "The maximum event loop delay.", ({ max }) => max, "max"],
  ["mean", "The mean of the event loop delays.", ({ mean }) => mean, "average"],
  ["stddev", "The standard deviation of the event loop delays.", ({ deviation }) => deviation, "average"],
  ...([50, 90, 99] as const).map((percent): Statistic => {
    const help = `The ${percent}th percentile of the event loop delays.`;
    return [`p${percent}`, help, ({ percentile }) => percentile(percent), "average"];
  }),
];

/** @returns series to be registered in this order */
export function loopSeries(): readonly Series[] {
  const loop = watchLoopDelay();
  let taken: readonly number[] = [];
  let lag = 0;
  const current: Series = {
    name: `${NAME}_seconds`,
    help: "Lag of event loop in seconds.",
    type: "gauge",
    merge: "average",
    // First of all: the others show values of the same scrape.
    read() {
      taken = loop.take((delays) => STATISTICS.map(([, , read]) => read(delays) / 1000));
      const startedMs = performance.now();
      setImmediate(task("the lag of the event loop", () => (lag = (performance.now() - startedMs) / 1000)));
      return [{ value: lag }];
    },
  };
  const all = STATISTICS.map(([name, help, , merge], index): Series => {
    const read: Series["read"] = () => [{ value: taken[index] ?? 0 }];
    return { name: `${NAME}_${name}_seconds`, help, type: "gauge", merge, read };
  });
  return [current, ...all];
}
