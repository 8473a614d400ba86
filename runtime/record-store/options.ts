/** Location of the records, from the settings. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomUUID } from "node:crypto";

import { GatewayError } from "../shared/errors.ts";
import { sqlitePath } from "../store/sqlite/sqlite-path.ts";
import type { RecordPlace } from "./back-end.ts";

/** Temporary files; the number is the process ID. */
export const TEMPORARY = /^gateform-records-(\d+)-[0-9a-f-]+\.db(?:-wal|-shm)?$/;

/**
 * @param own `record_store.storage_url`; absent: next to the store, in the same database or in a separate file
 * @param storageUrl the store's
 * @throws GatewayError `records.url`
 */
export function recordPlace(own: string | undefined, storageUrl: string): RecordPlace {
  const url = own ?? storageUrl;
  if (/^postgres(?:ql)?:/.test(url)) return { kind: "postgres", url };
  if (url === "memory:") {
    const path = join(tmpdir(), `gateform-records-${process.pid}-${randomUUID()}.db`);
    return { kind: "sqlite", path, isTemporary: true };
  }
  const path = sqlitePath(url);
  if (path === undefined)
    throw new GatewayError(
      "records.url",
      'Cannot open the record store: its storage_url must be "memory:", "sqlite:PATH" or "postgres://…"',
    );
  return { kind: "sqlite", path: own === undefined ? besides(path) : path, isTemporary: false };
}

/** "gateway.db" → "gateway.records.db" */
function besides(path: string): string {
  return /\.[^./]+$/.test(path) ? path.replace(/(\.[^./]+)$/, ".records$1") : `${path}.records`;
}
