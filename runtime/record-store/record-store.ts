/** The record store: the latest records, by age and number, for queries. The log has them all. */
import { readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { RecordConsumer } from "../audit/record-consumer.ts";
import { isRunning } from "../shared/net/process-space.ts";
import type { RecordStoreOptions } from "./back-end.ts";
import { TEMPORARY } from "./options.ts";
import { createPostgresBackEnd } from "./postgres/postgres-back-end.ts";
import { createPostgresReader } from "./postgres/postgres-reader.ts";
import { type KeeperDeps, RecordKeeper } from "./record-keeper.ts";
import type { RecordReader } from "./record-reader.ts";
import type { SearchLimits } from "./search.ts";
import { createSqliteBackEnd } from "./sqlite/sqlite-back-end.ts";
import { createSqliteReader } from "./sqlite/sqlite-reader.ts";

/** Opens it for writing, in the records thread. It never fails: problems are logged, and shown in its status. */
export function openRecordStore(options: RecordStoreOptions, deps: KeeperDeps): RecordConsumer {
  const { place } = options;
  if (place.kind === "postgres") return new RecordKeeper(createPostgresBackEnd(place.url, options), deps);
  if (place.isTemporary) removeAbandoned();
  return new RecordKeeper(createSqliteBackEnd(place.path, place.isTemporary, options), deps);
}

/** Opens it for queries, in any thread: none blocks its event loop. Connects with the first query. */
export function openRecordReader(
  { place, maxAgeMs }: Pick<RecordStoreOptions, "place" | "maxAgeMs">,
  limits: Omit<SearchLimits, "maxAgeMs"> = {},
): RecordReader {
  return place.kind === "postgres"
    ? createPostgresReader({ url: place.url, maxAgeMs, ...limits })
    : createSqliteReader({ path: place.path, maxAgeMs, ...limits });
}

/** Removes temporary files of killed processes. */
function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const pid = Number(TEMPORARY.exec(name)?.[1]);
    if (Number.isNaN(pid) || isRunning(pid)) continue;
    rmSync(join(tmpdir(), name), { force: true });
  }
}
