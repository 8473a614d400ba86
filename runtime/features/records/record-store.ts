/** `record_store`: storage of the latest records for queries. */
import { block } from "../../settings/types/block.ts";
import { errorAt, type UnplacedProblem } from "../../settings/problem.ts";
import { count, duration } from "../../settings/types/scalar.ts";
import { secret } from "../../settings/types/secret.ts";
import { type ShapeDoc, withDefaults } from "../../settings/types/registry.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";
import { accepted, parseDuration } from "../../settings/values.ts";
import type { RecordStoreSettings } from "./compiled.ts";

const members = {
  max_age: duration({ doc: "Retention period. Older records are deleted.", default: "7d", minMs: 3600_000 }),
  max_records: count({
    doc: "Maximum number of records. The oldest are deleted first.",
    default: 1_000_000,
    min: 1_000,
    max: 100_000_000,
  }),
  // A database URL contains a password, so it has the three forms of a secret.
  ...secret("storage_url", {
    doc: "Database URL, in the format of the global `storage_url`.",
    unset:
      "next to the store: `gateway.records.db` for `sqlite:gateway.db`, a separate schema in the same PostgreSQL database, a temporary file for `memory:`",
  }),
};

export const recordStoreShape = {
  record_store: block(members, {
    doc: "Copies of recent records and request outcomes, for `gateway records` and the console.",
    unset: "none",
  }),
};

type RecordStoreDoc = ShapeDoc<typeof recordStoreShape>;

export function* recordStoreRules({ record_store: store }: Partial<RecordStoreDoc>): Iterable<UnplacedProblem> {
  const url = store?.storage_url;
  if (url !== undefined && url !== "memory:" && !/^(sqlite|postgres|postgresql):./.test(url))
    yield errorAt(["record_store", "storage_url"], 'must be "memory:" or start with "sqlite:" or "postgres://"');
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
