/** `forgetRecords()` in a SQLite file: what is deleted is overwritten. */
import { statSync } from "node:fs";

import type { Forgetting } from "../forget.ts";
import { attempt, openForWriting } from "./record-file.ts";
import { readSegments } from "./sqlite-back-end.ts";

/** Gateways write for a moment each. */
const WAIT_MS = 10_000;

/** @throws BackEndError */
export async function forgetInFile(path: string, { condition, values, isAbout }: Forgetting): Promise<number> {
  if (!statSync(path, { throwIfNoEntry: false })) return 0;
  const database = openForWriting(path, WAIT_MS);
  try {
    return attempt(path, () => {
      database.exec("PRAGMA secure_delete = ON");
      let count = 0;
      for (const { number } of readSegments(database)) {
        database.exec("BEGIN IMMEDIATE");
        const known = readSegments(database).some((segment) => segment.number === number);
        const found = known
          ? database.prepare(
              `SELECT f.id AS id, t.value AS value FROM facts_${number} f JOIN texts_${number} t ON t.id = f.id WHERE ${condition((text) => `instr(${text}, ?) > 0`)}`,
            )
          : undefined;
        found?.setReadBigInts(true);
        const ids = (found?.all(...values) ?? [])
          .filter(({ value }) => isAbout(String(value)))
          .map(({ id }) => String(id));
        for (const id of ids)
          database.exec(`DELETE FROM facts_${number} WHERE id = ${id}; DELETE FROM texts_${number} WHERE id = ${id}`);
        database.exec(`UPDATE segments SET records = records - ${ids.length} WHERE number = ${number}; COMMIT`);
        count += ids.length;
      }
      // Not in the write-ahead log either.
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return count;
    });
  } finally {
    database.close();
  }
}
