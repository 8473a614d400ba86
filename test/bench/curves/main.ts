/** `npm run bench -- --curves`: processor time a request and memory against sizes; JSON, a page and its plot. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { freemem } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

import { REST_CORE } from "../common/child.ts";
import { residentKibibytes } from "../common/cpu.ts";
import { measureRounds } from "../common/rounds.ts";
import { onStage } from "../common/stage.ts";
import { spreadOf } from "../common/statistics.ts";
import { formatTable } from "../common/table.ts";
import { readHistory } from "../guard/history.ts";
import { describeMachine, lookAround, othersShare, watchQuietly } from "../report/machine.ts";
import { startProgress } from "../report/progress.ts";
import { type Curve, CURVES } from "./curves.ts";
import type { CurveFigures, Curves } from "./figures.ts";
import { renderCurves, renderCurvesPlot, tableOf } from "./page.ts";
import type { Subject } from "./start.ts";
import { STARTS } from "./starts.ts";

export interface CurvesArguments {
  /** Names of curves; default: all. */
  readonly only: readonly string[] | undefined;
  readonly rounds: number;
  readonly durationMs: number;
  readonly isQuick: boolean;
  /** Where the figures go. */
  readonly json: string;
}

export const CURVES_JSON = new URL("curves.json", import.meta.url).pathname;
const PAGE = new URL("../../../runtime/CURVES.md", import.meta.url);
const PLOT = new URL("../../../runtime/curves.svg", import.meta.url);
/** Of each case, until V8 has compiled most of it. */
const WARM_UP_MS = 2_000;
const SETTLE_MS = 700;
/** What 100,000 routes take at most while they are loaded, with room to spare. */
const LARGE_BYTES = 5 * 2 ** 30;

/** Writes the page of figures that were measured before, and of the guard's history. */
export async function writeCurvesPage(json: string): Promise<void> {
  const figures = JSON.parse(await readFile(json, "utf8")) as Curves;
  await writeFile(PAGE, renderCurves(figures, await readHistory()));
  await writeFile(PLOT, renderCurvesPlot(figures));
  console.log("runtime/CURVES.md and runtime/curves.svg are written.");
}

export async function measureAllCurves(args: CurvesArguments): Promise<void> {
  const unknown = args.only?.filter((name) => !CURVES.some((each) => each.name === name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`--only is "${unknown.join(",")}", must be some of ${CURVES.map(({ name }) => name).join(",")}`);
  if (existsSync("/usr/bin/taskset"))
    execFileSync("/usr/bin/taskset", ["-acp", REST_CORE, String(process.pid)], { stdio: "ignore" });
  const progress = startProgress();
  const othersBefore = await watchQuietly(2000);
  const before = lookAround();
  const startedMs = performance.now();
  const curves: CurveFigures[] = [];
  const missing: string[] = [];
  for (const curve of CURVES.filter(({ name }) => args.only?.includes(name) ?? true))
    try {
      curves.push(await measureCurve(curve, args, progress.show, missing));
    } catch (error) {
      // The others took minutes.
      missing.push(`${curve.name}: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
    }
  progress.end();
  const figures: Curves = {
    made: new Date().toISOString().slice(0, 19) + "Z",
    command: `npm run bench -- ${process.argv.slice(2).join(" ")}`,
    machine: describeMachine([]),
    rounds: args.rounds,
    seconds: args.durationMs / 1000,
    isQuick: args.isQuick,
    tookSeconds: Math.round((performance.now() - startedMs) / 1000),
    othersBefore,
    othersMeanwhile: othersShare(before, lookAround()),
    curves,
    missing,
  };
  await writeFile(args.json, `${JSON.stringify(figures, undefined, 1)}\n`);
  for (const each of curves) {
    const { header, rows } = tableOf(each);
    console.log(`${each.name}\n${formatTable(header, rows)}\n`);
  }
  for (const line of missing) console.log(line);
  console.log(`${args.json}, ${figures.tookSeconds} s. Page: npm run bench -- --curves --page --json ${args.json}`);
}

async function measureCurve(
  { name, points, quickPoints }: Curve,
  { isQuick, rounds, durationMs }: CurvesArguments,
  show: (what: string) => void,
  missing: string[],
): Promise<CurveFigures> {
  return onStage(async (stage) => {
    const subjects: (Subject & { readonly x: number })[] = [];
    for (const x of isQuick ? quickPoints : points) {
      if (x >= 100_000 && freemem() < LARGE_BYTES) {
        missing.push(`${name}, ${x}: less than ${LARGE_BYTES / 2 ** 30} GiB of memory are free`);
        continue;
      }
      show(`${name}: starting with ${x.toLocaleString("en")}`);
      subjects.push({ x, ...(await STARTS[name](x, stage)) });
    }
    const processes = subjects.flatMap(({ x, processes: own }) => own.map((each) => ({ x, ...each })));
    const cases = processes.flatMap(({ x, pid, cases: own }) =>
      own.map((each) => ({ x, pid, name: each.line, per: 1, ...each })),
    );
    show(`${name}: warming up`);
    const warmUpMs = (WARM_UP_MS * cases.length) / (isQuick ? 4 : 1);
    await Promise.all(cases.map(({ run }) => run(warmUpMs)));
    show(name);
    const samples = await measureRounds(cases, { rounds, durationMs, warmUpMs: 0, isMirrored: true });
    const failed = samples.find(({ errors }) => errors > 0);
    if (failed) throw new Error(`${name}: ${failed.errors} requests of "${failed.name}" failed`);
    await delay(SETTLE_MS);
    for (const { pid } of processes) process.kill(pid, "SIGUSR2");
    await delay(SETTLE_MS * 2);
    const measured = samples.map(({ cpuMicros }, index) => ({
      line: cases[index]?.line ?? "",
      x: cases[index]?.x ?? 0,
      cpuMicros: spreadOf(cpuMicros.map((value) => value / (cases[index]?.per ?? 1))),
    }));
    return {
      name,
      lines: byName(measured.map(({ line, ...point }) => ({ name: line, point }))),
      memory: byName(
        processes.map(({ memory, x, pid }) => ({
          name: memory,
          point: { x, mebibytes: Math.round(residentKibibytes(pid) / 102.4) / 10 },
        })),
      ),
    };
  });
}

function byName<T>(
  each: readonly { readonly name: string; readonly point: T }[],
): readonly { readonly name: string; readonly points: readonly T[] }[] {
  return [...new Set(each.map(({ name }) => name))].map((name) => ({
    name,
    points: each.filter((one) => one.name === name).map(({ point }) => point),
  }));
}
