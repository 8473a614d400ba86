/**
 * Limits of processor time and memory for processes, as a container has them: control groups of version 1 or 2, below the
 * group of this process. Where no controller is mounted that can be written to, version 1 is mounted in a directory of its own.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

type Controller = "cpu" | "memory";

export interface Limits {
  /** Cores, 0.5 for half of one. */
  readonly cpus?: number;
  /** Of all processes together. Nothing of them goes to swap. */
  readonly memoryBytes?: number;
}

export interface ControlGroup {
  readonly directories: readonly string[];
  /** For a shell: it enters the group, with all that it becomes or starts from then on. */
  readonly enter: string;
  /** Memory of the processes and of the files that they use; undefined without a limit. */
  workingSetBytes(): number | undefined;
  /** Processes that the system killed because the group was at its limit. */
  memoryKills(): number;
  pids(): readonly number[];
  /** @throws Error if a process is still in it */
  remove(): void;
}

interface Place {
  readonly version: 1 | 2;
  /** Group in which another one is made. */
  readonly parent: string;
}

const PERIOD_US = 100_000;

/** @param mounts text of /proc/self/mounts @param groups text of /proc/self/cgroup */
export function placeOf(controller: Controller, mounts: string, groups: string): Place | undefined {
  const mounted = mounts.split("\n").map((line) => line.split(" "));
  const [, first] =
    mounted.find(([, , type, options = ""]) => type === "cgroup" && options.split(",").includes(controller)) ?? [];
  if (first !== undefined) return { version: 1, parent: join(first, ownGroup(controller, groups)) };
  const [, second] = mounted.find(([, , type]) => type === "cgroup2") ?? [];
  // A group that has processes can give its children no controllers: a sibling of ours, not a child.
  return second === undefined ? undefined : { version: 2, parent: join(second, join(ownGroup("", groups), "..")) };
}

/** @param controller empty: version 2 */
function ownGroup(controller: Controller | "", groups: string): string {
  const own = groups.split("\n").map((line) => /^\d+:([^:]*):(.*)$/.exec(line) ?? []);
  return own.find(([, controllers]) => controllers?.split(",").includes(controller))?.[2] ?? "/";
}

/** @throws Error with the reason where no group with these limits can be made */
export function makeControlGroup(name: string, { cpus, memoryBytes }: Limits): ControlGroup {
  const undo: (() => void)[] = [];
  const remove = (): void => {
    for (const step of undo.toReversed()) step();
    undo.length = 0;
  };
  try {
    const made = new Map<string, Place>();
    const groupOf = (controller: Controller): { readonly version: 1 | 2; readonly directory: string } => {
      const { version, parent } = writablePlace(controller, name, undo, made);
      return { version, directory: join(parent, name) };
    };
    const cpu = cpus === undefined ? undefined : groupOf("cpu");
    if (cpu !== undefined && cpus !== undefined) {
      const quota = Math.round(cpus * PERIOD_US);
      if (cpu.version === 2) writeFileSync(join(cpu.directory, "cpu.max"), `${quota} ${PERIOD_US}`);
      else {
        writeFileSync(join(cpu.directory, "cpu.cfs_period_us"), String(PERIOD_US));
        writeFileSync(join(cpu.directory, "cpu.cfs_quota_us"), String(quota));
      }
    }
    const memory = memoryBytes === undefined ? undefined : groupOf("memory");
    if (memory !== undefined && memoryBytes !== undefined) limitMemory(memory.version, memory.directory, memoryBytes);
    const directories = [...new Set([cpu, memory].flatMap((each) => (each ? [each.directory] : [])))];
    const [first = ""] = directories;
    return {
      directories,
      enter: directories.map((each) => `echo $$ > '${join(each, "cgroup.procs")}'`).join(" && "),
      workingSetBytes: () => memory && workingSet(memory.version, memory.directory),
      memoryKills: () => (memory ? killsOf(memory.version, memory.directory) : 0),
      pids: () => readFileSync(join(first, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number),
      remove,
    };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Makes the group there, or finds it where another controller has made it. */
function writablePlace(controller: Controller, name: string, undo: (() => void)[], made: Map<string, Place>): Place {
  const mounts = readFileSync("/proc/self/mounts", "utf8");
  const groups = readFileSync("/proc/self/cgroup", "utf8");
  const make = (place: Place): Place => {
    const directory = join(place.parent, name);
    if (made.has(directory)) return place;
    mkdirSync(directory);
    undo.push(() => rmdirSync(directory));
    made.set(directory, place);
    return place;
  };
  const found = placeOf(controller, mounts, groups);
  const reasons: string[] = [];
  try {
    if (found?.version === 1) return make(found);
    if (found !== undefined) return make(delegating(controller, found, mountOfVersion2(mounts)));
    reasons.push("it is not mounted");
  } catch (error) {
    reasons.push(error instanceof Error ? error.message : String(error));
  }
  const directory = mkdtempSync(join(tmpdir(), `${name}-${controller}-`));
  undo.push(() => rmdirSync(directory));
  try {
    execFileSync("mount", ["-t", "cgroup", "-o", controller, "none", directory], { stdio: "pipe" });
    undo.push(() => execFileSync("umount", [directory], { stdio: "pipe" }));
    return make({ version: 1, parent: join(directory, ownGroup(controller, groups)) });
  } catch (error) {
    const more = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ").trim();
    throw new Error(`Cannot make a control group for ${controller}: ${[...reasons, more].join("; ")}`, {
      cause: error,
    });
  }
}

const mountOfVersion2 = (mounts: string): string =>
  mounts
    .split("\n")
    .map((line) => line.split(" "))
    .find(([, , type]) => type === "cgroup2")?.[1] ?? "/sys/fs/cgroup";

/** The nearest group above that gives the controller to its children. */
export function delegating(controller: Controller, { parent }: Place, root: string): Place {
  for (let at = parent; ; at = join(at, "..")) {
    const given = readFileSync(join(at, "cgroup.subtree_control"), "utf8").trim().split(" ");
    if (given.includes(controller)) return { version: 2, parent: at };
    if (relative(root, at) === "") throw new Error(`${root} does not give ${controller} to groups`);
  }
}

function limitMemory(version: 1 | 2, directory: string, bytes: number): void {
  const [limit, swap, most] =
    version === 2
      ? (["memory.max", "memory.swap.max", 0] as const)
      : (["memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes] as const);
  writeFileSync(join(directory, limit), String(bytes));
  try {
    writeFileSync(join(directory, swap), String(most));
  } catch {
    // The kernel does not account for swap.
  }
}

/** As Kubernetes counts it: what is in use, without files that were not used lately. */
function workingSet(version: 1 | 2, directory: string): number {
  const [usage, inactive] =
    version === 2 ? ["memory.current", "inactive_file"] : ["memory.usage_in_bytes", "total_inactive_file"];
  return Number(readFileSync(join(directory, usage), "utf8")) - fieldOf(join(directory, "memory.stat"), inactive);
}

function killsOf(version: 1 | 2, directory: string): number {
  return fieldOf(join(directory, version === 2 ? "memory.events" : "memory.oom_control"), "oom_kill");
}

function fieldOf(file: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(readFileSync(file, "utf8"))?.[1] ?? 0);
}

/** Ends what is still in the group, then removes it. @param report called for each process that has to be killed */
export async function emptyAndRemove(
  group: ControlGroup,
  endWithinMs: number,
  report: (pid: number) => void = () => {},
): Promise<void> {
  const deadline = performance.now() + endWithinMs;
  for (;;) {
    const pids = group.pids();
    if (pids.length === 0) return group.remove();
    if (performance.now() > deadline) {
      for (const pid of pids) {
        report(pid);
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // It has ended meanwhile.
        }
      }
      if (performance.now() > deadline + 5_000) return group.remove();
    }
    await delay(50);
  }
}
