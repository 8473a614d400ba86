/**
 * The store in one SQLite file: durable, shared by the processes of one machine.
 *
 * The connection lives in a worker thread (sqlite-worker.ts), because a lock held by another process would stop the
 * event loop. Trusted input: the path, from the boot file. The file is readable by its owner only.
 */
import { chmodSync, closeSync, openSync, statSync } from "node:fs";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { randomSecret } from "../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { checkExpiry, checkName, checkPut, checkTtl, checkVersion, encodeValue } from "../check.ts";
import { createFeedWatch } from "../feed-watch.ts";
import { SWEEP_BATCH, toRecord } from "../record.ts";
import { startSqliteThread } from "./sqlite-thread.ts";
import type { FeedEntry, Json, Lease, PutOptions, Store } from "../store.ts";

/** Other processes' appends are seen within this time: well inside the 2 s promised for revocations. */
const POLL_EVERY_MS = 500;

export interface SqliteDeps {
  /** File path; its directory must exist. */
  readonly path: string;
  readonly clock: Clock;
  /** How long a write waits while other processes write. */
  readonly busyTimeoutMs?: number;
}

/** @throws GatewayError `store.open` when the file cannot be used, `store.too-new` */
export async function openSqliteStore({ path, clock, busyTimeoutMs = 5000 }: SqliteDeps): Promise<Store> {
  prepareFile(path);
  const thread = await startSqliteThread({ path, busyTimeoutMs });
  const { call } = thread;
  const watch = createFeedWatch({ latest: (feeds) => call("latest", feeds), everyMs: POLL_EVERY_MS });
  const now = (): number => epochSeconds(clock);

  return {
    async get<T>(key: string) {
      checkName("key", key);
      const raw = await call("get", key, now());
      return raw && toRecord<T>(raw);
    },
    async put(key: string, value: unknown, options: PutOptions = {}) {
      return call("put", key, checkPut(key, value, options), now());
    },
    async delete(key, { ifVersion } = {}) {
      checkName("key", key);
      if (ifVersion !== undefined) checkVersion(ifVersion);
      return call("delete", key, ifVersion, now());
    },
    async take<T>(key: string) {
      checkName("key", key);
      const raw = await call("take", key, now());
      return raw && toRecord<T>(raw);
    },
    async list<T>(tag: string) {
      checkName("tag", tag);
      const found = await call("list", tag, now());
      return found.map((raw) => toRecord<T>(raw));
    },
    async deleteByTag(tag) {
      checkName("tag", tag);
      return call("deleteByTag", tag, now());
    },
    async lease(name, ttlMs): Promise<Lease | undefined> {
      checkName("lease", name);
      checkTtl(ttlMs);
      const holder = randomSecret(16);
      const taken = await call("lease", name, holder, clock.now() + ttlMs, clock.now());
      if (!taken) return undefined;
      return {
        async renew(nextTtlMs) {
          checkTtl(nextTtlMs);
          return call("renew", name, holder, clock.now() + nextTtlMs);
        },
        release: () => call("release", name, holder),
      };
    },
    async append(feed, entry, expiresAt) {
      checkName("feed", feed);
      checkExpiry(expiresAt);
      const sequence = await call("append", feed, encodeValue(entry), expiresAt);
      watch.hint(feed);
      return sequence;
    },
    async changesSince(feed, sequence): Promise<readonly FeedEntry[]> {
      checkName("feed", feed);
      const rows = await call("changesSince", feed, sequence);
      return rows.map((row) => ({ sequence: row.sequence, entry: JSON.parse(row.text) as Json }));
    },
    onAppend(feed, listener) {
      checkName("feed", feed);
      return watch.onAppend(feed, listener);
    },
    async sweep() {
      let total = 0;
      for (;;) {
        // A request of its own for each batch: others' requests come in between.
        const removed = await call("sweepBatch", now());
        total += removed;
        if (removed < SWEEP_BATCH) return total;
      }
    },
    async close() {
      watch.close();
      await thread.close();
    },
  };
}

/** Creates the file for its owner only, before SQLite would create it as the umask says; its side files copy the mode. */
function prepareFile(path: string): void {
  try {
    createPrivately(path);
    // By path, not by descriptor: closing a descriptor drops the locks this process has on the file (POSIX).
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  } catch (error) {
    throw new GatewayError("store.open", `Cannot open store "${path}": ${errorText(error)}`, { cause: error });
  }
}

function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}
