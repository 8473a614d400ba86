/**
 * The state that all processes share: sessions, grants, clients, slices, the revocation feed, leases.
 *
 * Values are JSON. All methods are asynchronous and safe to call from several processes at the same time. A failing
 * back end throws `GatewayError("store.unavailable")`; no response is ever a guess. The owners of the records seal or
 * hash secrets before they pass them on (see SCHEMA.md).
 */
import type { Allotment, AllotmentRequest } from "./allotments.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

export interface StoredRecord<T = Json> {
  readonly key: string;
  readonly value: T;
  /** Starts at 1 and grows by one with each put. */
  readonly version: number;
  /** Epoch seconds after which the record no longer exists for readers; absent: no end. */
  readonly expiresAt?: number;
  readonly tags: readonly string[];
}

export interface PutOptions {
  /** Write only when the stored version is this one; 0 = only when no live record exists. */
  readonly ifVersion?: number;
  readonly expiresAt?: number;
  /** Replaces the record's tags. A tag is how records are listed and deleted together ("user:alice"). */
  readonly tags?: readonly string[];
}

export type PutResult =
  | { readonly ok: true; readonly version: number }
  | { readonly ok: false; readonly reason: "conflict" };

/** Selects the records of a page. */
export interface PageQuery {
  /** Prefix of their keys: "session:". */
  readonly prefix: string;
  /** Only records with this tag. */
  readonly tag?: string;
  /** Key after which the page starts, whether or not it exists; absent: from the start. */
  readonly after?: string;
  /** 1 to 1000. */
  readonly limit: number;
}

export type KeysQuery = Omit<PageQuery, "tag">;

export interface Lease {
  /** Extends the lease; false when it was lost (expired and acquired by another process). */
  renew(ttlMs: number): Promise<boolean>;
  release(): Promise<void>;
}

export interface FeedEntry {
  /** Grows, possibly with gaps; in the order of appending as seen by readers. */
  readonly sequence: number;
  readonly entry: Json;
}

export interface Store {
  get<T = Json>(key: string): Promise<StoredRecord<T> | undefined>;
  put(key: string, value: unknown, options?: PutOptions): Promise<PutResult>;
  /** @returns true when a live record was removed; with `ifVersion`, only that version */
  delete(key: string, options?: { readonly ifVersion?: number }): Promise<boolean>;
  /** Reads and deletes in one step: of several callers exactly one gets the record. For single-use codes. */
  take<T = Json>(key: string): Promise<StoredRecord<T> | undefined>;
  /** All live records with this tag, ordered by key. Use `page` for tags with many records. */
  list<T = Json>(tag: string): Promise<readonly StoredRecord<T>[]>;
  /** Live records in the byte order of their keys; the cost grows only with the page. */
  page<T = Json>(query: PageQuery): Promise<readonly StoredRecord<T>[]>;
  /** Keys of the same records, for counting them or when most are not shown. */
  keys(query: KeysQuery): Promise<readonly string[]>;
  deleteByTag(tag: string): Promise<number>;
  /** @returns undefined when another holder has it. `ttlMs` bounds how long a dead holder blocks others. */
  lease(name: string, ttlMs: number): Promise<Lease | undefined>;
  /** Counts under this key together with other processes, in one step. A crash of the database may lose counts. */
  allot(key: string, request: AllotmentRequest): Promise<Allotment>;
  /** Adds to an append-only feed; entries may be dropped after `expiresAt` (epoch seconds). */
  append(feed: string, entry: Json, expiresAt: number): Promise<number>;
  /** Entries after `sequence` (0: from the start), oldest first; at most 1000 a call. */
  changesSince(feed: string, sequence: number): Promise<readonly FeedEntry[]>;
  /** Calls back soon after another process or this one appended (a hint; may be spurious). @returns unsubscribe */
  onAppend(feed: string, listener: () => void): () => void;
  /** Epoch seconds by the clock that all users of the store share: the database server's; for SQLite the host's. */
  now(): Promise<number>;
  /** Removes expired records in small transactions. @returns how many */
  sweep(): Promise<number>;
  close(): Promise<void>;
}
