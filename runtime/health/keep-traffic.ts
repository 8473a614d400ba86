/**
 * Stores the counts of this process once a minute and soon after its start, in this process and in the shared store.
 *
 * While the store is unavailable, pending counts wait for as long as they would be shown.
 */
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { type Closable, type Clock, epochSeconds } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import { addRollups, type Rollup } from "./rollup.ts";
import { recordOf, stepOf, type Tier, TIERS, type TrafficRecord } from "./tiers.ts";
import type { Traffic } from "./traffic.ts";

export interface KeepTrafficDeps {
  readonly traffic: Traffic;
  /** ID of this process; unique among all that share the store. */
  readonly id: string;
  readonly store: Pick<Store, "put">;
  /** The delay of the event loop since the last call. */
  readonly takeLoopMs: () => number;
  readonly clock: Clock;
  readonly log: Log;
}

export interface KeptTraffic extends Closable {
  /** Counts of this process, oldest first; the current step up to its last whole minute. */
  own(tier: Tier): readonly Rollup[];
  /** The delay of the event loop in the last whole minute. */
  readonly loopMs: number | undefined;
  /** Takes the counts of a finished minute; called at the end of each. */
  tick(): Promise<void>;
}

const MINUTE = 60;
/** The first write comes early, so that plots appear within the first minute after a start. */
const FIRST_PART_MS = 10_000;
/** Limit for counts that are not stored yet: the steps of all ranges. */
const MAX_WAITING = TIERS.reduce((sum, { steps }) => sum + steps, 0);

export function keepTraffic({ traffic, id, store, takeLoopMs, clock, log }: KeepTrafficDeps): KeptTraffic {
  const own = new Map<Tier, Rollup[]>(TIERS.map((tier) => [tier, []]));
  const waiting = new Map<string, { readonly record: TrafficRecord; readonly value: Rollup }>();
  let minute = currentMinute();
  let loopMs: number | undefined;
  let isUnavailable = false;
  let writing = Promise.resolve();
  let timer = schedule(FIRST_PART_MS);

  const kept: KeptTraffic = {
    own: (tier) => own.get(tier) ?? [],
    get loopMs() {
      return loopMs;
    },
    tick() {
      return currentMinute() > minute ? takePart() : writing;
    },
    async close() {
      clearTimeout(timer);
      // The rest of the minute, so that a restart leaves no gap.
      takeMinute();
      await flush();
    },
  };
  return kept;

  function schedule(atMostMs = Number.POSITIVE_INFINITY): NodeJS.Timeout {
    // After the end of the minute, or the clock might still be before it.
    const untilNextMs = MINUTE * 1000 - (clock.now() % (MINUTE * 1000)) + 50;
    const next = setTimeout(
      () => {
        void takePart();
        timer = schedule();
      },
      Math.min(untilNextMs, atMostMs),
    );
    next.unref();
    return next;
  }

  function takePart(): Promise<void> {
    takeMinute();
    minute = currentMinute();
    return flush();
  }

  function currentMinute(): number {
    return Math.floor(epochSeconds(clock) / MINUTE) * MINUTE;
  }

  function takeMinute(): void {
    loopMs = takeLoopMs();
    const until = Math.min(epochSeconds(clock), minute + MINUTE);
    const taken: Rollup = { start: minute, until, ...traffic.take(), loopMs: { [id]: loopMs } };
    for (const tier of TIERS) {
      const start = stepOf(tier, minute);
      const steps = own.get(tier) as Rollup[];
      const earlier = steps.at(-1)?.start === start ? steps.pop() : undefined;
      const value = addRollups(start, earlier ? [earlier, taken] : [taken]);
      steps.push(value);
      if (steps.length > tier.steps) steps.shift();
      const record = recordOf(tier, start, id);
      // Added again at the end, so that the longest waiting entry comes first.
      waiting.delete(record.key);
      waiting.set(record.key, { record, value });
    }
    while (waiting.size > MAX_WAITING) waiting.delete(waiting.keys().next().value as string);
  }

  function flush(): Promise<void> {
    return (writing = writing.then(writeAll));
  }

  async function writeAll(): Promise<void> {
    try {
      for (const [key, { record, value }] of waiting) {
        const { tag, expiresAt } = record;
        if (expiresAt > epochSeconds(clock)) await store.put(key, value, { tags: [tag], expiresAt });
        if (waiting.get(key)?.value === value) waiting.delete(key);
      }
      isUnavailable = false;
    } catch (error) {
      if (!isUnavailable) log.warn({ reason: errorText(error) }, "cannot write traffic counts");
      isUnavailable = true;
    }
  }
}
