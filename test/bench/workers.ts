/**
 * `node test/bench/workers.ts`: `gateway run --workers N` next to one process: processor time a request, memory of a worker, and
 * how long a publication, a sign-in and a sign-out take until all workers show them, under full load.
 *
 *   --workers 1,2,4   --rounds N (8)   --seconds S (1) of each   --connections C (64) to each worker   --changes N (5) of each kind
 *   --program FILE (built from this checkout)   --json FILE: a line of JSON for each figure
 *
 * SQLite, a web and an MCP route, GET with a session. A worker with few connections serves fewer requests each time it wakes,
 * so each costs more: compare workers that are as busy as the one process. The gateways are not pinned: the load and its
 * upstream take processor time from the workers, which the figures of processor time do not contain and delays do. A delay is
 * until the last of three connections to each worker had a response that shows the change.
 */
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";

import { openSlice } from "../support/marked-upstream.ts";
import { load } from "./common/load.ts";
import { webRequest } from "./common/requests.ts";
import { measureRounds } from "./common/rounds.ts";
import { onStage } from "./common/stage.ts";
import { pairedRatios, spreadOf } from "./common/statistics.ts";
import { formatTable } from "./common/table.ts";
import { openProbes } from "./workers/probes.ts";
import { ownMemory, startWithWorkers, type WorkersGateway } from "./workers/start.ts";

const { values } = parseArgs({
  options: {
    workers: { type: "string", default: "1,2,4" },
    rounds: { type: "string", default: "8" },
    seconds: { type: "string", default: "1" },
    connections: { type: "string", default: "64" },
    changes: { type: "string", default: "5" },
    program: { type: "string" },
    json: { type: "string" },
  },
});
const counts = values.workers.split(",").map(Number);
const connections = Number(values.connections);
/** For each worker, until V8 has compiled what it will. */
const WARM_UP_MS = 6_000;
/** Until the work of the start is over. */
const IDLE_MS = 25_000;

interface CostFigure {
  readonly part: "cost";
  readonly workers: number;
  readonly cpuMicros: number;
  /** To the first number of workers: median and quartiles. */
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly requestsPerSecond: number;
  readonly errors: number;
}
interface MemoryFigure {
  readonly part: "memory";
  readonly workers: number;
  readonly when: "idle" | "under load";
  /** MiB that the mean worker shares with no other process, and all processes of the gateway together. */
  readonly worker: number;
  readonly all: number;
}
interface DelayFigure {
  readonly part: "delay";
  readonly workers: number;
  readonly what: "publication" | "sign-in" | "sign-out";
  /** Of each change. */
  readonly ms: readonly number[];
}
type Figure = CostFigure | MemoryFigure | DelayFigure;

const figures: Figure[] = [];
function tell(figure: Figure): void {
  figures.push(figure);
  if (values.json !== undefined) appendFileSync(values.json, `${JSON.stringify(figure)}\n`);
}

/** Asks all workers for as long as `work` takes. */
async function underLoad<T>({ port, workers }: WorkersGateway, request: Buffer, work: () => Promise<T>): Promise<T> {
  const over = new AbortController();
  const loading = (async () => {
    while (!over.signal.aborted)
      await load({ port, request, connections: connections * workers.length, durationMs: 500 });
  })();
  try {
    return await work();
  } finally {
    over.abort();
    await loading;
  }
}

function memoryOf({ pid, workers, gateway }: WorkersGateway, when: MemoryFigure["when"], count: number): void {
  const all = new Set([pid, ...workers]);
  const proportional = [...all].reduce((sum, each) => sum + ownMemory(each).proportional, 0);
  const worker = workers.reduce((sum, each) => sum + ownMemory(each).unshared, 0) / workers.length;
  if (gateway.process.exitCode !== null) throw new Error("The gateway ended");
  tell({ part: "memory", workers: count, when, worker, all: proportional });
}

async function measureCost(all: readonly WorkersGateway[], requests: readonly Buffer[]): Promise<void> {
  const cases = all.map(({ pid, port, workers }, index) => ({
    name: String(counts[index]),
    pid,
    run: (durationMs: number) =>
      load({
        port,
        request: requests[index] ?? Buffer.alloc(0),
        connections: connections * workers.length,
        durationMs,
      }),
  }));
  for (const [index, { run }] of cases.entries()) await run(WARM_UP_MS * (counts[index] ?? 1));
  const samples = await measureRounds(cases, {
    rounds: Number(values.rounds),
    durationMs: Number(values.seconds) * 1_000,
    isMirrored: true,
  });
  const [first] = samples;
  for (const [index, { cpuMicros, requestsPerSecond, errors }] of samples.entries()) {
    const { median: ratio, low, high } = spreadOf(pairedRatios(cpuMicros, first?.cpuMicros ?? []));
    tell({
      part: "cost",
      workers: counts[index] ?? 0,
      cpuMicros: spreadOf(cpuMicros).median,
      ratio,
      low,
      high,
      requestsPerSecond: spreadOf(requestsPerSecond).median,
      errors,
    });
  }
}

async function measureDelays(each: WorkersGateway, request: Buffer, upstream: string, count: number): Promise<void> {
  const { port, workers, gateway } = each;
  const probes = await openProbes(port, workers);
  const ms = { publication: [] as number[], "sign-in": [] as number[], "sign-out": [] as number[] };
  const marked = Buffer.from("GET / HTTP/1.1\r\nhost: team-0.example.com\r\n\r\n");
  let digest: string | undefined;
  try {
    await underLoad(each, request, async () => {
      for (let change = 0; change < Number(values.changes); change += 1) {
        let at = performance.now();
        const mark = `mark-${change}`;
        const published = gateway.admin.publish("team", openSlice("team", mark, upstream), digest);
        const shows = (text: string): boolean => text.toLowerCase().includes(`\r\nx-mark: ${mark}\r\n`);
        ms.publication.push(await probes.untilAll(marked, shows, at));
        const { status, text, body } = await published;
        if (status !== 200 && status !== 201) throw new Error(`Cannot publish: ${status} ${text}`);
        digest = String(body["digest"]);

        const browser = await each.signIn();
        at = performance.now();
        const page = webRequest(port, each.cookieOf(browser));
        ms["sign-in"].push(await probes.untilAll(page, (answer) => answer.startsWith("HTTP/1.1 200"), at));

        await each.signOut(browser);
        at = performance.now();
        ms["sign-out"].push(await probes.untilAll(page, (answer) => !answer.startsWith("HTTP/1.1 200"), at));
      }
    });
  } finally {
    probes.close();
  }
  for (const what of ["publication", "sign-in", "sign-out"] as const)
    tell({ part: "delay", workers: count, what, ms: ms[what] });
}

if (values.json !== undefined) writeFileSync(values.json, "");
await onStage(async (stage) => {
  const upstream = await stage.start("rest", process.execPath, join(import.meta.dirname, "common/upstream.ts"));
  const origin = `http://127.0.0.1:${upstream.port}`;
  const all: WorkersGateway[] = [];
  for (const count of counts) {
    const each = await startWithWorkers(count, origin, values.program);
    stage.atEnd(() => each.close());
    all.push(each);
  }
  const requests: Buffer[] = [];
  for (const each of all) requests.push(webRequest(each.port, each.cookieOf(await each.signIn())));
  await delay(IDLE_MS);
  for (const [index, each] of all.entries()) memoryOf(each, "idle", counts[index] ?? 0);
  await measureCost(all, requests);
  for (const [index, each] of all.entries()) memoryOf(each, "under load", counts[index] ?? 0);
  for (const [index, each] of all.entries())
    await measureDelays(each, requests[index] ?? Buffer.alloc(0), origin, counts[index] ?? 0);
});

const rows = counts.map((count) => {
  const of = <P extends Figure["part"]>(part: P) =>
    figures.filter((each): each is Extract<Figure, { part: P }> => each.part === part && each.workers === count);
  const [cost] = of("cost");
  const [idle, loaded] = of("memory");
  const delays = of("delay").map(({ ms }) => `${spreadOf(ms).median.toFixed(0)}, ${Math.max(...ms).toFixed(0)}`);
  return [
    String(count),
    cost?.cpuMicros.toFixed(1) ?? "",
    cost ? `${cost.ratio.toFixed(2)} (${cost.low.toFixed(2)} to ${cost.high.toFixed(2)})` : "",
    cost?.requestsPerSecond.toFixed(0) ?? "",
    [idle, loaded].map((each) => each?.worker.toFixed(0)).join(", "),
    [idle, loaded].map((each) => each?.all.toFixed(0)).join(", "),
    ...delays,
  ];
});
console.log(
  formatTable(
    [
      "workers",
      "CPU µs/request",
      "÷ first (quartiles)",
      "requests/s",
      "MiB of a worker: idle, loaded",
      "MiB of all",
      "publication, ms: median, longest",
      "sign-in",
      "sign-out",
    ],
    rows,
  ),
);
const failed = figures.reduce((sum, each) => sum + (each.part === "cost" ? each.errors : 0), 0);
if (failed > 0) {
  console.error(`${failed} requests failed`);
  process.exitCode = 1;
}
