/**
 * `npm run test:slow [-- arguments of vitest]`: the tests with half of the host's CPU, like on a small or busy host.
 *
 * Uses a quota of the `cpu` cgroup, version 1 or 2, below the group of this process. If none can be made (no permission, no
 * such controller), one busy process for each core runs at the tests' priority.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { type ControlGroup, emptyAndRemove, makeControlGroup } from "./control-group.ts";

/** Half of what there is. */
const CORES = availableParallelism() / 2;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** How long processes that tests have left may take to end before they are killed. */
const END_WITHIN_MS = 5_000;

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "which is gone";
  }
}

/** @returns undefined where none can be made here */
function makeGroup(): ControlGroup | undefined {
  try {
    return makeControlGroup(`gateform-slow-${process.pid}`, { cpus: CORES });
  } catch (error) {
    console.error(String(error));
    return undefined;
  }
}

function startNeighbours(): readonly ChildProcess[] {
  // They end with this process, however it ends: the pipe to them closes.
  const busy =
    "process.stdin.resume().on('close', () => process.exit()); setImmediate(function turn() { for (let i = 0; i < 1e7; i++); setImmediate(turn); });";
  return Array.from({ length: availableParallelism() }, () =>
    spawn(process.execPath, ["--eval", busy], { stdio: ["pipe", "ignore", "inherit"] }),
  );
}

/** @returns exit code of vitest */
async function run(args: readonly string[]): Promise<number> {
  const group = makeGroup();
  const neighbours = group ? [] : startNeighbours();
  console.error(
    `The tests run with ${group ? `a quota of ${CORES} cores (${group.directories.join(", ")})` : `${neighbours.length} busy neighbours`}`,
  );
  const vitest = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--config", "test/vitest.config.ts", ...args];
  // The shell enters the group and becomes vitest, so that nothing of it runs outside.
  const enter = group ? `${group.enter} && ` : "";
  const child = spawn("/bin/sh", ["-c", `${enter}exec "$0" "$@"`, process.execPath, ...vitest], {
    cwd: ROOT,
    // A run that leaves something in the work tree has failed.
    env: { ...process.env, GATEWAY_CLEAN_TREE: "1" },
    stdio: "inherit",
  });
  // A terminal sends Ctrl-C to both: vitest ends, then the group is removed.
  const pass = (signal: NodeJS.Signals): boolean => child.kill(signal);
  process.on("SIGINT", () => {}).on("SIGTERM", pass);
  const [code] = (await once(child, "close")) as [number | null];
  for (const neighbour of neighbours) neighbour.kill("SIGKILL");
  if (group)
    await emptyAndRemove(group, END_WITHIN_MS, (pid) =>
      console.error(`Left by the tests, and ended: process ${pid}, ${commandOf(pid)}`),
    );
  return code ?? 1;
}

if (import.meta.main) process.exit(await run(process.argv.slice(2)));
