/** Memory limit of the validation thread: a slice made to exhaust memory ends the thread, not the process. */
import { totalmem } from "node:os";
import type { ResourceLimits } from "node:worker_threads";

const MIB = 1024 * 1024;
const LEAST_MIB = 96;
const MOST_MIB = 2048;

/**
 * @param constrained the container's limit in bytes
 * @param total memory of the host
 */
export function heapLimits(
  constrained: number = process.constrainedMemory(),
  total: number = totalmem(),
): ResourceLimits {
  // Without a limit some systems report 0, others more than the total.
  const available = constrained > 0 && constrained < total ? constrained : total;
  // A third: 170 MiB of a container's 512 MiB, enough for 15,000 routes.
  const old = Math.floor(available / 3 / MIB);
  return {
    maxOldGenerationSizeMb: Math.min(MOST_MIB, Math.max(LEAST_MIB, old)),
    /**
     * A load creates much garbage and takes long. By default V8 grows the young generation to 48 MB and promotes
     * garbage: 1 MiB of resident memory per 100 loads, up to 110 MiB.
     */
    maxYoungGenerationSizeMb: 12,
  };
}
