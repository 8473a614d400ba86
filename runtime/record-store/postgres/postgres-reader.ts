/** Reads records from PostgreSQL. */
import { GatewayError } from "../../shared/errors.ts";
import type { RecordReader } from "../record-reader.ts";
import { countInSlots, noCounts, noRanking, rankRecords } from "../count.ts";
import { countRecords, findRecords, getRecord, type SearchLimits } from "../search.ts";
import type { SegmentReader } from "../segment-search.ts";
import { NoTableError, openRecordPool, PREFIX, readSegments, readVersion } from "./postgres-records.ts";

/** Concurrent queries of one process. */
const CONNECTIONS = 3;
const MAX_TRIES = 10;

export function createPostgresReader({ url, ...limits }: SearchLimits & { readonly url: string }): RecordReader {
  const pool = openRecordPool(url, CONNECTIONS);
  let isKnown = false;
  const db: SegmentReader = {
    prefix: PREFIX,
    segments: () => readSegments(pool.query),
    all(sql, values) {
      let at = 0;
      return pool.query(
        sql.replaceAll("?", () => `$${++at}`),
        values.map(String),
      );
    },
    async bytes() {
      const [row] = await pool.query(
        "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE c.relnamespace = 'gateform_records'::regnamespace AND c.relkind = 'r'",
      );
      return Number(row?.[0] ?? 0);
    },
  };

  /** @param none result before anything was written */
  async function ask<T>(none: T, question: () => Promise<T>): Promise<T> {
    try {
      isKnown ||= (await readVersion(pool.query)) !== undefined;
      return isKnown ? await again(question) : none;
    } catch (error) {
      if (error instanceof GatewayError) throw error;
      const message = `Cannot read the records: ${error instanceof Error ? error.message : String(error)}`;
      throw new GatewayError("records.unavailable", message, { cause: error });
    }
  }

  return {
    find: (query) => ask({ records: [], isPartial: false }, () => findRecords(db, query, limits, Date.now())),
    count: (query) => ask(noCounts(query), () => countInSlots(db, query, limits, Date.now())),
    rank: (query) => ask(noRanking(query), () => rankRecords(db, query, limits, Date.now())),
    get: (id) => ask(undefined, () => getRecord(db, id, limits, Date.now())),
    stats: () => ask({ count: 0, bytes: 0 }, () => countRecords(db, limits, Date.now())),
    close: () => pool.close(),
  };
}

/** A segment may be dropped between two statements. */
async function again<T>(question: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await question();
    } catch (error) {
      if (!(error instanceof NoTableError) || tries === MAX_TRIES) throw error;
    }
  }
}
