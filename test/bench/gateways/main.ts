/** `npm run bench -- --gateways`: other gateways next to this one, from package registries only; JSON and a page. */
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";

import { REST_CORE } from "../common/child.ts";
import { formatTable } from "../common/table.ts";
import { describeMachine, lookAround, othersShare, watchQuietly } from "../report/machine.ts";
import { startProgress } from "../report/progress.ts";
import type { Contender, Variant, WorkName } from "./contender.ts";
import type { Containers } from "./containers/figures.ts";
import { CONTAINED, measureContainers } from "./containers/measure.ts";
import type { Cell, Comparison, Run, WorkFigures } from "./figures.ts";
import { emptyFindings, type Found, rowOf, roundsOf } from "./found.ts";
import { measureIdle, measureWork } from "./measure.ts";
import { renderPage, renderPlot, renderQuote, summaryRows } from "./page.ts";
import { PROGRAMS } from "./programs.ts";
import { ROWS } from "./rows.ts";
import { type Stage, startStage, type World } from "./stage.ts";
import type { Tail } from "./tail/figures.ts";
import { measureTail, TIMED } from "./tail/measure.ts";
import { renderTailPlot } from "./tail/page.ts";
import { verifyRecords } from "./verify.ts";
import { openWorld } from "./world.ts";
import { type Work, WORKS } from "./works.ts";

export interface GatewayArguments {
  /** Names of rows; default: all. */
  readonly only: readonly string[] | undefined;
  /** Names of works; default: all. */
  readonly works: readonly string[] | undefined;
  /** Some of PARTS; default: all. Figures of the others stay, with what they say of their own run. */
  readonly parts: readonly string[] | undefined;
  readonly rounds: number;
  readonly durationMs: number;
  readonly isQuick: boolean;
  /** Where the figures go. */
  readonly json: string;
}

const PAGE = new URL("../../../runtime/COMPARISON.md", import.meta.url);
const README = new URL("../../../README.md", import.meta.url);
const PLOT = new URL("../../../runtime/comparison.svg", import.meta.url);
const LATENCY_PLOT = new URL("../../../runtime/comparison-latency.svg", import.meta.url);
export const FIGURES = new URL("comparison.json", import.meta.url).pathname;

/** Writes the page of figures that were measured before. */
export async function writePage(json: string): Promise<void> {
  const comparison = JSON.parse(await readFile(json, "utf8")) as Comparison;
  await writeFile(PAGE, renderPage(comparison));
  await writeFile(PLOT, renderPlot(comparison));
  const plot = comparison.tail && renderTailPlot(comparison.tail);
  if (plot !== undefined) await writeFile(LATENCY_PLOT, plot);
  const readme = await readFile(README, "utf8");
  await writeFile(
    README,
    readme.replace(/^\*\*Cost:\*\* .*$/m, () => renderQuote(comparison)),
  );
  console.log("runtime/COMPARISON.md, its plots and the README's sentence are written.");
}

export const PARTS = ["works", "latency", "containers"] as const;

export async function compareGateways(args: GatewayArguments): Promise<void> {
  const parts = chosen(
    PARTS.map((name) => ({ name })),
    args.parts,
    "--parts",
  ).map(({ name }) => name);
  const all = chosen(ROWS, args.only, "--only");
  const works = chosen(WORKS, args.works, "--works");
  const before = await earlierFigures(args.json, parts.includes("works"));
  const timed = parts.includes("latency") ? all.filter(({ name }) => TIMED.includes(name)) : [];
  const contained = parts.includes("containers") ? all.filter(({ name }) => CONTAINED.includes(name)) : [];
  const contenders = parts.includes("works") ? all : all.filter((each) => [...timed, ...contained].includes(each));
  if (existsSync("/usr/bin/taskset")) {
    execFileSync("/usr/bin/taskset", ["-acp", REST_CORE, String(process.pid)], { stdio: "ignore" });
  }
  const progress = startProgress();
  const absent = await install(contenders, progress.show);
  const isPresent = ({ name }: Contender): boolean => !absent.has(name);
  const othersBefore = await watchQuietly(2000);
  const around = lookAround();
  const startedMs = performance.now();
  const world = await openWorld(progress.show);
  const found = emptyFindings();
  let tail: Omit<Tail, "run"> | undefined;
  let containers: Omit<Containers, "run"> | undefined;
  try {
    if (parts.includes("works")) await measureAll(world, contenders.filter(isPresent), works, args, found);
    // The works have other clients, of the upstream's own priority.
    if (timed.length + contained.length > 0) world.preferUpstream();
    if (timed.length > 0) tail = await measureTail(world, timed.filter(isPresent), args.isQuick);
    if (contained.length > 0) containers = await measureContainers(world, contained.filter(isPresent), args.isQuick);
  } finally {
    await world.close();
    progress.end();
  }
  const run: Run = {
    made: new Date().toISOString().slice(0, 19) + "Z",
    command: `npm run bench -- ${process.argv.slice(2).join(" ")}`,
    machine: describeMachine([]),
    isQuick: args.isQuick,
    tookSeconds: Math.round((performance.now() - startedMs) / 1000),
    loadBefore: around.load,
    othersBefore,
    othersMeanwhile: othersShare(around, lookAround()),
  };
  const figures = parts.includes("works")
    ? {
        rounds: args.rounds,
        seconds: args.durationMs / 1000,
        works: works.map(({ name, title, connections }) => ({ name, title, connections })),
        rows: await Promise.all(
          contenders.map(async (each) => rowOf(each, works, found, args.rounds, absent.get(each.name))),
        ),
        ...run,
      }
    : undefined;
  const comparison = {
    ...before,
    ...figures,
    ...(tail && { tail: { run, ...tail } }),
    ...(containers && { containers: { run, ...containers } }),
  } as Comparison;
  await writeFile(args.json, `${JSON.stringify(comparison, undefined, 2)}\n`);
  report(comparison, run, args.json);
}

/** @throws Error if all that the file would have are parts without the works */
async function earlierFigures(file: string, isWithWorks: boolean): Promise<Comparison | undefined> {
  if (existsSync(file)) return JSON.parse(await readFile(file, "utf8")) as Comparison;
  if (isWithWorks) return undefined;
  throw new Error(`Cannot add to ${file}: it does not exist. Measure the part "works" first`);
}

function report(comparison: Comparison, run: Run, json: string): void {
  const { header, rows } = summaryRows(comparison);
  console.log(`${formatTable(header, rows)}\n`);
  for (const { title, missing, works: figures } of comparison.rows) {
    if (missing !== undefined) console.log(`${title}: missing, ${missing}`);
    for (const [work, { missing: reason }] of Object.entries(figures))
      if (reason !== undefined) console.log(`${title}, ${work}: missing, ${reason}`);
  }
  if (comparison.containers?.missing !== undefined)
    console.log(`Small containers are not measured: ${comparison.containers.missing}`);
  console.log(`${json}, ${run.tookSeconds} s. Page: npm run bench -- --gateways --page --json ${json}`);
}

function chosen<T extends { readonly name: string }>(
  all: readonly T[],
  names: readonly string[] | undefined,
  option: string,
): readonly T[] {
  const unknown = names?.filter((name) => !all.some((each) => each.name === name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`${option} is "${unknown.join(",")}", must be some of ${all.map(({ name }) => name).join(",")}`);
  return all.filter(({ name }) => names?.includes(name) ?? true);
}

/** @returns why a row cannot be had, by name */
async function install(contenders: readonly Contender[], show: (what: string) => void): Promise<Map<string, string>> {
  const absent = new Map<string, string>();
  for (const { name, title, programs } of contenders) {
    for (const program of programs) {
      show(`installing ${program} for ${title}: ${PROGRAMS[program].from}`);
      try {
        await PROGRAMS[program].install();
      } catch (error) {
        absent.set(name, `${PROGRAMS[program].from} cannot be had: ${messageOf(error)}`);
      }
    }
  }
  return absent;
}

async function measureAll(
  world: World,
  contenders: readonly Contender[],
  works: readonly Work[],
  args: GatewayArguments,
  found: Found,
): Promise<void> {
  const variants: readonly Variant[] = ["plain", "routes", "tls"];
  const groups = [false, true].map((isSlow) => contenders.filter((each) => (each.isSlow === true) === isSlow));
  const parts = variants.flatMap((variant) => works.filter((work) => work.variant === variant));
  const total = groups.reduce((sum, group) => sum + partsOf(group, parts), 0);
  let measured = 0;
  const partDone = (): void => void (measured += 1);
  const show = (what: string): void => world.show(`${measured} of ${total} parts measured; ${what}`);
  for (const those of groups)
    for (const variant of variants) {
      const wanted = works.filter((work) => work.variant === variant && partsOf(those, [work]) > 0);
      if (wanted.length === 0) continue;
      const stage = await startStage(world, variant, those, wanted);
      try {
        await measureStage(stage, variant, wanted, { ...args, upstream: world.upstream, show, partDone }, found);
      } finally {
        await stage.stop();
      }
    }
}

/** Counts works, once for each number of connections. What no gateway of the group can do is not counted. */
function partsOf(group: readonly Contender[], works: readonly Work[]): number {
  return works
    .filter((work) => group.some(({ cannot }) => cannot[work.name] === undefined))
    .reduce((sum, { connections }) => sum + connections.length, 0);
}

async function measureStage(
  stage: Stage,
  variant: Variant,
  works: readonly Work[],
  options: GatewayArguments & {
    readonly upstream: number;
    readonly show: (what: string) => void;
    readonly partDone: () => void;
  },
  found: Found,
): Promise<void> {
  const { isQuick, show } = options;
  note(stage, variant, found);
  if (stage.started.length === 0) return;
  if (variant === "plain") {
    show("idle");
    for (const [name, millis] of await measureIdle(stage.started, isQuick ? 2_000 : 10_000))
      found.idle.set(name, millis);
    for (const { contender, pids } of stage.started) found.processes.set(contender.name, pids.length);
  }
  const rounds = Math.min(...stage.started.map(({ contender }) => roundsOf(contender, options.rounds)));
  let isFirst = true;
  for (const work of works)
    for (const connections of work.connections) {
      const cells = await measureWork(work, connections, stage.started, { ...options, rounds, isFirst });
      isFirst = false;
      for (const [name, cell] of cells) put(found, name, work.name, connections, cell);
      options.partDone();
    }
  for (const each of stage.started) {
    const wanted = works.reduce(
      (sum, { name }) => sum + requestsOf(found.cells.get(each.contender.name)?.get(name)),
      0,
    );
    const wrong = await verifyRecords(each, each.recordsBefore, wanted);
    if (wrong !== undefined) remark(found, each.contender.name, wrong);
  }
}

function note(stage: Stage, variant: Variant, found: Found): void {
  for (const [name, reason] of stage.missing) {
    if (variant === "plain") found.missing.set(name, reason);
    else for (const { name: work } of WORKS.filter((each) => each.variant === variant)) lose(found, name, work, reason);
  }
  for (const [name, reasons] of stage.missingWorks)
    for (const [work, reason] of reasons) lose(found, name, work, reason);
}

function worksOf(found: Found, name: string): Map<WorkName, WorkFigures> {
  const works = found.cells.get(name) ?? new Map<WorkName, WorkFigures>();
  found.cells.set(name, works);
  return works;
}

function lose(found: Found, name: string, work: WorkName, missing: string): void {
  worksOf(found, name).set(work, { cells: {}, missing });
}

function put(found: Found, name: string, work: WorkName, connections: number, cell: Cell | string): void {
  if (typeof cell === "string") return lose(found, name, work, cell);
  const works = worksOf(found, name);
  const before = works.get(work);
  if (before?.missing !== undefined) return;
  works.set(work, { cells: { ...before?.cells, [connections]: cell } });
}

function remark(found: Found, name: string, text: string): void {
  found.remarks.set(name, [...(found.remarks.get(name) ?? []), text]);
}

function requestsOf(figures: WorkFigures | undefined): number {
  return Object.values(figures?.cells ?? {}).reduce((sum, { requests }) => sum + requests, 0);
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";
}
