/** `npm run bench -- --report DIR`: measures, and writes DIR/report.html and DIR/report.json. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { REST_CORE } from "../common/child.ts";
import { type Bench, startTargets } from "../common/targets.ts";
import { compareOneAtATime, compareSection, compareTargets } from "./compare.ts";
import { measureCurves } from "./curves.ts";
import { goalSection, type Measured } from "./goals.ts";
import { type Report, renderReport } from "./html.ts";
import { measureLatency } from "./latency.ts";
import { describeMachine, lookAround, othersShare, watchQuietly } from "./machine.ts";
import { measureMemory, type MemoryFigure } from "./memory.ts";
import { startProgress } from "./progress.ts";
import type { ReportOptions, Section } from "./sections.ts";
import { measureStart } from "./start.ts";

export const REPORT_PARTS = ["compare", "latency", "curves", "memory", "start"] as const;
export const REPORT_PEERS = ["nginx", "haproxy-jwt", "apache-oidc", "caddy", "fastify", "bare"];

export interface ReportArguments {
  readonly directory: string;
  readonly rounds: number;
  readonly durationMs: number;
  readonly connections: number;
  readonly isQuick: boolean;
  /** Of REPORT_PARTS. */
  readonly only: readonly string[];
}

export async function makeReport(args: ReportArguments): Promise<void> {
  const unknown = args.only.filter((part) => !REPORT_PARTS.some((each) => each === part));
  if (unknown.length > 0) {
    throw new Error(`--only is "${unknown.join(",")}", must be some of ${REPORT_PARTS.join(",")}`);
  }
  const { directory, ...rest } = args;
  const remarks: string[] = [];
  const progress = startProgress();
  const say = (line: string): void => {
    remarks.push(line);
    progress.say(line);
  };
  const options: ReportOptions = { ...rest, progress: progress.show, say };
  await mkdir(directory, { recursive: true });
  // The client is in this process; the proxies have the first core for themselves.
  if (existsSync("/usr/bin/taskset")) {
    execFileSync("/usr/bin/taskset", ["-acp", REST_CORE, String(process.pid)], { stdio: "ignore" });
  } else {
    say("There is no taskset: proxies, client and upstream run wherever they like, which makes figures noisier.");
  }
  const othersBefore = await watchQuietly(2000);
  const before = lookAround();
  const startedMs = performance.now();
  const { sections, measured } = await measure(new Set(args.only), options);
  const after = lookAround();
  progress.end();
  const report: Report = {
    made: new Date().toISOString().slice(0, 19) + "Z",
    command: `npm run bench -- ${process.argv.slice(2).join(" ")}`,
    machine: describeMachine(REPORT_PEERS),
    rounds: args.rounds,
    seconds: args.durationMs / 1000,
    connections: args.connections,
    isQuick: args.isQuick,
    tookSeconds: (performance.now() - startedMs) / 1000,
    loadBefore: before.load,
    loadAfter: after.load,
    othersBefore,
    othersMeanwhile: othersShare(before, after),
    remarks,
    sections: [goalSection(measured), ...sections],
  };
  const { sections: all, ...head } = report;
  const figures = Object.fromEntries(all.map(({ name, figures: found }) => [name, found]));
  await writeFile(join(directory, "report.html"), renderReport(report));
  await writeFile(join(directory, "report.json"), `${JSON.stringify({ ...head, figures }, null, 1)}\n`);
  console.log(`${join(directory, "report.html")} and report.json, ${Math.round(report.tookSeconds)} s`);
}

async function measure(
  only: ReadonlySet<string>,
  options: ReportOptions,
): Promise<{ readonly sections: readonly Section[]; readonly measured: Measured }> {
  const sections: Section[] = [];
  let measured: Measured = {};
  if (["compare", "latency", "curves"].some((part) => only.has(part))) {
    options.progress("starting");
    const bench = await startTargets({ peers: REPORT_PEERS, say: options.say });
    try {
      measured = await measureTogether(bench, only, options, sections);
    } finally {
      await bench.close();
    }
  }
  const attempt = attempts(only, options);
  await attempt("memory", async () => {
    const section = await measureMemory(options);
    sections.push(section);
    measured = { ...measured, memory: section.figures as readonly MemoryFigure[] };
  });
  await attempt("start", async () => {
    const { figures, section } = await measureStart(options);
    sections.push(section);
    measured = { ...measured, start: figures };
  });
  return { sections, measured };
}

async function measureTogether(
  bench: Bench,
  only: ReadonlySet<string>,
  options: ReportOptions,
  sections: Section[],
): Promise<Measured> {
  let measured: Measured = {};
  const attempt = attempts(only, options);
  await attempt("compare", async () => {
    const compared = await compareTargets(bench, options);
    const oneAtATime = await compareOneAtATime(bench, options);
    measured = { compared, oneAtATime };
    sections.push(compareSection(compared, oneAtATime, options));
  });
  await attempt("latency", async () => void sections.push(await measureLatency(bench, options)));
  await attempt("curves", async () => void sections.push(await measureCurves(bench, options)));
  return measured;
}

/** A part that fails is left out, with a line that says so and exit code 1: the others took a quarter of an hour. */
function attempts(only: ReadonlySet<string>, { say }: ReportOptions) {
  return async (part: (typeof REPORT_PARTS)[number], work: () => Promise<void>): Promise<void> => {
    if (!only.has(part)) return;
    try {
      await work();
    } catch (error) {
      say(`"${part}" is left out, it failed: ${error instanceof Error ? error.message : String(error)}`);
      process.exitCode = 1;
    }
  };
}
