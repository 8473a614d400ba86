/** `record_store`: the last records, kept for questions. */
import { block } from "../../settings/types/block.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { count, duration } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { type ShapeDoc, withDefaults } from "../../settings/types/registry.ts";
import { type SecretSource, secretValues } from "../../settings/secret-spellings.ts";
import { accepted, parseDuration } from "../../settings/values.ts";
import type { RecordStoreSettings } from "./compiled.ts";

const members = {
  max_age: duration({ doc: "Records older than that are not shown, and are deleted.", default: "7d", minMs: 3600_000 }),
  max_records: count({
    doc: "So many records are kept at most; the oldest go first. A record takes about 1.2 kB of disk.",
    default: 1_000_000,
    min: 1_000,
    max: 100_000_000,
  }),
  // A database URL holds a password, so it has the three spellings of a secret.
  ...secret("storage_url", {
    doc: "Where they lie, written as the store's `storage_url`.",
    unset:
      "beside the store: for `sqlite:gateway.db` in `gateway.records.db`; in the same PostgreSQL database, in a schema of their own; for `memory:` in a temporary file",
  }),
};

export const recordStoreShape = {
  record_store: block(members, {
    doc: "Keeps copies of the last records, and what became of each request, for `gateway records` and the console: written behind the answer, never in its way. What a tool is called with is there as `record_arguments` says.",
    unset: "records are in `authorize_log` alone",
  }),
};

type RecordStoreDoc = ShapeDoc<typeof recordStoreShape>;

export function* recordStoreRules({ record_store: store }: Partial<RecordStoreDoc>): Iterable<UnplacedProblem> {
  const url = store?.storage_url;
  if (url !== undefined && url !== "memory:" && !/^(sqlite|postgres|postgresql):./.test(url))
    yield errorAt(["record_store", "storage_url"], 'must be "memory:" or begin with "sqlite:" or "postgres://"');
}

/** @throws GatewayError `config.secret` */
export function compileRecordStore(
  { record_store: store }: RecordStoreDoc,
  secrets: SecretSource,
): RecordStoreSettings | undefined {
  if (store === undefined) return undefined;
  const { max_age: maxAge, max_records: maxRecords } = withDefaults(members, store);
  const [storageUrl] = secretValues(store, "storage_url", secrets);
  return { maxAgeMs: accepted(parseDuration(maxAge)), maxRecords, storageUrl };
}
