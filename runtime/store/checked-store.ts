/**
 * The store over any back end: rejects invalid input (check.ts) before the back end sees it, and returns fresh objects.
 */
import { randomSecret } from "../shared/keys.ts";
import { toAllotment, type AllotmentRequest, type RawAllotment } from "./allotments.ts";
import {
  checkAllotment,
  checkExpiry,
  checkName,
  checkPage,
  checkPut,
  checkTtl,
  checkVersion,
  encodeValue,
  type CheckedPage,
  type CheckedPut,
} from "./check.ts";
import type { FeedWatch } from "./feed-watch.ts";
import { toRecord, type RawFeedEntry, type RawRecord } from "./record.ts";
import type { Json, Lease, PageQuery, PutResult, Store } from "./store.ts";

/** The operations of `Store` on checked input; values are still text. */
export interface StoreBackEnd {
  get(key: string): Promise<RawRecord | undefined>;
  put(key: string, put: CheckedPut): Promise<PutResult>;
  delete(key: string, ifVersion: number | undefined): Promise<boolean>;
  take(key: string): Promise<RawRecord | undefined>;
  /** Ordered by key. */
  list(tag: string): Promise<readonly RawRecord[]>;
  page(query: CheckedPage): Promise<readonly RawRecord[]>;
  keys(query: CheckedPage): Promise<readonly string[]>;
  deleteByTag(tag: string): Promise<number>;
  /** @returns false when another holder has it */
  lease(name: string, holder: string, ttlMs: number): Promise<boolean>;
  /** @returns false when the holder has lost it */
  renew(name: string, holder: string, ttlMs: number): Promise<boolean>;
  release(name: string, holder: string): Promise<void>;
  allot(key: string, request: AllotmentRequest): Promise<RawAllotment>;
  append(feed: string, text: string, expiresAt: number): Promise<number>;
  changesSince(feed: string, sequence: number): Promise<readonly RawFeedEntry[]>;
  now(): Promise<number>;
  sweep(): Promise<number>;
  close(): Promise<void>;
}

/** @param watch closed before the back end */
export function createCheckedStore(backEnd: StoreBackEnd, watch: FeedWatch): Store {
  return {
    async get<T>(key: string) {
      checkName("key", key);
      const raw = await backEnd.get(key);
      return raw && toRecord<T>(raw);
    },
    async put(key, value, options = {}) {
      return backEnd.put(key, checkPut(key, value, options));
    },
    async delete(key, { ifVersion } = {}) {
      checkName("key", key);
      if (ifVersion !== undefined) checkVersion(ifVersion);
      return backEnd.delete(key, ifVersion);
    },
    async take<T>(key: string) {
      checkName("key", key);
      const raw = await backEnd.take(key);
      return raw && toRecord<T>(raw);
    },
    async list<T>(tag: string) {
      checkName("tag", tag);
      const found = await backEnd.list(tag);
      return found.map((raw) => toRecord<T>(raw));
    },
    async page<T>(query: PageQuery) {
      const found = await backEnd.page(checkPage(query));
      return found.map((raw) => toRecord<T>(raw));
    },
    async keys(query) {
      return backEnd.keys(checkPage(query));
    },
    async deleteByTag(tag) {
      checkName("tag", tag);
      return backEnd.deleteByTag(tag);
    },
    async lease(name, ttlMs): Promise<Lease | undefined> {
      checkName("lease", name);
      checkTtl(ttlMs);
      const holder = randomSecret(16);
      if (!(await backEnd.lease(name, holder, ttlMs))) return undefined;
      return {
        async renew(nextTtlMs) {
          checkTtl(nextTtlMs);
          return backEnd.renew(name, holder, nextTtlMs);
        },
        release: () => backEnd.release(name, holder),
      };
    },
    async allot(key, request) {
      checkName("count", key);
      checkAllotment(request);
      return toAllotment(await backEnd.allot(key, request), request);
    },
    async append(feed, entry, expiresAt) {
      checkName("feed", feed);
      checkExpiry(expiresAt);
      const sequence = await backEnd.append(feed, encodeValue(entry), expiresAt);
      watch.hint(feed);
      return sequence;
    },
    async changesSince(feed, sequence) {
      checkName("feed", feed);
      const rows = await backEnd.changesSince(feed, sequence);
      return rows.map((row) => ({ sequence: row.sequence, entry: JSON.parse(row.text) as Json }));
    },
    onAppend(feed, listener) {
      checkName("feed", feed);
      return watch.onAppend(feed, listener);
    },
    now: () => backEnd.now(),
    sweep: () => backEnd.sweep(),
    async close() {
      watch.close();
      await backEnd.close();
    },
  };
}
