/**
 * `npm run test:slow [-- arguments of vitest]`: the tests with half of the host's CPU, like on a small or busy host.
 *
 * Uses a quota of the `cpu` cgroup, version 1 or 2, below the group of this process. If none can be made (no permission, no
 * such controller), one busy process for each core runs at the tests' priority.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const PERIOD_US = 100_000;
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
/** How long processes that tests have left may take to end before they are killed. */
const END_WITHIN_MS = 5_000;

interface Group {
  readonly directory: string;
  readonly says: string;
}

/** Half of the cores, in microseconds of each period. */
const quotaUs = (): number => Math.round((availableParallelism() / 2) * PERIOD_US);

/** @param mounts text of /proc/self/mounts @param groups text of /proc/self/cgroup */
export function cpuGroupOf(
  mounts: string,
  groups: string,
): { readonly version: 1 | 2; readonly parent: string } | undefined {
  const mounted = mounts.split("\n").map((line) => line.split(" "));
  const ownGroups = groups.split("\n").map((line) => /^\d+:([^:]*):(.*)$/.exec(line) ?? []);
  const placeOf = (own: (controllers: string) => boolean): string =>
    ownGroups.find(([, controllers]) => controllers !== undefined && own(controllers))?.[2] ?? "/";
  const [, first] =
    mounted.find(([, , type, options = ""]) => type === "cgroup" && options.split(",").includes("cpu")) ?? [];
  if (first !== undefined) {
    const own = placeOf((controllers) => controllers.split(",").includes("cpu"));
    return { version: 1, parent: join(first, own) };
  }
  const [, second] = mounted.find(([, , type]) => type === "cgroup2") ?? [];
  // A group that has processes can give its children no controllers: a sibling of ours, not a child.
  if (second !== undefined) {
    const own = placeOf((controllers) => controllers === "");
    return { version: 2, parent: join(second, join(own, "..")) };
  }
  return undefined;
}

/** @returns undefined where no group can be made here */
function makeGroup(): Group | undefined {
  try {
    const found = cpuGroupOf(readFileSync("/proc/self/mounts", "utf8"), readFileSync("/proc/self/cgroup", "utf8"));
    if (found === undefined) return undefined;
    const directory = join(found.parent, `gateform-slow-${process.pid}`);
    mkdirSync(directory);
    try {
      if (found.version === 1) {
        writeFileSync(join(directory, "cpu.cfs_period_us"), String(PERIOD_US));
        writeFileSync(join(directory, "cpu.cfs_quota_us"), String(quotaUs()));
      } else {
        writeFileSync(join(directory, "cpu.max"), `${quotaUs()} ${PERIOD_US}`);
      }
    } catch (error) {
      rmdirSync(directory);
      throw error;
    }
    return { directory, says: `a quota of ${quotaUs() / PERIOD_US} cores (${directory})` };
  } catch (error) {
    console.error(`No cpu cgroup can be made here: ${String(error)}`);
    return undefined;
  }
}

/** Processes of tests that outlive them would keep the group. */
async function removeGroup({ directory }: Group): Promise<void> {
  const deadline = performance.now() + END_WITHIN_MS;
  for (;;) {
    try {
      rmdirSync(directory);
      return;
    } catch (error) {
      if (performance.now() > deadline + END_WITHIN_MS) throw error;
    }
    if (performance.now() > deadline)
      for (const pid of readFileSync(join(directory, "cgroup.procs"), "utf8").split("\n").filter(Boolean)) {
        console.error(`Left by the tests, and ended: process ${pid}, ${commandOf(pid)}`);
        endProcess(Number(pid));
      }
    await delay(100);
  }
}

function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "which is gone";
  }
}

function endProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended meanwhile.
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
  console.error(`The tests run with ${group?.says ?? `${neighbours.length} busy neighbours`}`);
  const vitest = [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "--config", "test/vitest.config.ts", ...args];
  // The shell enters the group and becomes vitest, so that nothing of it runs outside.
  const enter = group ? `echo $$ > '${join(group.directory, "cgroup.procs")}' && ` : "";
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
  if (group) await removeGroup(group);
  return code ?? 1;
}

if (import.meta.main) process.exit(await run(process.argv.slice(2)));
