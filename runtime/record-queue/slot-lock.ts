/**
 * A lock that cannot outlive its process: the kernel holds it for an open file, so that `kill -9` releases it, and two
 * containers that share a disk see each other's. Node.js has no call for such locks; SQLite uses them for its files.
 */
import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

/**
 * @param path of a file only for this lock, created if missing @returns a release function; undefined: another
 *   process has the lock
 */
export function tryLock(path: string): (() => void) | undefined {
  const database = new DatabaseSync(path);
  try {
    // Nothing is ever written: without a journal there is no second file.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return () => database.close();
  } catch (error) {
    database.close();
    if ((error as { readonly errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
}
