/**
 * Stored blocks: one record each, and a feed that announces changes. Administrators' commands write them, and every
 * process follows the feed (`blocks.ts`).
 *
 * Key: `block:<hash>` with the hash of the target, so that blocking it again replaces the record. Times are epoch
 * seconds.
 */
import { BLOCK_KINDS, type Block, type BlockTarget } from "../policy/blocks.ts";
import { hashSecret } from "../shared/keys.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { isRecord } from "../shared/is-record.ts";

export const BLOCK_FEED = "blocks";

/** Tag of all blocks. */
const BLOCKS_TAG = "blocks";
/** Processes check the end by their own clocks. The record only has to outlive that. */
const KEPT_PAST_END_SECONDS = 24 * 3600;
/** Feed entries expire after this: processes read all blocks at start and periodically. */
const ENTRY_SECONDS = 3600;

export interface BlockDeps {
  readonly store: Store;
  readonly clock: Clock;
}

export interface StoredBlocks {
  /** Active blocks, and those that have just expired. */
  readonly blocks: readonly Block[];
  /** Keys of records with a format that this version does not know. */
  readonly unreadable: readonly string[];
}

/** @throws GatewayError `store.unavailable` */
export async function readBlocks(store: Pick<Store, "list">): Promise<StoredBlocks> {
  const records = await store.list<Block>(BLOCKS_TAG);
  const { good = [], bad = [] } = Object.groupBy(records, ({ value }) => (isBlock(value) ? "good" : "bad"));
  return { blocks: good.map(({ value }) => value), unreadable: bad.map(({ key }) => key) };
}

function isBlock(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { kind, name, route, email, until, reason, since, by } = value;
  const isOptionalText = (text: unknown): boolean => text === undefined || typeof text === "string";
  return (
    BLOCK_KINDS.some((known) => known === kind) &&
    [name, reason, by].every((text) => typeof text === "string") &&
    [route, email].every(isOptionalText) &&
    (until === undefined || Number.isSafeInteger(until)) &&
    Number.isSafeInteger(since)
  );
}

/** @returns undefined if the block does not exist or cannot be parsed @throws GatewayError `store.unavailable` */
export async function readBlock(store: Pick<Store, "get">, id: string): Promise<Block | undefined> {
  const record = await store.get<Block>(`block:${id}`);
  return record && isBlock(record.value) ? record.value : undefined;
}

/** Stores a block; every process applies it within 2 s. @throws GatewayError `store.unavailable`: the call may be repeated */
export async function putBlock({ store, clock }: BlockDeps, block: Block): Promise<void> {
  const end = block.until === undefined ? {} : { expiresAt: block.until + KEPT_PAST_END_SECONDS };
  await store.put(keyOf(block), block, { tags: [BLOCKS_TAG], ...end });
  await tell({ store, clock });
}

/** @returns false if the target was not blocked */
export async function liftBlock({ store, clock }: BlockDeps, target: BlockTarget): Promise<boolean> {
  const existed = await store.delete(keyOf(target));
  await tell({ store, clock });
  return existed;
}

async function tell({ store, clock }: BlockDeps): Promise<void> {
  await store.append(BLOCK_FEED, "changed", epochSeconds(clock) + ENTRY_SECONDS);
}

function keyOf(target: BlockTarget): string {
  return `block:${blockId(target)}`;
}

/** Equal for equal targets. */
export function blockId({ kind, name, route }: BlockTarget): string {
  return hashSecret(JSON.stringify([kind, name, route ?? null]));
}
