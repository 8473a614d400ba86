/** `forgetRecords()` in PostgreSQL. */
import { NoTableError, openRecordPool, PREFIX, readSegments, readVersion } from "./postgres-records.ts";
import type { Forgetting } from "../forgetting.ts";

/** @throws BackEndError */
export async function forgetInPostgres(url: string, { condition, values, isAbout }: Forgetting): Promise<number> {
  const pool = openRecordPool(url, 1);
  try {
    if ((await readVersion(pool.query)) === undefined) return 0;
    let count = 0;
    for (const { number } of await readSegments(pool.query)) {
      let at = 0;
      const where = condition((text) => `strpos(${text}, ?) > 0`).replaceAll("?", () => `$${++at}`);
      count += await pool
        .transaction(async (query) => {
          const rows = await query(
            `SELECT f.id, t.value FROM ${PREFIX}facts_${number} f JOIN ${PREFIX}texts_${number} t ON t.id = f.id WHERE ${where}`,
            values,
          );
          const ids = rows.filter(([, value]) => isAbout(String(value))).map(([id]) => String(id));
          await query(`DELETE FROM ${PREFIX}facts_${number} WHERE id = ANY($1::bigint[])`, [ids]);
          await query(`DELETE FROM ${PREFIX}texts_${number} WHERE id = ANY($1::bigint[])`, [ids]);
          await query(`UPDATE ${PREFIX}segments SET records = records - $1 WHERE number = $2`, [ids.length, number]);
          return ids.length;
        })
        // The segment was dropped meanwhile.
        .catch((error: unknown) => {
          if (error instanceof NoTableError) return 0;
          throw error;
        });
    }
    return count;
  } finally {
    await pool.close();
  }
}
