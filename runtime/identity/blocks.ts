/**
 * Active blocks in this process: read at start, updated from a feed, and read again periodically.
 *
 * Promises: a block takes effect within 2 s of being stored. No process serves before it has read the blocks. While the
 * store is unavailable, known blocks stay active. Expiry is checked by this process's clock.
 */
import { errorText, GatewayError } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { blocksTools, findBlock, indexBlocks, type Block, type BlockSubject } from "../policy/blocks.ts";
import { epochSeconds, type Closable, type Clock } from "../shared/clock.ts";
import { followFeed } from "../store/follow-feed.ts";
import type { Store } from "../store/store.ts";
import { BLOCK_FEED, readBlocks } from "./block-records.ts";

export interface Blocks {
  /** 0: nothing is blocked. The hot path checks only this. */
  readonly size: number;
  /** Active blocks. */
  list(): readonly Block[];
  /** Synchronous, without the store. */
  find(subject: BlockSubject): Block | undefined;
  /** Returns true if a tool is blocked on this route. */
  hasTools(routeKey: string): boolean;
  /** Names of the tools blocked on this route. */
  blockedTools(routeKey: string): readonly string[];
  /** Called when a block is added. @returns unsubscribe */
  subscribe(listener: () => void): () => void;
}

/** For callers without blocks. */
export const NO_BLOCKS: Blocks = {
  size: 0,
  list: () => [],
  find: () => undefined,
  hasTools: () => false,
  blockedTools: () => [],
  subscribe: () => () => {},
};

export interface BlocksDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

/** Maximum age of the blocks without a change in the feed: an entry may be lost if the store fails between two writes. */
const READ_AGAIN_MS = 10_000;

/** @throws GatewayError `store.unavailable` or `blocks.unreadable`: a process that cannot read the blocks must not serve */
export async function openBlocks({ store, clock, log }: BlocksDeps): Promise<Blocks & Closable> {
  const listeners = new Set<() => void>();
  let index = indexBlocks([]);
  /** Keys of records. */
  let unreadable: ReadonlySet<string> = new Set();
  let serves = false;
  let isStale = false;
  let readAtMs = performance.now();
  let reading: Promise<void> | undefined;

  const isOver = ({ until }: Block): boolean => until !== undefined && until <= epochSeconds(clock);

  const apply = (read: readonly Block[]): void => {
    const next = indexBlocks(read.filter((block) => !isOver(block)));
    const before = new Set(index.all.map(textOf));
    const after = new Set(next.all.map(textOf));
    const added = next.all.filter((block) => !before.has(textOf(block)));
    const gone = index.all.filter((block) => !after.has(textOf(block)));
    if (added.length === 0 && gone.length === 0) return;
    index = next;
    blocks.size = next.size;
    for (const block of gone) log.warn(logged(block), isOver(block) ? "block expired" : "block removed or replaced");
    for (const block of added) log.warn(logged(block), "blocked by an administrator");
    if (added.length === 0) return;
    for (const listener of listeners) {
      try {
        listener();
      } catch (error) {
        log.error({ err: error }, "block listener failed");
      }
    }
  };

  /**
   * An unreadable record must not disable the others. At start it stops the process, since an administrator is present
   * then.
   */
  const noteUnreadable = (keys: readonly string[]): void => {
    if (keys.length > 0 && !serves)
      throw new GatewayError("blocks.unreadable", `Cannot read what is blocked: not understood: ${keys.join(", ")}`);
    const added = keys.filter((key) => !unreadable.has(key));
    if (added.length > 0) log.error({ keys: added }, "cannot parse blocks, they are not active");
    unreadable = new Set(keys);
  };

  const readAll = async (): Promise<void> => {
    do {
      // Set before reading: a change during the reading causes another one.
      isStale = false;
      try {
        const { blocks, unreadable } = await readBlocks(store);
        apply(blocks);
        noteUnreadable(unreadable);
      } catch (error) {
        isStale = true;
        throw error;
      }
    } while (isStale);
    readAtMs = performance.now();
  };

  /** One at a time, so that no older result replaces a newer one. */
  const readOnce = (): Promise<void> => (reading ??= readAll().finally(() => (reading = undefined)));

  // Follow the feed first, to notice changes during the first reading.
  const follower = followFeed({
    store,
    log,
    feed: BLOCK_FEED,
    onEntry: () => (isStale = true),
    onRead() {
      if (index.all.some(isOver)) apply(index.all);
      if (!isStale && performance.now() - readAtMs < READ_AGAIN_MS) return;
      // Retried at the next reading of the feed.
      readOnce().catch((error: unknown) => log.warn({ reason: errorText(error) }, "cannot read blocks"));
    },
    // As for revocations.
    wantsRead: () => true,
  });
  const blocks: Blocks & Closable & { size: number } = {
    size: 0,
    list: () => index.all.filter((block) => !isOver(block)),
    find: (subject) => (index.size === 0 ? undefined : findBlock(index, subject, epochSeconds(clock))),
    blockedTools: (routeKey) =>
      index.all.flatMap(({ kind, name, route }) =>
        kind === "tool" && (route === undefined || route === routeKey) ? [name] : [],
      ),
    hasTools: (routeKey) => index.size > 0 && blocksTools(index, routeKey),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async close() {
      await follower.close();
      await reading?.catch(() => {});
    },
  };
  try {
    await readOnce();
  } catch (error) {
    await follower.close();
    throw error;
  }
  serves = true;
  return blocks;
}

function textOf(block: Block): string {
  return JSON.stringify([block.kind, block.name, block.route, block.until, block.reason, block.since, block.by]);
}

function logged({ kind, name, route, until, reason, by }: Block): object {
  return { kind, name, route, until, reason, by };
}
