/** A real gateway (`gateway run`) whose event loops and memory are watched from outside. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { runGateway, type RunningGateway, type RunOptions } from "../../support/run-gateway.ts";
import type { LoopWindow } from "./loop-watch.ts";

export interface Watched {
  readonly gateway: RunningGateway;
  /** Processes that serve. */
  readonly pids: readonly number[];
  /** What the loops of those processes did since the last call. */
  window(): Promise<Omit<LoopWindow, "number">>;
  close(): Promise<void>;
}

export async function startWatched(options: RunOptions): Promise<Watched> {
  const directory = mkdtempSync(join(tmpdir(), "gateform-scale-"));
  const program = new URL("./loop-watch.ts", import.meta.url).href;
  const env = { LOOP_WATCH: directory, NODE_OPTIONS: `--import=${program}` };
  const gateway = await runGateway({ ...options, env: { ...env, ...options.env } });
  const own = gateway.process.pid ?? 0;
  const workers = (await gateway.workers()).map(({ pid }) => pid);
  const pids = workers.length === 0 ? [own] : workers;
  let windows = 0;
  return {
    gateway,
    pids,
    async window() {
      windows += 1;
      const seen: LoopWindow[] = [];
      for (const pid of pids) {
        process.kill(pid, "SIGUSR2");
        seen.push(await readWindow(join(directory, String(pid)), windows));
      }
      const worst = (of: (each: LoopWindow) => number): number => Math.max(...seen.map(of));
      return {
        stallMs: worst(({ stallMs }) => stallMs),
        busyMs: worst(({ busyMs }) => busyMs),
        collectionMs: worst(({ collectionMs }) => collectionMs),
      };
    },
    async close() {
      await gateway.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function readWindow(file: string, number: number): Promise<LoopWindow> {
  for (;;) {
    try {
      const seen = JSON.parse(readFileSync(file, "utf8")) as LoopWindow;
      if (seen.number === number) return seen;
    } catch {
      // Not written yet.
    }
    await delay(5);
  }
}

/** Resident memory of a process in MiB: now, and at most since `forgetPeak`. */
export function memoryOf(pid: number): { readonly resident: number; readonly peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mebibytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1]) / 1024;
  return { resident: mebibytes("VmRSS"), peak: mebibytes("VmHWM") };
}

/** What a process had at most is counted from now on (proc(5), clear_refs). */
export function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}

/** All threads of a process and of those that it started, where the machine can pin them. */
export function pinTree(pid: number, core: string): void {
  if (!existsSync("/usr/bin/taskset")) return;
  execFileSync("/usr/bin/taskset", ["-acp", core, String(pid)], { stdio: "ignore" });
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const children = readFileSync(`/proc/${pid}/task/${task}/children`, "utf8").split(" ");
    for (const child of children.filter(Boolean)) pinTree(Number(child), core);
  }
}
