/**
 * Traffic of all processes over a range of time, from the store.
 *
 * Counts that are final are read once and cached as sums; the rest is read again after some seconds, however many users
 * view it.
 */
import { type Clock, epochSeconds } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { addRollups, type Rollup } from "./rollup.ts";
import { type TierBlock, blocksOf, stepOf, type Tier } from "./tiers.ts";

export interface TrafficReader {
  /**
   * @returns each step of the range, the oldest first; undefined where no process counted.
   * @throws GatewayError `store.unavailable`
   */
  read(tier: Tier): Promise<readonly TrafficStep[]>;
}

export interface TrafficStep {
  /** Epoch seconds. */
  readonly start: number;
  readonly rollup: Rollup | undefined;
}

/** A process that hangs, or waits for the store, may still write until then. */
const SETTLED_AFTER_SECONDS = 300;
const FRESH_SECONDS = 5;

interface Known {
  readonly rollups: Promise<ReadonlyMap<number, Rollup>>;
  readonly readAt: number;
}

export function readTraffic({
  store,
  clock,
}: {
  readonly store: Pick<Store, "list">;
  readonly clock: Clock;
}): TrafficReader {
  const known = new Map<string, Known>();

  return {
    async read(tier) {
      const now = epochSeconds(clock);
      const until = stepOf(tier, now) + tier.stepSeconds;
      const from = until - tier.steps * tier.stepSeconds;
      const blocks = blocksOf(tier, from, until);
      const tags = new Set(blocks.map(({ tag }) => tag));
      const ofTier = `traffic:${tier.name}:`;
      for (const tag of known.keys()) if (tag.startsWith(ofTier) && !tags.has(tag)) known.delete(tag);
      const rollups = await Promise.all(blocks.map((block) => readBlock(block, now)));
      return stepsOf(tier, from, rollups);
    },
  };

  function readBlock({ tag, end }: TierBlock, now: number): Promise<ReadonlyMap<number, Rollup>> {
    const last = known.get(tag);
    const isSettled = last !== undefined && last.readAt > end + SETTLED_AFTER_SECONDS;
    if (last && (isSettled || now - last.readAt < FRESH_SECONDS)) return last.rollups;
    const rollups = store.list<Rollup>(tag).then((rows) => addUp(rows.map(({ value }) => value)));
    const entry = { rollups, readAt: now };
    known.set(tag, entry);
    rollups.catch(() => {
      if (known.get(tag) === entry) known.delete(tag);
    });
    return rollups;
  }
}

function addUp(rollups: readonly Rollup[]): ReadonlyMap<number, Rollup> {
  return new Map(
    [...Map.groupBy(rollups, ({ start }) => start)].map(([start, all]) => [start, addRollups(start, all)]),
  );
}

/** @param found rollups by their starts */
export function stepsOf(
  tier: Tier,
  from: number,
  found: readonly ReadonlyMap<number, Rollup>[],
): readonly TrafficStep[] {
  return Array.from({ length: tier.steps }, (_, index) => {
    const start = from + index * tier.stepSeconds;
    return { start, rollup: found.find((each) => each.has(start))?.get(start) };
  });
}

/** The same range, from this process's own counts. */
export function ownSteps(tier: Tier, rollups: readonly Rollup[], now: number): readonly TrafficStep[] {
  const from = stepOf(tier, now) + tier.stepSeconds - tier.steps * tier.stepSeconds;
  return stepsOf(tier, from, [addUp(rollups)]);
}
