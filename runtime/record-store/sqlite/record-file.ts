/** The SQLite file of the records: opening it for writing or reading, and the meaning of its errors. */
import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

import { errorText } from "../../shared/errors.ts";
import { BackEndError, newerVersion, SCHEMA_VERSION } from "../back-end.ts";
import { updateSegment } from "../segments.ts";

/** "GfRc": marks our own files. */
const APPLICATION = 0x47665263;
const BUSY = new Set([5, 6]);
const FULL = 13;
const DAMAGED = new Set([11, 26]);

/**
 * Opens the file for writing, creating it if missing, for its owner only.
 *
 * @param waitMs for other writers
 * @throws BackEndError
 */
export function openForWriting(path: string, waitMs: number): DatabaseSync {
  return attempt(path, () => {
    createPrivately(path);
    const database = new DatabaseSync(path, { timeout: waitMs });
    try {
      checkVersion(database);
      // NORMAL: a power cut may lose the last seconds, which the log has; a killed process loses nothing. FAST: a
      // reused page keeps none of its earlier content, so that users can be erased.
      database.exec(`PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = FAST;
        PRAGMA wal_autocheckpoint = 2000; PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -8192`);
      database.exec("BEGIN IMMEDIATE");
      if (checkVersion(database) === 1) update(database);
      database.exec(`CREATE TABLE IF NOT EXISTS segments
        (number integer PRIMARY KEY, first_id integer NOT NULL, records integer NOT NULL, is_indexed integer NOT NULL) STRICT`);
      // Earlier versions use it to number their writers.
      database.exec("CREATE TABLE IF NOT EXISTS writers (number integer PRIMARY KEY AUTOINCREMENT) STRICT");
      database.exec(`PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${SCHEMA_VERSION}; COMMIT`);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** @returns undefined before anything was written @throws BackEndError */
export function openForReading(path: string): DatabaseSync | undefined {
  if (!statSync(path, { throwIfNoEntry: false })) return undefined;
  return attempt(path, () => {
    const database = new DatabaseSync(path, { readOnly: true, timeout: 1_000 });
    try {
      if (checkVersion(database) === 0) {
        database.close();
        return undefined;
      }
      database.exec("PRAGMA cache_size = -16384; PRAGMA mmap_size = 0");
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  });
}

/** Runs it, and explains errors. @throws BackEndError */
export function attempt<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof BackEndError) throw error;
    const code = Number((error as { errcode?: unknown }).errcode ?? 0) & 0xff;
    if (BUSY.has(code)) throw new BackEndError("busy", "another process is writing", { cause: error });
    if (code === FULL) throw new BackEndError("failed", "the disk is full", { cause: error });
    const state = DAMAGED.has(code)
      ? `"${path}" is damaged: move it away, and a new one is created (${errorText(error)})`
      : errorText(error);
    throw new BackEndError("failed", state, { cause: error });
  }
}

/** The file currently at the path; a different number after it was moved away. */
export function fileAt(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

function checkVersion(database: DatabaseSync): number {
  const number = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  const version = number("user_version");
  const application = number("application_id");
  const isOther = application !== APPLICATION && (application !== 0 || version !== 0);
  if (isOther) throw new BackEndError("failed", "the file is a database of something else");
  if (version > SCHEMA_VERSION) throw newerVersion(version);
  return version;
}

/** From version 1, in the transaction that writes the new version. */
function update(database: DatabaseSync): void {
  for (const { number } of database.prepare("SELECT number FROM segments").all())
    for (const sql of updateSegment("", Number(number), false)) database.exec(sql);
}

/** Created before SQLite would create it with the umask's mode; its side files copy the mode. */
function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  // By path: closing a descriptor drops this process's locks on the file (POSIX).
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
}
