/** Format of records between back ends and the store: the value is still text. */
import type { Json, StoredRecord } from "./store.ts";

export interface RawRecord {
  readonly key: string;
  /** JSON text. */
  readonly text: string;
  readonly version: number;
  /** Epoch seconds; null: no end. */
  readonly expiresAt: number | null;
  /** Sorted. */
  readonly tags: readonly string[];
}

export interface RawFeedEntry {
  readonly sequence: number;
  /** JSON text. */
  readonly text: string;
}

/** Most entries per call of `changesSince`. */
export const FEED_PAGE = 1000;

/** Most rows removed per sweep transaction, so that writers never wait long for it. */
export const SWEEP_BATCH = 200;

/** A fresh record: callers never share objects with the store or each other. */
export function toRecord<T = Json>(raw: RawRecord): StoredRecord<T> {
  const { key, text, version, expiresAt, tags } = raw;
  return { key, value: JSON.parse(text) as T, version, tags: [...tags], ...(expiresAt === null ? {} : { expiresAt }) };
}
