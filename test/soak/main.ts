/**
 * `npm run soak -- --minutes 10 --seed 7 --store both --replicas 3`: faults strike real gateways under traffic, and the history shows
 * that nothing was lost and nobody let in.
 *
 * Options: --minutes N (10) --seed S (of the clock) --store sqlite|postgres|both (both: half of the time each) --replicas 1..3 (2)
 * --workers N (2) --faults a,b (all) --keep DIR (report, plot, history, logs) --json (the report alone, on standard output).
 * Seeded bugs, which its checks must catch: `npm run soak:bugs`.
 * Exit code 1 when something was lost or wrongly allowed, or traffic did not recover; 2 when it could not be run.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { errorText } from "../../runtime/shared/errors.ts";
import { takeOwnMounts } from "./own-mounts.ts";
import { plotSvg } from "./plot.ts";
import { reportText, type SoakReport } from "./report.ts";
import { type Progress, runSoak } from "./run.ts";
import { namedFaults } from "./schedule.ts";
import type { SoakOptions, StoreKind } from "./world/types.ts";

const STORES: Readonly<Record<string, readonly StoreKind[]>> = {
  sqlite: ["sqlite"],
  postgres: ["postgres"],
  both: ["postgres", "sqlite"],
};

interface Command extends SoakOptions {
  readonly json: boolean;
}

/** @throws Error that says what is wrong */
export function readOptions(args: readonly string[]): Command {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: String(Date.now() % 100_000) },
      store: { type: "string", default: "both" },
      replicas: { type: "string", default: "2" },
      workers: { type: "string", default: "2" },
      faults: { type: "string" },
      keep: { type: "string" },
      json: { type: "boolean", default: false },
    },
  });
  const number = (name: "minutes" | "seed" | "replicas" | "workers", least: number, most: number): number => {
    const value = Number(values[name]);
    if (values[name].trim() === "" || !(value >= least && value <= most))
      throw new Error(`--${name} is "${values[name]}", must be a number from ${least} to ${most}`);
    return value;
  };
  const stores = STORES[values.store];
  if (!stores) throw new Error(`--store is "${values.store}", must be sqlite, postgres or both`);
  const faults = values.faults?.split(",").filter((name) => name !== "");
  namedFaults(faults);
  return {
    minutes: number("minutes", 0.5, 24 * 60),
    seed: number("seed", 0, Number.MAX_SAFE_INTEGER),
    stores,
    replicas: number("replicas", 1, 3),
    workers: number("workers", 2, 8),
    ...(faults !== undefined && { faults }),
    ...(values.keep !== undefined && { keep: values.keep }),
    json: values.json,
  };
}

/** Writes report.json, report.txt and a plot for each store. */
export function keepReport(report: SoakReport, folder: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "report.json"), `${JSON.stringify(report, null, 2)}\n`);
  writeFileSync(join(folder, "report.txt"), `${reportText(report)}\n`);
  for (const store of report.stores) writeFileSync(join(folder, `${store.store}.svg`), plotSvg(store));
}

/** One line that is written over on a terminal; elsewhere a line for each thing that happens. */
function tellTo(stream: NodeJS.WriteStream): (progress: Progress) => void {
  let last = "";
  return ({ store, elapsedMs, totalMs, operations, unanswered, text }) => {
    const minutes = (ms: number): string =>
      `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, "0")}`;
    const line = `${store} ${minutes(elapsedMs)} of ${minutes(totalMs)}, ${operations} operations, ${unanswered} without an answer: ${text}`;
    if (stream.isTTY) stream.write(`\r\u001B[K${line.slice(0, stream.columns - 1)}`);
    else if (text !== last) stream.write(`${line}\n`);
    last = text;
  };
}

async function main(): Promise<number> {
  let options: Command;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    console.error(errorText(error));
    return 2;
  }
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(signal, () => {
      // Whoever asks twice does not want to wait; processes end with this one.
      if (stop.signal.aborted) process.exit(130);
      stop.abort();
    });
  }
  console.error(`seed ${options.seed}`);
  const report = await runSoak(options, { tell: tellTo(process.stderr), stop: stop.signal });
  if (process.stderr.isTTY) process.stderr.write("\n");
  if (options.keep !== undefined) keepReport(report, options.keep);
  console.log(options.json ? JSON.stringify(report, null, 2) : reportText(report));
  if (stop.signal.aborted) return 130;
  return report.passed ? 0 : 1;
}

if (import.meta.main) {
  takeOwnMounts();
  process.exit(await main());
}
