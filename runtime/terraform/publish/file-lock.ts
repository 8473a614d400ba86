/**
 * One writer at a time for a slice's file, over processes and machines that share its directory.
 *
 * The lock is a file that only one process can create. Its holder works for milliseconds, so a lock that lasts is of a process
 * that was killed: it is removed when its process has certainly ended, or when it is old.
 */
import { readlinkSync } from "node:fs";
import { link, open, readFile, rename, stat, unlink } from "node:fs/promises";
import { hostname } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

import { GatewayError } from "../../shared/errors.ts";
import { randomSecret } from "../../shared/keys.ts";

/** A disk that is busy may take seconds to flush a file and its directory. */
const STALE_AFTER_MS = 30_000;
const WAIT_MS = 60_000;
const ASK_EVERY_MS = 10;

/**
 * Runs `work` while no other process runs under this path's lock.
 *
 * @throws GatewayError `publish.conflict` when others hold the lock for a minute; errors of node:fs; what `work` throws
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const own = `${processMark()} ${randomSecret(6)}`;
  const startedMs = performance.now();
  for (;;) {
    const nowMs = await create(lock, own);
    if (nowMs === undefined) break;
    if (await isStale(lock, nowMs)) await removeStale(lock, nowMs);
    else if (performance.now() - startedMs >= WAIT_MS)
      throw new GatewayError(
        "publish.conflict",
        `Cannot change "${path}": another apply holds "${lock}"; try again when it has ended`,
      );
    else await delay(ASK_EVERY_MS);
  }
  try {
    return await work();
  } finally {
    // Unless this process stood still for so long that another one took over.
    if ((await readFile(lock, "utf8").catch(() => "")) === own) await unlink(lock).catch(() => {});
  }
}

/**
 * @returns undefined when this process has the lock; else the time of the machine that keeps the files: the clocks of those that
 * share them may be minutes apart, and one that is ahead would find every lock old
 */
async function create(lock: string, own: string): Promise<number | undefined> {
  // Written first and linked then: whoever reads the lock finds all of its text.
  const temporary = `${lock}-${randomSecret(6)}`;
  const file = await open(temporary, "wx", 0o600);
  try {
    await file.writeFile(own);
    await link(temporary, lock);
    return undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return (await file.stat()).mtimeMs;
    throw error;
  } finally {
    await file.close();
    await unlink(temporary).catch(() => {});
  }
}

async function isStale(lock: string, nowMs: number): Promise<boolean> {
  const [text, info] = await Promise.all([readFile(lock, "utf8"), stat(lock)]).catch(() => []);
  if (text === undefined || info === undefined) return false;
  if (nowMs - info.mtimeMs > STALE_AFTER_MS) return true;
  const [mark = "", pid = ""] = /^(.*) (\d+) \S+$/.exec(text)?.slice(1) ?? [];
  if (pid === "" || `${mark} ${process.pid}` !== processMark()) return false;
  try {
    process.kill(Number(pid), 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}

/** Of several processes that find it stale, one removes it; a new lock that is there by then is put back. */
async function removeStale(lock: string, nowMs: number): Promise<void> {
  const aside = `${lock}-${randomSecret(6)}`;
  const moved = await rename(lock, aside).then(
    () => true,
    () => false,
  );
  if (!moved) return;
  if (!(await isStale(aside, nowMs))) await link(aside, lock).catch(() => {});
  await unlink(aside).catch(() => {});
}

/** Machine, process namespace and process number: equal marks but for the number are processes that see each other. */
function processMark(): string {
  return `${hostname()} ${pidNamespace()} ${process.pid}`;
}

function pidNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return "-";
  }
}
