/** A consistent copy of a SQLite file while other processes write to it. */
import { open, rm } from "node:fs/promises";
import { backup, DatabaseSync } from "node:sqlite";

/** All pages in one step: with several, each write of a gateway would restart the copy. Writers do not wait. */
const ALL_PAGES = 0x7fff_ffff;

/**
 * @param to must not exist; removed after a failure
 * @throws Error of the file system or of SQLite
 */
export async function copySqlite(from: string, to: string): Promise<void> {
  // The copy contains names of users, and must not overwrite another one.
  const file = await open(to, "wx", 0o600);
  try {
    const database = new DatabaseSync(from, { readOnly: true });
    try {
      await backup(database, to, { rate: ALL_PAGES });
    } finally {
      database.close();
    }
    await file.sync();
  } catch (error) {
    await rm(to, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}
