/**
 * So many requests at a time, counted by all processes together.
 *
 * A process holds slots under its name in the store, and renews them while it uses them: those of a process that was
 * killed end by themselves after `HELD_MS`. Promise: while the store can be reached no more than `most` requests are under
 * way, exactly; a limit of `EXACT_BELOW` or more is kept with a few slots in hand, so that most requests wait for nobody.
 */
import { hashSecret, randomSecret } from "../shared/keys.ts";
import type { Clock } from "../shared/clock.ts";
import {
  askInTurn,
  EXACT_BELOW,
  type Gate,
  GRANTED,
  MAX_KEYS,
  MAX_RETIRED,
  MAX_TENDED,
  type Taken,
  UNAVAILABLE,
} from "./gate.ts";
import type { SharedCounts } from "./shared-counts.ts";

export interface SlotGateDeps {
  readonly counts: SharedCounts;
  readonly clock: Clock;
  readonly onAlone: () => void;
}

interface SlotLimit {
  readonly id: string;
  readonly most: number;
  readonly countsAlone: boolean;
}

/** What this process has of one count. */
interface Slots {
  readonly storeKey: string;
  /** Requests under way. */
  using: number;
  /** Slots in the store, and until when they are ours if nobody renews them. */
  holding: number;
  heldUntilMs: number;
  renewAtMs: number;
  /** Until then there are none, and the store is not asked. */
  fullUntilMs: number;
  isAsking: boolean;
  /** Some are to be given back. */
  givesBack: boolean;
  readonly waiting: ((taken: Taken) => void)[];
}

/** How long the slots of a killed process are lost. */
export const HELD_MS = 30_000;
const RENEW_MS = 10_000;
/** Nobody knows when a slot becomes free; the same process lets the next one in as soon as it does. */
const FULL_MS = 100;
const AGAIN_MS = 1_000;
/** One in so many of a limit is kept in hand. */
const IN_HAND = 20;
const ALL = 1_000_000_000;
const FULL: Taken = { waitMs: AGAIN_MS };

export function createSlotGate({ counts: shared, clock, onAlone }: SlotGateDeps, limit: SlotLimit): Gate {
  const { most } = limit;
  const inHand = most < EXACT_BELOW ? 0 : Math.ceil(most / IN_HAND);
  // Another gate of this process may count the same under an older configuration.
  const holder = `${shared.holder}.${randomSecret(6)}`;
  const base = { limit: most, share: 1, keepMs: HELD_MS, slotMs: 1, holder, back: { entry: holder, count: ALL } };
  const all = new Map<string, Slots>();
  let setBacks = 0;

  return {
    take(key, nowMs) {
      const slots = find(key);
      if (slots.using < slots.holding && nowMs < slots.heldUntilMs) {
        slots.using += 1;
        return GRANTED;
      }
      if (nowMs < slots.fullUntilMs) return FULL;
      if (shared.isAway(nowMs)) return takeAlone(slots);
      return new Promise((resolve) => {
        slots.waiting.push(resolve);
        void ask(slots);
      });
    },
    refuses(key, nowMs) {
      const slots = all.get(key);
      if (!slots || nowMs >= slots.fullUntilMs || (slots.using < slots.holding && nowMs < slots.heldUntilMs)) return 0;
      return AGAIN_MS;
    },
    giveBack: release,
    release,
    tend(nowMs) {
      let left = MAX_TENDED;
      for (const [key, slots] of all) {
        if (isQuiet(slots) && nowMs >= slots.fullUntilMs) all.delete(key);
        else if (nowMs >= slots.renewAtMs && (slots.using > 0 || slots.holding > 0) && left > 0) {
          left -= 1;
          // To the end: where there are more than a tick renews, it is the others' turn.
          slots.renewAtMs = nowMs + RENEW_MS;
          all.delete(key);
          all.set(key, slots);
          void ask(slots);
        }
      }
    },
    clockSetBack() {
      setBacks += 1;
      for (const slots of all.values()) {
        slots.heldUntilMs = 0;
        slots.renewAtMs = 0;
        slots.fullUntilMs = 0;
      }
    },
    retire() {
      let left = MAX_RETIRED;
      for (const slots of all.values()) {
        if (slots.holding === slots.using) continue;
        void ask(slots);
        if (--left === 0) return;
      }
    },
    isIdle: () => all.size === 0,
  };

  function release(key: string): void {
    const slots = all.get(key);
    if (!slots || slots.using === 0) return;
    slots.using -= 1;
    slots.fullUntilMs = 0;
    // A few stay in hand until they are renewed, for who comes next.
    if (slots.holding - slots.using <= 2 * inHand) return;
    slots.givesBack = true;
    void ask(slots);
  }

  function find(key: string): Slots {
    let slots = all.get(key);
    if (slots) return slots;
    if (all.size >= MAX_KEYS) forgetOne();
    slots = {
      storeKey: hashSecret(`${limit.id}\n${key}`),
      using: 0,
      holding: 0,
      heldUntilMs: 0,
      renewAtMs: 0,
      fullUntilMs: 0,
      isAsking: false,
      givesBack: false,
      waiting: [],
    };
    all.set(key, slots);
    return slots;
  }

  /** Of those that hold nothing: the others are as many as there are requests under way. */
  function forgetOne(): void {
    const [oldest] = all;
    if (oldest && isQuiet(oldest[1])) all.delete(oldest[0]);
  }

  function ask(slots: Slots): Promise<void> {
    return askInTurn(slots, askOnce);
  }

  /** @returns whether there is more to ask */
  async function askOnce(slots: Slots): Promise<boolean> {
    const askedAtMs = clock.now();
    const setBacksBefore = setBacks;
    slots.givesBack = false;
    const spent = slots.using;
    const needed = spent + slots.waiting.length;
    const wanted = needed === 0 ? 0 : needed + inHand;
    // Nobody may begin to use meanwhile what is being given back.
    slots.holding = Math.min(slots.holding, wanted);
    const allotment = await shared.allot(slots.storeKey, { ...base, wanted, spent });
    if (allotment === undefined) {
      slots.renewAtMs = askedAtMs + RENEW_MS;
      for (const resolve of slots.waiting.splice(0)) resolve(takeAlone(slots));
      return false;
    }
    slots.holding = allotment.granted;
    slots.heldUntilMs = setBacks === setBacksBefore ? askedAtMs + HELD_MS : 0;
    slots.renewAtMs = setBacks === setBacksBefore ? askedAtMs + RENEW_MS : 0;
    while (slots.using < slots.holding && slots.waiting.length > 0) {
      slots.using += 1;
      slots.waiting.shift()?.(GRANTED);
    }
    if (allotment.used >= most) {
      slots.fullUntilMs = clock.now() + FULL_MS;
      for (const resolve of slots.waiting.splice(0)) resolve(FULL);
    }
    return slots.waiting.length > 0 || slots.givesBack;
  }

  function takeAlone(slots: Slots): Taken {
    const share = limit.countsAlone ? shared.shareOf(most) : 0;
    if (share === 0) return UNAVAILABLE;
    if (slots.using >= share) return FULL;
    slots.using += 1;
    onAlone();
    return GRANTED;
  }

  function isQuiet({ using, holding, isAsking, waiting }: Slots): boolean {
    return using === 0 && holding === 0 && !isAsking && waiting.length === 0;
  }
}
