/**
 * The store of one process that need not outlive it: development (`memory:`) and tests.
 *
 * A strict fake: values go through JSON, callers never share objects with the store or each other, and whatever a
 * database would refuse is refused here too (check.ts). Every answer comes on a later turn of the microtask queue.
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

/** A store in this process's memory, empty at first. */
export function createMemoryStore({ clock }: { readonly clock: Clock }): Store {
  const rows = new Map<string, RawRecord>();
  const leases = new Map<string, { holder: string; expiresAtMs: number }>();
  const counts = new Map<string, readonly CountEntry[]>();
  const feeds = new Map<string, FeedRow[]>();
  let lastSequence = 0;
  let closed = false;

  const backEnd: StoreBackEnd = {
    async get(key) {
      ready();
      return live(key);
    },

    async put(key, { text, ifVersion, expiresAt, tags }) {
      ready();
      const stored = live(key)?.version ?? 0;
      if (ifVersion !== undefined && ifVersion !== stored) return { ok: false, reason: "conflict" };
      rows.set(key, { key, text, version: stored + 1, expiresAt, tags });
      return { ok: true, version: stored + 1 };
    },

    async delete(key, ifVersion) {
      ready();
      const row = live(key);
      if (!row || (ifVersion !== undefined && ifVersion !== row.version)) return false;
      return rows.delete(key);
    },

    async take(key) {
      ready();
      const row = live(key);
      rows.delete(key);
      return row;
    },

    async list(tag) {
      ready();
      return tagged(tag);
    },

    async page(query) {
      ready();
      return pageOf(query);
    },

    async keys(query) {
      ready();
      return pageOf(query).map(({ key }) => key);
    },

    async deleteByTag(tag) {
      ready();
      const found = tagged(tag);
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
      let removed = 0;
      for (const key of rows.keys()) {
        if (!live(key) && rows.delete(key)) removed++;
      }
      for (const [name, held] of leases) {
        if (held.expiresAtMs <= clock.now() && leases.delete(name)) removed++;
      }
      for (const [key, entries] of counts) {
        if (lastSecond(entries) <= epochSeconds(clock) && counts.delete(key)) removed++;
      }
      for (const [feed, entries] of feeds) {
        const kept = entries.filter((row) => row.expiresAt > epochSeconds(clock));
        removed += entries.length - kept.length;
        feeds.set(feed, kept);
      }
      return removed;
    },

    async close() {
      closed = true;
    },
  };
  return createCheckedStore(backEnd, createFeedWatch());

  function ready(): void {
    if (closed) throw new GatewayError("store.unavailable", "Cannot use the store: it is closed");
  }

  function live(key: string): RawRecord | undefined {
    const row = rows.get(key);
    return row && (row.expiresAt === null || row.expiresAt > epochSeconds(clock)) ? row : undefined;
  }

  function pageOf({ tag, from, before, limit }: CheckedPage): readonly RawRecord[] {
    const isWithin = ({ key, tags }: RawRecord): boolean =>
      compareBytes(key, from) >= 0 && compareBytes(key, before) < 0 && (tag === undefined || tags.includes(tag));
    return [...rows.keys()]
      .flatMap((key) => live(key) ?? [])
      .filter(isWithin)
      .sort((a, b) => compareBytes(a.key, b.key))
      .slice(0, limit);
  }

  function tagged(tag: string): RawRecord[] {
    const found = [...rows.keys()].flatMap((key) => live(key) ?? []).filter((row) => row.tags.includes(tag));
    return found.sort((a, b) => compareBytes(a.key, b.key));
  }
}

/** Bytes of UTF-8, as the databases order text here; JavaScript's own order differs beyond U+FFFF. */
function compareBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
