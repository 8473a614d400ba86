/**
 * Whether there is memory for more requests: the process's heap, and what its control group (container, unit) may have, against
 * which the system would kill it.
 */
import { readFileSync } from "node:fs";
import { getHeapStatistics } from "node:v8";

export interface MemoryUse {
  /** Of the heap's limit, 0 to 1. */
  readonly heap: number;
  /** Of the control group's limit, 0 to 1; undefined where there is none. What the system keeps of files is not counted. */
  readonly group: number | undefined;
}

/** From here on there is none for more. */
export const MEMORY_MARK = 0.9;
/** Between two looks. */
const LOOK_MS = 250;

/** @returns asks whether memory is short: at two looks one after another, since the heap has garbage in it right before it is collected */
export function watchMemory(read: () => MemoryUse, now: () => number): () => boolean {
  let lookedAt = -Infinity;
  let isShort = false;
  let wasOver = false;
  return () => {
    const at = now();
    if (at - lookedAt < LOOK_MS) return isShort;
    lookedAt = at;
    const { heap, group = 0 } = read();
    const isOver = Math.max(heap, group) >= MEMORY_MARK;
    isShort = isOver && wasOver;
    wasOver = isOver;
    return isShort;
  };
}

/** Bytes that this process can use: of its heap, or of its control group where that is less. */
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
  // In a container the path is the host's or "/", and what is mounted begins at its own group.
  const places = [
    ...(path === undefined ? [] : [`${root}${path}`, root]).map((each) => [each, "memory.max"] as const),
    ...(older === undefined ? [] : [`${root}/memory${older}`, `${root}/memory`]).map(
      (each) => [each, "memory.limit_in_bytes"] as const,
    ),
  ];
  for (const [directory, name] of places) {
    const limitBytes = Number(readText(`${directory}/${name}`)?.trim());
    // "max", and what v1 says where there is none.
    if (limitBytes > 0 && limitBytes < Number.MAX_SAFE_INTEGER / 2) {
      return { statFile: `${directory}/memory.stat`, limitBytes };
    }
  }
  return undefined;
}

/** What processes have, without what the system keeps of files and gives back by itself. */
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
