/**
 * The in-memory store of one process: development (`memory:`) and tests.
 *
 * A strict fake: values go through JSON, callers never share objects with the store or each other, and input that a
 * database would reject is also rejected here (check.ts). Every response arrives on a later turn of the microtask
 * queue.
 */
import { GatewayError } from "../shared/errors.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import { allot, lastSecond, type CountEntry } from "./allotments.ts";
import type { CheckedPage } from "./check.ts";
import { createCheckedStore, type StoreBackEnd } from "./checked-store.ts";
import { createFeedWatch } from "./feed-watch.ts";
import { FEED_PAGE, type RawFeedEntry, type RawRecord } from "./record.ts";
import type { Store } from "./store.ts";

interface FeedRow extends RawFeedEntry {
  readonly expiresAt: number;
}

interface Tables {
  readonly rows: Map<string, RawRecord>;
  readonly leases: Map<string, { readonly holder: string; readonly expiresAtMs: number }>;
  readonly counts: Map<string, readonly CountEntry[]>;
  readonly feeds: Map<string, FeedRow[]>;
}

/** A store in this process's memory, empty at first. */
export function createMemoryStore({ clock }: { readonly clock: Clock }): Store {
  const rows: Tables["rows"] = new Map();
  const leases: Tables["leases"] = new Map();
  const counts: Tables["counts"] = new Map();
  const feeds: Tables["feeds"] = new Map();
  let lastSequence = 0;
  let closed = false;

  const backEnd: StoreBackEnd = {
    async get(key) {
      ready();
      return live(rows, key, clock);
    },

    async put(key, { text, ifVersion, expiresAt, tags }) {
      ready();
      const stored = live(rows, key, clock)?.version ?? 0;
      if (ifVersion !== undefined && ifVersion !== stored) return { ok: false, reason: "conflict" };
      rows.set(key, { key, text, version: stored + 1, expiresAt, tags });
      return { ok: true, version: stored + 1 };
    },

    async delete(key, ifVersion) {
      ready();
      const row = live(rows, key, clock);
      if (!row || (ifVersion !== undefined && ifVersion !== row.version)) return false;
      return rows.delete(key);
    },

    async take(key) {
      ready();
      const row = live(rows, key, clock);
      rows.delete(key);
      return row;
    },

    async list(tag) {
      ready();
      return tagged(rows, tag, clock);
    },

    async page(query) {
      ready();
      return pageOf(rows, query, clock);
    },

    async keys(query) {
      ready();
      return pageOf(rows, query, clock).map(({ key }) => key);
    },

    async deleteByTag(tag) {
      ready();
      const found = tagged(rows, tag, clock);
      for (const { key } of found) rows.delete(key);
      return found.length;
    },

    async lease(name, holder, ttlMs) {
      ready();
      const held = leases.get(name);
      if (held && held.expiresAtMs > clock.now()) return false;
      leases.set(name, { holder, expiresAtMs: clock.now() + ttlMs });
      return true;
    },

    async renew(name, holder, ttlMs) {
      ready();
      if (leases.get(name)?.holder !== holder) return false;
      leases.set(name, { holder, expiresAtMs: clock.now() + ttlMs });
      return true;
    },

    async release(name, holder) {
      ready();
      if (leases.get(name)?.holder === holder) leases.delete(name);
    },

    async allot(key, request) {
      ready();
      const allotted = allot(counts.get(key) ?? [], clock.now(), request);
      counts.set(key, allotted.entries);
      return allotted;
    },

    async append(feed, text, expiresAt) {
      ready();
      const row = { sequence: ++lastSequence, text, expiresAt };
      const entries = feeds.get(feed);
      if (entries) entries.push(row);
      else feeds.set(feed, [row]);
      return row.sequence;
    },

    async now() {
      ready();
      return epochSeconds(clock);
    },

    async changesSince(feed, sequence) {
      ready();
      return (feeds.get(feed) ?? []).filter((row) => row.sequence > sequence).slice(0, FEED_PAGE);
    },

    async sweep() {
      ready();
      return sweep({ rows, leases, counts, feeds }, clock);
    },

    async close() {
      closed = true;
    },
  };
  return createCheckedStore(backEnd, createFeedWatch());

  function ready(): void {
    if (closed) throw new GatewayError("store.unavailable", "Cannot use the store: it is closed");
  }
}

/** @returns how many rows were removed */
function sweep({ rows, leases, counts, feeds }: Tables, clock: Clock): number {
  let removed = 0;
  for (const [key, row] of rows) {
    if (!isLive(row, clock) && rows.delete(key)) removed++;
  }
  for (const [name, held] of leases) {
    if (held.expiresAtMs <= clock.now() && leases.delete(name)) removed++;
  }
  for (const [key, entries] of counts) {
    if (lastSecond(entries) <= epochSeconds(clock) && counts.delete(key)) removed++;
  }
  for (const [feed, entries] of feeds) {
    const live = entries.filter((row) => row.expiresAt > epochSeconds(clock));
    removed += entries.length - live.length;
    feeds.set(feed, live);
  }
  return removed;
}

type Rows = ReadonlyMap<string, RawRecord>;

function isLive({ expiresAt }: RawRecord, clock: Clock): boolean {
  return expiresAt === null || expiresAt > epochSeconds(clock);
}

function live(rows: Rows, key: string, clock: Clock): RawRecord | undefined {
  const row = rows.get(key);
  return row && isLive(row, clock) ? row : undefined;
}

function pageOf(rows: Rows, { tag, from, before, limit }: CheckedPage, clock: Clock): readonly RawRecord[] {
  const isWithin = ({ key, tags }: RawRecord): boolean =>
    compareBytes(key, from) >= 0 && compareBytes(key, before) < 0 && (tag === undefined || tags.includes(tag));
  const found = [...rows.values()].filter((row) => isLive(row, clock) && isWithin(row));
  return found.sort((a, b) => compareBytes(a.key, b.key)).slice(0, limit);
}

function tagged(rows: Rows, tag: string, clock: Clock): RawRecord[] {
  const found = [...rows.values()].filter((row) => isLive(row, clock) && row.tags.includes(tag));
  return found.sort((a, b) => compareBytes(a.key, b.key));
}

/** Bytes of UTF-8, as the databases order text here; JavaScript's own order differs beyond U+FFFF. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
