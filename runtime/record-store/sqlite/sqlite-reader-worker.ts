/** The thread that reads a SQLite file of records: one query at a time, in order. */
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";

import { GatewayError } from "../../shared/errors.ts";
import { BackEndError } from "../back-end.ts";
import { countInSlots, noCounts, noRanking, rankRecords } from "../count.ts";
import type { CountQuery, RankQuery, RecordQuery } from "../record-reader.ts";
import { countRecords, findRecords, getRecord, type SearchLimits } from "../search.ts";
import type { SegmentReader } from "../segment-search.ts";
import { attempt, fileAt, openForReading } from "./record-file.ts";
import { readSegments } from "./sqlite-back-end.ts";

export interface ReaderSettings extends SearchLimits {
  readonly path: string;
}

export type ReaderRequest = { readonly id: number } & (
  | { readonly ask: "find"; readonly query: RecordQuery }
  | { readonly ask: "count"; readonly query: CountQuery }
  | { readonly ask: "rank"; readonly query: RankQuery }
  | { readonly ask: "get"; readonly recordId: string }
  | { readonly ask: "stats" }
  | { readonly ask: "close" }
);

export type ReaderAnswer =
  | { readonly id: number; readonly ok: true; readonly result: unknown }
  | { readonly id: number; readonly ok: false; readonly code: string; readonly message: string };

const MAX_STATEMENTS = 1_000;

if (parentPort) serve(parentPort, workerData as ReaderSettings);

function serve(port: NonNullable<typeof parentPort>, settings: ReaderSettings): void {
  const { path } = settings;
  let open: { readonly database: DatabaseSync; readonly file: number | undefined } | undefined;
  const statements = new Map<string, StatementSync>();
  let last = Promise.resolve();

  port.on("message", (request: ReaderRequest) => {
    last = last.then(() => answer(request));
  });

  async function answer(request: ReaderRequest): Promise<void> {
    const { id } = request;
    try {
      port.postMessage({ id, ok: true, result: await ask(request) } satisfies ReaderAnswer);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const code = error instanceof GatewayError ? error.code : "records.unavailable";
      port.postMessage({ id, ok: false, code, message } satisfies ReaderAnswer);
    }
    if (request.ask === "close") port.close();
  }

  async function ask(request: ReaderRequest): Promise<unknown> {
    if (request.ask === "close") return close();
    // The open file may have been moved away, and replaced by another.
    if (open && open.file !== fileAt(path)) close();
    if (!open) {
      const database = openForReading(path);
      if (database) open = { database, file: fileAt(path) };
    }
    const now = Date.now();
    if (!open) return nothing(request);
    // One snapshot of the file for all statements: segments come and go.
    const { database } = open;
    try {
      attempt(path, () => database.exec("BEGIN"));
      const db = reader(database);
      switch (request.ask) {
        case "find":
          return await findRecords(db, request.query, settings, now);
        case "count":
          return await countInSlots(db, request.query, settings, now);
        case "rank":
          return await rankRecords(db, request.query, settings, now);
        case "get":
          return await getRecord(db, request.recordId, settings, now);
        case "stats":
          return await countRecords(db, settings, now);
        default:
          return request satisfies never;
      }
    } catch (error) {
      if (error instanceof BackEndError && error.reason === "failed") close();
      throw error;
    } finally {
      if (database.isOpen && database.isTransaction) database.exec("COMMIT");
    }
  }

  function reader(database: DatabaseSync): SegmentReader {
    return {
      prefix: "",
      segments: async () => attempt(path, () => readSegments(database)),
      all: async (sql, values) =>
        attempt(path, () => statement(database, sql).all(...values) as unknown as readonly (readonly unknown[])[]),
      async bytes() {
        const number = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name] ?? 0);
        return number("page_count") * number("page_size");
      },
    };
  }

  function statement(database: DatabaseSync, sql: string): StatementSync {
    let known = statements.get(sql);
    if (!known) {
      if (statements.size >= MAX_STATEMENTS) statements.clear();
      known = database.prepare(sql);
      known.setReadBigInts(true);
      known.setReturnArrays(true);
      statements.set(sql, known);
    }
    return known;
  }

  function close(): null {
    statements.clear();
    const closing = open;
    open = undefined;
    closing?.database.close();
    return null;
  }
}

/** Result before anything was written. */
function nothing(request: ReaderRequest): unknown {
  const { ask } = request;
  if (ask === "find") return { records: [], isPartial: false };
  if (ask === "count") return noCounts(request.query);
  if (ask === "rank") return noRanking(request.query);
  return ask === "stats" ? { count: 0, bytes: 0 } : undefined;
}
