/**
 * `node test/bench/start.ts`: how long the built gateway takes from its command to serving, what that costs, and what it
 * keeps in memory afterwards; with one route and with 1,000, beside `node -e 0`, which is what no Node program is faster than.
 *
 *   --rounds N (7)   --routes N (1000)   --settle SECONDS (3)   --program FILE (dist/runtime/main.js)   --json
 *   --against FILE   another build's, interleaved with this one
 *
 * `npm run build` comes first. Read the ratios: all is taken in turn, so what else the machine does, it does to all alike.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";

import { memoryOf } from "./scale/watched.ts";
import { manyRoutes } from "./scale/routes.ts";
import { formatTable, median } from "./common/table.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    routes: { type: "string", default: "1000" },
    settle: { type: "string", default: "3" },
    program: { type: "string", default: resolve(import.meta.dirname, "../../dist/runtime/main.js") },
    against: { type: "string" },
    json: { type: "boolean", default: false },
  },
});

/** What one start took. */
interface Start {
  readonly wallMs: number;
  readonly cpuMs: number;
  /** When it had been idle for a while. */
  readonly residentMebibytes: number;
}

/** Medians, and what each round took. */
interface Figure extends Start {
  readonly what: string;
  readonly starts: readonly Start[];
}

const programs = [values.program, ...(values.against === undefined ? [] : [values.against])];
for (const program of programs) if (!existsSync(program)) throw new Error(`No ${program}: run npm run build`);
const directory = await mkdtemp(join(tmpdir(), "gateform-start-"));
/** The ports are the system's choice. */
const boot = {
  shared_secret: Buffer.alloc(32, 7).toString("base64"),
  storage_url: "memory:",
  insecure_server: true,
  log_level: "warn",
  address: "127.0.0.1:0",
  admin_address: "127.0.0.1:0",
  authorize_log: join(directory, "authorize.log"),
};
const configs = await Promise.all(
  [1, Number(values.routes)].map(async (routes) => [routes, await write(routes)] as const),
);
const runs = [
  { what: "node -e 0", start: bareNode },
  ...programs.flatMap((program) =>
    configs.map(([routes, config]) => ({
      what: `${routes} route${routes === 1 ? "" : "s"}${programs.length === 1 ? "" : ` ${program}`}`,
      start: () => startGateway(program, config),
    })),
  ),
];

const found = new Map(runs.map(({ what }) => [what, [] as Start[]]));
try {
  // The first of each reads what the others find in the memory of the system.
  for (const { start } of runs) await start();
  for (let round = 0; round < Number(values.rounds); round += 1)
    for (const { what, start } of runs) found.get(what)?.push(await start());
} finally {
  await rm(directory, { recursive: true, force: true });
}
const figures = [...found].map(([what, starts]): Figure => {
  const of = (name: keyof Start): number => median(starts.map((each) => each[name]));
  return { what, wallMs: of("wallMs"), cpuMs: of("cpuMs"), residentMebibytes: of("residentMebibytes"), starts };
});
const [bare] = figures;
if (values.json) console.log(JSON.stringify(figures, null, 2));
else
  console.log(
    formatTable(
      ["start to serving", "wall ms", "÷ node -e 0", "CPU ms", "÷ node -e 0", "resident MiB"],
      figures.map(({ what, wallMs, cpuMs, residentMebibytes }) => [
        what,
        wallMs.toFixed(0),
        (wallMs / (bare?.wallMs ?? Number.NaN)).toFixed(1),
        cpuMs.toFixed(0),
        (cpuMs / (bare?.cpuMs ?? Number.NaN)).toFixed(1),
        Number.isNaN(residentMebibytes) ? "" : residentMebibytes.toFixed(0),
      ]),
    ),
  );

async function write(routes: number): Promise<string> {
  const { routes: written } = JSON.parse(manyRoutes("start", "mark", "http://127.0.0.1:9", routes)) as {
    routes: object;
  };
  const path = join(directory, String(routes));
  await mkdir(path);
  await writeFile(join(path, "gateway.json"), JSON.stringify(boot));
  await writeFile(join(path, "main.json"), JSON.stringify({ version: 1, owner: "start", routes: written }));
  return path;
}

async function bareNode(): Promise<Start> {
  const cpuBefore = childrenCpuMs();
  const startedMs = performance.now();
  const child = spawn(process.execPath, ["-e", "0"], { stdio: "ignore" });
  await once(child, "exit");
  return { wallMs: performance.now() - startedMs, cpuMs: childrenCpuMs() - cpuBefore, residentMebibytes: Number.NaN };
}

async function startGateway(program: string, config: string): Promise<Start> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [program, "run", "--config", config], { stdio: ["ignore", "ignore", "pipe"] });
  const { pid = 0 } = child;
  try {
    await serving(child);
    const wallMs = performance.now() - startedMs;
    const cpuMs = ownCpuMs(pid);
    await delay(Number(values.settle) * 1_000);
    return { wallMs, cpuMs, residentMebibytes: memoryOf(pid).resident };
  } finally {
    child.kill("SIGTERM");
    if (child.exitCode === null) await once(child, "exit");
  }
}

/** @throws when it ends before */
function serving(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stderr?.on("data", (chunk: Buffer) => {
      text += chunk.toString("utf8");
      if (text.includes("gateway serves on")) resolve();
    });
    child.once("exit", () => reject(new Error(`The gateway ended: ${text}`)));
  });
}

/** Of all threads, those that ended too, in ticks of 10 ms. */
function ownCpuMs(pid: number): number {
  const fields = statOf(pid);
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/** Of all processes that this one started and that ended. */
function childrenCpuMs(): number {
  const fields = statOf("self");
  return 10 * (Number(fields[13]) + Number(fields[14]));
}

function statOf(pid: number | "self"): readonly string[] {
  // Behind the name, which may hold anything, in parentheses.
  return readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
}
