/**
 * Checks whether there is memory for more requests: in the process's heap, and in its control group (container, unit), at
 * whose limit the system would kill it.
 */
import { readFileSync } from "node:fs";
import { getHeapStatistics } from "node:v8";

export interface MemoryUse {
  /** Fraction of the heap's limit, 0 to 1. */
  readonly heap: number;
  /** Fraction of the control group's limit, 0 to 1; undefined without a limit. The system's file cache is not counted. */
  readonly group: number | undefined;
}

/** From this fraction on, memory is short. */
export const MEMORY_MARK = 0.9;
/** Time between two measurements. */
const MEASURE_MS = 250;

/**
 * @returns tells whether memory is short, which takes two measurements in a row: right before a collection the heap is full
 * of garbage
 */
export function watchMemory(read: () => MemoryUse, now: () => number): () => boolean {
  let measuredAt = -Infinity;
  let isShort = false;
  let wasOver = false;
  return () => {
    const at = now();
    if (at - measuredAt < MEASURE_MS) return isShort;
    measuredAt = at;
    const { heap, group = 0 } = read();
    const isOver = Math.max(heap, group) >= MEMORY_MARK;
    isShort = isOver && wasOver;
    wasOver = isOver;
    return isShort;
  };
}

/** Bytes that this process can use: the limit of its heap or of its control group, whichever is less. */
export function memoryLimit(root = "/sys/fs/cgroup", own = readText("/proc/self/cgroup")): number {
  return Math.min(getHeapStatistics().heap_size_limit, groupOf(root, own)?.limitBytes ?? Infinity);
}

/** @param root where control groups are mounted; for tests */
export function memoryReader(root = "/sys/fs/cgroup", own = readText("/proc/self/cgroup")): () => MemoryUse {
  const group = groupOf(root, own);
  return () => {
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    return { heap: used / limit, group: group && groupUse(group) };
  };
}

interface Group {
  readonly statFile: string;
  readonly limitBytes: number;
}

/** The group of this process, with its limit (cgroup v2, else v1); undefined without one. */
function groupOf(root: string, own: string | undefined): Group | undefined {
  if (own === undefined) return undefined;
  const path = /^0::(.*)$/m.exec(own)?.[1];
  const older = /^\d+:(?:[^:]*,)?memory(?:,[^:]*)?:(.*)$/m.exec(own)?.[1];
  // In a container the path is the host's or "/", and the mount starts at the container's own group.
  const candidates = [
    ...(path === undefined ? [] : [`${root}${path}`, root]).map((each) => [each, "memory.max"] as const),
    ...(older === undefined ? [] : [`${root}/memory${older}`, `${root}/memory`]).map(
      (each) => [each, "memory.limit_in_bytes"] as const,
    ),
  ];
  for (const [directory, name] of candidates) {
    const limitBytes = Number(readText(`${directory}/${name}`)?.trim());
    // "max", and the huge number of v1, mean no limit.
    if (limitBytes > 0 && limitBytes < Number.MAX_SAFE_INTEGER / 2) {
      return { statFile: `${directory}/memory.stat`, limitBytes };
    }
  }
  return undefined;
}

/** Memory of the processes, without the file cache, which the system reclaims automatically. */
function groupUse({ statFile, limitBytes }: Group): number | undefined {
  const bytes = /^(?:anon|total_rss) (\d+)$/m.exec(readText(statFile) ?? "")?.[1];
  return bytes === undefined ? undefined : Number(bytes) / limitBytes;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return undefined;
  }
}
