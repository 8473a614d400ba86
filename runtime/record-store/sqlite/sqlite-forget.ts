/**
 * `forgetRecords()` in a SQLite file, leaving nothing of the texts in it. A page retains data that was moved or split
 * out of it, so the remaining texts of a segment are rewritten, and free pages are overwritten.
 */
import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

import { BackEndError } from "../back-end.ts";
import { createSegment } from "../segments.ts";
import { attempt, openForWriting } from "./record-file.ts";
import { readSegments } from "./sqlite-back-end.ts";
import type { Forgetting } from "../forgetting.ts";

/** Gateways' writes are short. */
const WAIT_MS = 10_000;
/** Pause after the same time of work, so that gateways can write their queued records. */
const PAUSE_MS = 100;
/** Free bytes overwritten per transaction. */
const WIPED_BYTES = 16 << 20;

/** @throws BackEndError */
export async function forgetInFile(path: string, forgetting: Forgetting): Promise<number> {
  if (!statSync(path, { throwIfNoEntry: false })) return 0;
  const database = openForWriting(path, WAIT_MS);
  try {
    // Pages that become free are overwritten.
    database.exec("PRAGMA secure_delete = ON");
    let count = 0;
    let paused = performance.now();
    const pause = async (): Promise<void> => {
      if (performance.now() - paused < PAUSE_MS) return;
      await delay(PAUSE_MS);
      paused = performance.now();
    };
    for (const { number } of attempt(path, () => readSegments(database))) {
      count += attempt(path, () => forgetInSegment(database, number, forgetting));
      await pause();
    }
    // Pages freed earlier, when old segments were dropped.
    while (attempt(path, () => wipe(database))) await pause();
    // Also removes it from the write-ahead log.
    const ended = attempt(path, () => database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get());
    if (Number(ended?.["busy"]) !== 0)
      throw new BackEndError(
        "busy",
        "they are deleted, but stay in its write-ahead log until other processes stop reading it",
      );
    return count;
  } finally {
    database.close();
  }
}

/** @returns number of erased records */
function forgetInSegment(database: DatabaseSync, number: number, { condition, values, isAbout }: Forgetting): number {
  database.exec("BEGIN IMMEDIATE");
  // The segment was dropped meanwhile.
  if (!readSegments(database).some((segment) => segment.number === number)) return end(database, 0);
  const found = database.prepare(
    `SELECT f.id AS id, t.value AS value FROM facts_${number} f JOIN texts_${number} t ON t.id = f.id WHERE ${condition((text) => `instr(${text}, ?) > 0`)}`,
  );
  found.setReadBigInts(true);
  const ids: string[] = [];
  for (const { id, value } of found.iterate(...values)) if (isAbout(String(value))) ids.push(String(id));
  if (ids.length === 0) return end(database, 0);
  for (const id of ids)
    database.exec(`DELETE FROM facts_${number} WHERE id = ${id}; DELETE FROM texts_${number} WHERE id = ${id}`);
  const [, fresh = ""] = createSegment("fresh_", number, false);
  database.exec(`${fresh}; INSERT INTO fresh_texts_${number} SELECT * FROM texts_${number} ORDER BY id;
    DROP TABLE texts_${number}; ALTER TABLE fresh_texts_${number} RENAME TO texts_${number};
    UPDATE segments SET records = records - ${ids.length} WHERE number = ${number}`);
  return end(database, ids.length);
}

function end(database: DatabaseSync, count: number): number {
  database.exec("COMMIT");
  return count;
}

/**
 * Overwrites free pages with zeros by allocating them; at the end they become free again. @returns whether there are
 * more
 */
function wipe(database: DatabaseSync): boolean {
  const pragma = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
  database.exec("BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS wiped (zeros blob NOT NULL) STRICT");
  // Each page also contains the number of the next one.
  const bytes = pragma("freelist_count") * (pragma("page_size") - 64);
  if (bytes > 0) database.prepare("INSERT INTO wiped VALUES (zeroblob(?))").run(Math.min(bytes, WIPED_BYTES));
  const isLast = bytes <= WIPED_BYTES;
  if (isLast) database.exec("DROP TABLE wiped");
  database.exec("COMMIT");
  return !isLast;
}
