/**
 * The store in one SQLite file: durable, shared by the processes of one host.
 *
 * The connection lives in a worker thread (sqlite-worker.ts), because a lock held by another process would stop the
 * event loop. Trusted input: the path, from the main configuration file. Only its owner can read the file.
 */
import { chmodSync, closeSync, openSync, statSync } from "node:fs";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { createCheckedStore, type StoreBackEnd } from "../checked-store.ts";
import { createFeedWatch } from "../feed-watch.ts";
import { gatherReads } from "../gather-reads.ts";
import { SWEEP_BATCH } from "../record.ts";
import { startSqliteThread } from "./sqlite-thread.ts";
import type { Store } from "../store.ts";

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
  const watch = createFeedWatch({ latest: (feeds) => call("latest", feeds) });
  const thread = await startSqliteThread({ path, busyTimeoutMs }, () => watch.look());
  const { call } = thread;
  const now = (): number => epochSeconds(clock);

  const backEnd: StoreBackEnd = {
    get: gatherReads((keys) => call("getAll", keys, now())),
    put: (key, put) => call("put", key, put, now()),
    delete: (key, ifVersion) => call("delete", key, ifVersion, now()),
    take: (key) => call("take", key, now()),
    list: (tag) => call("list", tag, now()),
    page: (query) => call("page", query, now()),
    keys: (query) => call("keys", query, now()),
    deleteByTag: (tag) => call("deleteByTag", tag, now()),
    lease: (name, holder, ttlMs) => call("lease", name, holder, clock.now() + ttlMs, clock.now()),
    renew: (name, holder, ttlMs) => call("renew", name, holder, clock.now() + ttlMs),
    release: (name, holder) => call("release", name, holder),
    allot: (key, request) => call("allot", key, request, clock.now()),
    append: (feed, text, expiresAt) => call("append", feed, text, expiresAt),
    changesSince: (feed, sequence) => call("changesSince", feed, sequence),
    now: async () => now(),
    async sweep() {
      let total = 0;
      for (;;) {
        // A separate request for each batch, so that other requests run in between.
        const removed = await call("sweepBatch", now());
        total += removed;
        if (removed < SWEEP_BATCH) return total;
      }
    },
    close: () => thread.close(),
  };
  return createCheckedStore(backEnd, watch);
}

/**
 * Creates the file for its owner only, before SQLite would create it with the umask's mode; its side files copy the
 * mode.
 */
function prepareFile(path: string): void {
  try {
    createPrivately(path);
    // By path, not by descriptor: closing a descriptor drops this process's locks on the file (POSIX).
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
