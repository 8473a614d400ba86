/**
 * `node test/bench/overload.ts`: what is left of the gateway's work when more is asked of it than it can do, and of other people's
 * answers while somebody floods it. The gateway has one core, clients and upstream have the other. Exit code 1 when a bound is
 * missed:
 *
 * - at 3 times the capacity that was measured right before, for longer than a burst, at least 80 % of it is still answered within a
 *   second;
 * - while one client or strangers flood, the p99 of others is at most twice what it is without.
 *
 *   --rounds N (5; medians are taken)  --seconds S (2)  --only overload,FLOOD,…  --json
 *   --realtime  gateway, clients and upstream are scheduled before everything else on the machine (root alone): for figures
 *               while others work there. Where the kernel bounds such processes (sched_rt_runtime_us), it stops the gateway for
 *               50 ms of each second that it would be busy, which shows in every p99; so do V8's own threads, which take turns
 *               of 100 ms with the gateway's first one then
 *               Without it, what was measured while others had the cores is told and measured again.
 *   --http1 node  by Node's server instead of the gateway's own reader and writer
 */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { type Child, REST_CORE, startChild } from "./common/child.ts";
import type { OverloadOptions, OverloadResult } from "./parts/overload-child.ts";
import { runBeforeOthers } from "./common/steady-load.ts";
import { formatTable, median } from "./common/table.ts";
import { startGateway } from "./common/gateway.ts";
import { messageRequest, webRequest } from "./common/requests.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
    only: { type: "string" },
    json: { type: "boolean", default: false },
    realtime: { type: "boolean", default: false },
    http1: { type: "string", default: "own" },
  },
});
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1000;
const only = values.only?.split(",");

const TIMES_CAPACITY = 3;
/** Before, the gateway cannot tell an overload from a burst, which it serves to its end. */
const LASTING_MS = 4_000;
const MIN_GOODPUT = 0.8;
const MAX_P99_RATIO = 2;
/** Of what is under way at once at most: as many connections as the gateway takes at a limit of 20,000 open files. */
const MAX_CLIENTS = 7_500;
/** Of capacity, by those whom a flood must leave alone. */
const QUIET_SHARE = 0.2;
const TIMEOUT_MS = 1_000;
/** Where others on the machine took more of it away, figures say nothing of the gateway: they are taken again, so many times at most. */
const MAX_STOOD_STILL_MS = 250;
const MAX_WAITED_SHARE = 0.15;
const MAX_AGAIN = 3;

interface Flood {
  readonly name: string;
  readonly kind: OverloadOptions["kind"];
  readonly connections: number;
  readonly request: (port: number) => string;
}

const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
const closers: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
try {
  await measure();
} finally {
  for (const close of closers) await close();
}

async function measure(): Promise<void> {
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    // What else the machine does is not in the figures.
    runBeforeOthers(child.pid, values.realtime ? 2 : 0);
    closers.unshift(() => child.stop());
    return child;
  };
  const upstream = await start("rest", process.execPath, join(import.meta.dirname, "common/upstream.ts"));
  const origin = `http://127.0.0.1:${upstream.port}`;
  const gateway = await startGateway({
    directory,
    name: "gateway",
    upstream: origin,
    start,
    logLevel: "error",
    settings: `http1_server: ${values.http1}\n`,
  });
  closers.unshift(gateway.close);
  const { port } = gateway.child;
  const requests = [webRequest(port, gateway.cookie), messageRequest(port, gateway.bearer)].map((each) =>
    each.toString("latin1"),
  );
  const common = { port, requests, addresses: addresses(200), warmupMs: 1_000, durationMs, timeoutMs: TIMEOUT_MS };
  const askCalmly = async (options: OverloadOptions): Promise<OverloadResult> => {
    for (let again = 0; ; again += 1) {
      const [waitedMs, startedAt] = [waitedForCoreMs(gateway.child.pid), performance.now()];
      const result = await ask(options);
      const share = (waitedForCoreMs(gateway.child.pid) - waitedMs) / (performance.now() - startedAt);
      const isCalm = result.stoodStillMs <= MAX_STOOD_STILL_MS && share <= MAX_WAITED_SHARE;
      if (isCalm || again === MAX_AGAIN) return result;
      const told = `clients stood still for ${result.stoodStillMs} ms, the gateway waited ${Math.round(100 * share)} % of the time`;
      console.error(`the machine is busy, once more: ${told}`);
    }
  };
  const askCapacity = () => askCalmly({ ...common, kind: "capacity", rate: 0, connections: 64, timeoutMs: 10_000 });

  const isChosen = (name: string): boolean => only === undefined || only.includes(name);
  const report: Record<string, unknown> = {};
  const rows: string[][] = [];
  let isMissed = false;
  const tell = (name: string, ratios: readonly number[], isKept: boolean, bound: string, told: string): void => {
    isMissed ||= !isKept;
    report[name] = { ratio: median(ratios), ratios, isKept };
    rows.push([name, median(ratios).toFixed(2), bound, isKept ? "" : "MISSED", told]);
    if (!values.json) console.log(rows.at(-1)?.join("  "));
  };

  if (isChosen("overload")) {
    const ratios: number[] = [];
    let told = "";
    for (let round = 0; round < rounds; round += 1) {
      const capacity = perSecond(await askCapacity());
      const connections = Math.min(MAX_CLIENTS, Math.round(1.5 * capacity));
      const rate = TIMES_CAPACITY * capacity;
      const over = await askCalmly({ ...common, kind: "open", rate, connections, warmupMs: LASTING_MS });
      ratios.push(perSecond(over) / capacity);
      told = `${Math.round(capacity)}/s, at ${Math.round(rate)}/s: ${describe(over)}`;
      if (!values.json) console.log(ratios.at(-1)?.toFixed(2), told);
    }
    const isKept = median(ratios) >= MIN_GOODPUT;
    tell("overload", ratios, isKept, `>= ${MIN_GOODPUT} of capacity`, told);
  }

  const capacity = perSecond(await askCapacity());
  for (const flood of floods(gateway.cookie).filter(({ name }) => isChosen(name))) {
    const ratios: number[] = [];
    let told = "";
    // The first round warms its paths up: what is compiled and how large the heap is changes in it, and it is told, not counted.
    for (let round = -1; round < rounds; round += 1) {
      const steady = { ...common, kind: "open", rate: QUIET_SHARE * capacity, connections: 400 } as const;
      const quiet = await askCalmly(steady);
      const { connections, kind } = flood;
      const stop = startFlood({
        ...common,
        kind,
        connections,
        requests: [flood.request(port)],
        addresses: ["127.0.3.1"],
      });
      const flooded = await askCalmly(steady);
      stop();
      // Those that have no answer at all are slower than any.
      const ratio = flooded.good < 0.9 * quiet.good ? Infinity : flooded.p99 / quiet.p99;
      if (round >= 0) ratios.push(ratio);
      told = `p99 ${quiet.p99} µs, flooded ${flooded.p99} µs: ${describe(flooded)}`;
      if (!values.json) console.log(ratio.toFixed(2), round < 0 ? "(warm-up)" : "", told);
    }
    tell(flood.name, ratios, median(ratios) <= MAX_P99_RATIO, `<= ${MAX_P99_RATIO} of quiet p99`, told);
  }
  if (values.json) console.log(JSON.stringify({ rounds, durationMs, capacity, ...report }, null, 2));
  else console.log(`\n${formatTable(["", "ratio", "bound", "", "last round"], rows)}`);
  process.exitCode = isMissed ? 1 : 0;
}

function floods(cookie: string): readonly Flood[] {
  const get =
    (path: string, more = "") =>
    (port: number) =>
      `GET ${path} HTTP/1.1\r\nhost: localhost:${port}\r\n${more}\r\n`;
  const flood = (name: string, request: Flood["request"]): Flood => ({
    name,
    kind: "flood",
    connections: 1_000,
    request,
  });
  return [
    flood("one-client", (port) => webRequest(port, cookie).toString("latin1")),
    flood("wrong-tokens", (port) => messageRequest(port, `Bearer gwt_${"x".repeat(120)}`).toString("latin1")),
    flood("sign-ins", get("/web/items", "accept: text/html\r\nsec-fetch-mode: navigate\r\n")),
    flood("not-found", get("/nothing")),
    { name: "connections", kind: "connect", connections: 500, request: get("/nothing") },
    { name: "silent-connections", kind: "connect", connections: 500, request: () => "" },
  ];
}

/** Loopback has a whole network. */
function addresses(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `127.0.2.${index + 1}`);
}

/** How long a process could have run, and another one had its core; 0 where the system does not count it. */
function waitedForCoreMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, "latin1").split(" ")[1]) / 1e6;
  } catch {
    return 0;
  }
}

function perSecond({ good, seconds }: OverloadResult): number {
  return good / seconds;
}

function describe({ good, shed, failed, late, broken, p50, p99 }: OverloadResult): string {
  return `${good} good, ${shed} shed, ${failed} failed, ${late} late, ${broken} broken, p50 ${p50} µs, p99 ${p99} µs`;
}

function ask(options: OverloadOptions): Promise<OverloadResult> {
  return new Promise((resolve, reject) => {
    const child = spawnClients(options, values.realtime ? 1 : 0);
    let text = "";
    child.stdout?.on("data", (chunk: Buffer) => (text += chunk.toString("utf8")));
    child.once("close", (code) => {
      if (code === 0) resolve(JSON.parse(text) as OverloadResult);
      else reject(new Error(`Clients exited with ${code}`));
    });
  });
}

function startFlood(options: Omit<OverloadOptions, "rate">): () => void {
  const child = spawnClients(
    { ...options, rate: 0, warmupMs: 0, durationMs: 600_000, timeoutMs: 60_000 },
    values.realtime ? 0 : undefined,
  );
  return () => void child.kill("SIGKILL");
}

/** @param priority see `runBeforeOthers`; undefined: none. A flood comes behind those who measure */
function spawnClients(options: OverloadOptions, priority: number | undefined) {
  const program = join(import.meta.dirname, "parts/overload-child.ts");
  const args = ["-c", REST_CORE, process.execPath, program, JSON.stringify(options)];
  const child = spawn("/usr/bin/taskset", args, { stdio: ["ignore", "pipe", "inherit"] });
  if (priority !== undefined) runBeforeOthers(child.pid ?? 0, priority);
  return child;
}
