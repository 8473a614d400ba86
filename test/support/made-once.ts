/**
 * Shared fixtures of several tests, or several runs, are made once: in a directory below the system's temporary one, named
 * after its inputs. Other callers wait while it is made.
 */
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

const MADE_ONCE = join(tmpdir(), "gateway-test-made-once");
const UNUSED_FOR_MS = 7 * 86_400_000;

/**
 * @param name of the directory, for readers
 * @param from its inputs: other values, another directory
 * @param make fills the directory; when it fails, nothing is stored
 * @returns the directory, which is read-only for callers
 */
export async function madeOnce(
  name: string,
  from: readonly string[],
  make: (directory: string) => Promise<void>,
): Promise<string> {
  const place = placeOf(name, from);
  mkdirSync(MADE_ONCE, { recursive: true });
  const lock = `${place}.lock`;
  while (!existsSync(place)) {
    if (!takeLock(lock)) {
      await delay(100);
      continue;
    }
    const making = `${place}.${process.pid}`;
    try {
      removeUnused();
      if (existsSync(place)) break;
      mkdirSync(making);
      await make(making);
      // Two processes that found the same dead holder may both have come here: either result is fine.
      if (!existsSync(place)) renameSync(making, place);
    } finally {
      rmSync(making, { recursive: true, force: true });
      rmSync(lock, { force: true });
    }
  }
  const now = new Date();
  utimesSync(place, now, now);
  return place;
}

export function placeOf(name: string, from: readonly string[]): string {
  const digest = createHash("sha256").update(JSON.stringify(from)).digest("hex").slice(0, 16);
  return join(MADE_ONCE, `${name}-${digest}`);
}

/** A lock is a file with its holder's process id. The lock of a process that was killed is removed. */
function takeLock(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const holder = readHolder(lock);
  // Between its making and its first byte a lock is empty.
  if (holder !== undefined && !isRunning(holder)) rmSync(lock, { force: true });
  return false;
}

function readHolder(lock: string): number | undefined {
  try {
    return Number(readFileSync(lock, "utf8")) || undefined;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Removes what no run has used for a week. */
function removeUnused(): void {
  for (const entry of readdirSync(MADE_ONCE)) {
    const path = join(MADE_ONCE, entry);
    const used = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - used > UNUSED_FOR_MS) rmSync(path, { recursive: true, force: true });
  }
}
