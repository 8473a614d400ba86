/** The scope within which process IDs are unique, and whether one of them is in use. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let known: string | undefined;

/**
 * Identifies this kernel since its start, and this process ID namespace. Host names are not enough: hosts can share
 * one, and containers on one host with the same name number their processes separately.
 */
export function processSpace(): string {
  return (known ??= `${read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? hostname()} ${
    read(() => readlinkSync("/proc/self/ns/pid")) ?? "-"
  }`);
}

/** Undefined on systems without this file. */
function read(look: () => string): string | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** Whether a process of this space is running, also one of another user. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}
