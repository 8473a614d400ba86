/** Where a process number means the same process. */
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let known: string | undefined;

/**
 * This kernel since its start, and this namespace of it. Names of hosts do not tell: machines can share one, and containers of one
 * machine that have its name number their processes each for itself.
 */
export function processSpace(): string {
  return (known ??= `${read(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ?? hostname()} ${
    read(() => readlinkSync("/proc/self/ns/pid")) ?? "-"
  }`);
}

/** Undefined on systems without it. */
function read(look: () => string): string | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
