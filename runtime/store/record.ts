/** The form in which a back end hands a record over: the value still text. */
import type { Json, StoredRecord } from "./store.ts";

export interface RawRecord {
  readonly key: string;
  /** JSON text. */
  readonly text: string;
  readonly version: number;
  /** Epoch seconds; null = no end. */
  readonly expiresAt: number | null;
  /** Sorted. */
  readonly tags: readonly string[];
}

export interface RawFeedEntry {
  readonly sequence: number;
  /** JSON text. */
  readonly text: string;
}

/** Entries that one call of `changesSince` answers at most. */
export const FEED_PAGE = 1000;

/** Rows that one sweep transaction removes at most, so that writers never wait long behind it. */
export const SWEEP_BATCH = 200;

/** A fresh record: callers never share objects with the store or each other. */
export function toRecord<T = Json>(raw: RawRecord): StoredRecord<T> {
  const { key, text, version, expiresAt, tags } = raw;
  return { key, value: JSON.parse(text) as T, version, tags: [...tags], ...(expiresAt === null ? {} : { expiresAt }) };
}
