/** Small disks of a soak belong to its processes alone: however these end, nothing stays mounted. */
import { spawnSync } from "node:child_process";
import process from "node:process";

const UNSHARE = "/usr/bin/unshare";
const IS_THERE = "SOAK_HAS_OWN_MOUNTS";

/** Begins this program again, as the same process, where mounts are its own. Goes on without where it may not have that. */
export function takeOwnMounts(): void {
  if (process.env[IS_THERE] !== undefined || spawnSync(UNSHARE, ["--mount", "true"]).status !== 0) return;
  const program = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(UNSHARE, [UNSHARE, "--mount", "--", ...program], { ...process.env, [IS_THERE]: "yes" });
}
