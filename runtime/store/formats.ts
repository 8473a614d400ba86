/**
 * Formats of stored records and their upgrades: every record has the schema version with which it was written, and
 * older ones are upgraded as they are read.
 *
 * A kind is the part of a key before its first colon. Its owner defines the schema to write, and how to turn an older
 * one into the next; a step never changes once released. Promise: no caller sees a record in an unknown format. One
 * written by a newer version (a replica that is ahead during an update) is unavailable, not guessed at.
 */
import { GatewayError } from "../shared/errors.ts";
import type { Json, PageQuery, Store, StoredRecord } from "./store.ts";
import { isRecord } from "../shared/is-record.ts";

type JsonObject = { readonly [member: string]: Json };

export interface RecordFormat {
  /** Schema version to write; the first is 1. */
  readonly schema: number;
  /** `upgrades[0]` turns schema 1 into 2, and so on: one less than `schema`. */
  readonly upgrades: readonly ((value: JsonObject) => JsonObject)[];
}

/** By kind: `{ grant: { schema: 1, upgrades: [] } }`. Other kinds pass unchanged. */
export type RecordFormats = Readonly<Record<string, RecordFormat>>;

/** Formats of kinds with only one schema so far. */
export function firstFormats(kinds: readonly string[]): RecordFormats {
  return Object.fromEntries(kinds.map((kind) => [kind, { schema: 1, upgrades: [] }]));
}

/** The same store, with all known records in the newest format. */
export function withFormats(store: Store, formats: RecordFormats): Store {
  const formatOf = (key: string): RecordFormat | undefined => {
    const kind = key.slice(0, key.indexOf(":"));
    return Object.hasOwn(formats, kind) ? formats[kind] : undefined;
  };
  const valueOf = <T>({ key, value }: StoredRecord<T>): T => {
    const format = formatOf(key);
    return format && isRecord(value) ? (upgrade(key, value as JsonObject, format) as T) : value;
  };
  const open = <T>(record: StoredRecord<T>): StoredRecord<T> => ({ ...record, value: valueOf(record) });
  // Upgraded on first access: code that only deletes listed records must not fail because of an unreadable one.
  const openLater = <T>(record: StoredRecord<T>): StoredRecord<T> => ({
    ...record,
    get value() {
      return valueOf(record);
    },
  });
  return {
    ...methodsOf(store),
    async get<T = Json>(key: string) {
      const record = await store.get<T>(key);
      return record && open(record);
    },
    async take<T = Json>(key: string) {
      const record = await store.take<T>(key);
      return record && open(record);
    },
    async list<T = Json>(tag: string) {
      return (await store.list<T>(tag)).map(openLater);
    },
    async page<T = Json>(query: PageQuery) {
      return (await store.page<T>(query)).map(openLater);
    },
    put(key, value, options) {
      const format = formatOf(key);
      const stamped = format && isRecord(value) ? { ...value, schema: format.schema } : value;
      return store.put(key, stamped, options);
    },
  };
}

/** @throws GatewayError `store.unavailable` */
function upgrade(key: string, value: JsonObject, { schema, upgrades }: RecordFormat): JsonObject {
  const written = value["schema"];
  if (written === schema) return value;
  if (typeof written !== "number" || !Number.isInteger(written) || written < 1 || written > schema) {
    const kind = key.slice(0, key.indexOf(":"));
    throw new GatewayError(
      "store.unavailable",
      `Cannot read a ${kind} record: its schema is ${JSON.stringify(written) ?? "missing"}, this program knows 1 to ${schema}`,
    );
  }
  let current = value;
  for (const step of upgrades.slice(written - 1)) current = step(current);
  return { ...current, schema };
}

/** Not a spread: the methods of a store may be on its prototype. */
function methodsOf(store: Store): Store {
  return {
    get: (key) => store.get(key),
    put: (key, value, options) => store.put(key, value, options),
    delete: (key, options) => store.delete(key, options),
    take: (key) => store.take(key),
    list: (tag) => store.list(tag),
    page: (query) => store.page(query),
    keys: (query) => store.keys(query),
    deleteByTag: (tag) => store.deleteByTag(tag),
    lease: (name, ttlMs) => store.lease(name, ttlMs),
    allot: (key, request) => store.allot(key, request),
    append: (feed, entry, expiresAt) => store.append(feed, entry, expiresAt),
    changesSince: (feed, sequence) => store.changesSince(feed, sequence),
    onAppend: (feed, listener) => store.onAppend(feed, listener),
    now: () => store.now(),
    sweep: () => store.sweep(),
    close: () => store.close(),
  };
}
