/**
 * Loaded before the program, in each of its threads: it knows only the first step of the store's tables.
 *
 * Later tables that the current program uses are, in SQLite, private to one of its connections, and invisible to others.
 */
import { DatabaseSync } from "node:sqlite";

import { type Migration, migrations } from "../../runtime/store/migrations.ts";

const later = (migrations as Migration[]).splice(1);
const own = later
  .map(({ sqlite }) =>
    sqlite.replaceAll("CREATE TABLE ", "CREATE TEMP TABLE ").replaceAll("CREATE INDEX ", "CREATE INDEX temp."),
  )
  .join("\n");

const { exec } = Object.getOwnPropertyDescriptors(DatabaseSync.prototype);
DatabaseSync.prototype.exec = function (this: DatabaseSync, sql: string): void {
  exec.value?.call(this, sql);
  if (sql.startsWith("PRAGMA journal_mode")) exec.value?.call(this, own);
};
