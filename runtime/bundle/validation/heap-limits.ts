/** How much memory the validating thread may have: a slice made to exhaust it ends the thread, not the process. */
import { totalmem } from "node:os";
import type { ResourceLimits } from "node:worker_threads";

const MIB = 1024 * 1024;
const LEAST_MIB = 96;
const MOST_MIB = 2048;

/** @param constrained what the container may have, in bytes, @param total what the machine has */
export function heapLimits(
  constrained: number = process.constrainedMemory(),
  total: number = totalmem(),
): ResourceLimits {
  // Without a limit some systems say 0, others more than there is.
  const available = constrained > 0 && constrained < total ? constrained : total;
  // A third: 170 MiB of a container's 512 MiB, enough for 15,000 routes.
  const old = Math.floor(available / 3 / MIB);
  return {
    maxOldGenerationSizeMb: Math.min(MOST_MIB, Math.max(LEAST_MIB, old)),
    /**
     * A load leaves much garbage and lives for long. Left to itself V8 lets the young generation grow to 48 MB and moves into the
     * old one what is dead a moment later: 1 MiB of resident memory more for every 100 loads, 110 MiB in the end.
     */
    maxYoungGenerationSizeMb: 12,
  };
}
