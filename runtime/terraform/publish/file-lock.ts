/**
 * One writer at a time for a slice's file, across processes and hosts that share its directory.
 *
 * The lock is a file that only one process can create. Its holder works for milliseconds, so a lasting lock belongs to a
 * killed process: it is removed when its process has certainly ended, or when it is old.
 */
import { link, open, readFile, stat, unlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";

import { GatewayError } from "../../shared/errors.ts";
import { hashSecret, randomSecret } from "../../shared/keys.ts";
import { isRunning, processSpace } from "../../shared/net/process-space.ts";

/** A busy disk may take seconds to flush a file and its directory. */
const STALE_AFTER_MS = 30_000;
const WAIT_MS = 60_000;
const ASK_EVERY_MS = 10;
/** Number of processes that may be killed one after another while they remove the same lock. */
const MOST_TURNS = 100;

/**
 * Runs `work` while no other process holds this path's lock.
 *
 * @throws GatewayError `publish.conflict` when others hold the lock for a minute; errors of node:fs; errors of `work`
 */
export async function withFileLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  const own = `${processMark()} ${randomSecret(6)}`;
  const startedMs = performance.now();
  for (;;) {
    const nowMs = await create(lock, own);
    if (nowMs === undefined) break;
    const stale = await staleText(lock, nowMs);
    if (stale !== undefined && (await removeStale(lock, stale, own))) continue;
    if (performance.now() - startedMs >= WAIT_MS)
      throw new GatewayError(
        "publish.conflict",
        `Cannot change "${path}": another apply holds "${lock}"; try again when it has ended`,
      );
    else await delay(ASK_EVERY_MS);
  }
  try {
    return await work();
  } finally {
    // Unless this process was suspended so long that another one took over.
    if ((await readFile(lock, "utf8").catch(() => "")) === own) await unlink(lock).catch(() => {});
  }
}

/**
 * @returns undefined when this process has the lock; else the time of the file server: the clocks of its clients may be
 * minutes apart, and a client ahead would see every lock as old
 */
async function create(lock: string, own: string): Promise<number | undefined> {
  // Written first and then linked: a reader of the lock finds all of its text.
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

/** @returns the text of a lock whose process has ended or takes too long; undefined: it is in use, or gone */
async function staleText(lock: string, nowMs: number): Promise<string | undefined> {
  const [text, info] = await Promise.all([readFile(lock, "utf8"), stat(lock)]).catch(() => []);
  if (text === undefined || info === undefined) return undefined;
  if (nowMs - info.mtimeMs > STALE_AFTER_MS) return text;
  const [mark = "", pid = ""] = /^(.*) (\d+) \S+$/.exec(text)?.slice(1) ?? [];
  if (pid === "" || `${mark} ${process.pid}` !== processMark()) return undefined;
  return isRunning(Number(pid)) ? undefined : text;
}

/**
 * Files are removed by name, which may already be a new lock's. So of all processes that find a lock stale only one removes
 * it: the one that created the file named after the lock's text, which no other lock has.
 *
 * @returns true if this process removed it
 */
async function removeStale(lock: string, stale: string, own: string): Promise<boolean> {
  const right = `${lock}-${hashSecret(stale)}`;
  // If the process that holds this right was killed, the next file gives the right to another one.
  for (let turn = 0; turn < MOST_TURNS; turn += 1) {
    const nowMs = await create(`${right}-${turn}`, own);
    if (nowMs === undefined) {
      if ((await readFile(lock, "utf8").catch(() => "")) === stale) await unlink(lock).catch(() => {});
      for (let each = 0; each <= turn; each += 1) await unlink(`${right}-${each}`).catch(() => {});
      return true;
    }
    if ((await staleText(`${right}-${turn}`, nowMs)) === undefined) return false;
  }
  return false;
}

/** Processes whose marks differ only in the number can see each other. */
function processMark(): string {
  return `${processSpace()} ${process.pid}`;
}
