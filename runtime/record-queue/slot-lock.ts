/**
 * A lock that its process cannot leave behind: held by the kernel for an open file, so that `kill -9` lets go of it, and two
 * containers that share a disk see each other's. Node.js has no call for such locks; SQLite takes them for its files.
 */
import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

/** @param path of a file for this alone, made where there is none @returns what lets go; undefined: somebody holds it */
export function tryLock(path: string): (() => void) | undefined {
  const database = new DatabaseSync(path);
  try {
    // Nothing is ever written: without a journal there is no other file.
    database.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return () => database.close();
  } catch (error) {
    database.close();
    if ((error as { readonly errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
}
