/**
 * A limit on concurrent requests, counted across all processes.
 *
 * A process holds slots under its name in the store, and renews them while it uses them: those of a killed process
 * expire after `HELD_MS`. Promise: while the store is available, never more than `most` requests are in flight. For a
 * limit of `EXACT_BELOW` or more, each process holds a few spare slots, so that most requests need not wait.
 */
import { hashSecret, randomSecret } from "../shared/keys.ts";
import type { Clock } from "../shared/clock.ts";
import type { AllotmentRequest } from "../store/allotments.ts";
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

/** State of one count in this process. */
interface Slots {
  readonly storeKey: string;
  /** Requests in flight. */
  using: number;
  /** Slots in the store, and when they expire unless renewed. */
  holding: number;
  heldUntilMs: number;
  renewAtMs: number;
  /** Until then there are none, and the store is not queried. */
  fullUntilMs: number;
  isAsking: boolean;
  /** Some slots must be returned. */
  givesBack: boolean;
  readonly waiting: ((taken: Taken) => void)[];
}

/** How long the slots of a killed process are unavailable. */
export const HELD_MS = 30_000;
const RENEW_MS = 10_000;
/** When a slot becomes free is unknown; the same process admits the next request immediately. */
const FULL_MS = 100;
const AGAIN_MS = 1_000;
/** One in this number of a limit's slots is held as a spare. */
const IN_HAND = 20;
const ALL = 1_000_000_000;
const FULL: Taken = { waitMs: AGAIN_MS };

export class SlotGate implements Gate {
  readonly #shared: SharedCounts;
  readonly #clock: Clock;
  readonly #onAlone: () => void;
  readonly #limit: SlotLimit;
  readonly #inHand: number;
  readonly #base: Omit<AllotmentRequest, "wanted" | "spent">;
  readonly #all = new Map<string, Slots>();
  #setBacks = 0;

  constructor({ counts, clock, onAlone }: SlotGateDeps, limit: SlotLimit) {
    const { most } = limit;
    // Another gate of this process may use the same count under an older configuration.
    const holder = `${counts.holder}.${randomSecret(6)}`;
    this.#shared = counts;
    this.#clock = clock;
    this.#onAlone = onAlone;
    this.#limit = limit;
    this.#inHand = most < EXACT_BELOW ? 0 : Math.ceil(most / IN_HAND);
    this.#base = { limit: most, share: 1, keepMs: HELD_MS, slotMs: 1, holder, back: { entry: holder, count: ALL } };
  }

  take(key: string, nowMs: number): Taken | Promise<Taken> {
    const slots = this.#find(key);
    if (slots.using < slots.holding && nowMs < slots.heldUntilMs) {
      slots.using += 1;
      return GRANTED;
    }
    if (nowMs < slots.fullUntilMs) return FULL;
    if (this.#shared.isUnavailable(nowMs)) return this.#takeAlone(slots);
    return new Promise((resolve) => {
      slots.waiting.push(resolve);
      void this.#ask(slots);
    });
  }

  refuses(key: string, nowMs: number): number {
    const slots = this.#all.get(key);
    if (!slots || nowMs >= slots.fullUntilMs || (slots.using < slots.holding && nowMs < slots.heldUntilMs)) return 0;
    return AGAIN_MS;
  }

  giveBack(key: string): void {
    this.release(key);
  }

  release(key: string): void {
    const slots = this.#all.get(key);
    if (!slots || slots.using === 0) return;
    slots.using -= 1;
    slots.fullUntilMs = 0;
    // A few spare slots are held until their renewal, for later requests.
    if (slots.holding - slots.using <= 2 * this.#inHand) return;
    slots.givesBack = true;
    void this.#ask(slots);
  }

  tend(nowMs: number): void {
    let left = MAX_TENDED;
    for (const [key, slots] of this.#all) {
      if (isQuiet(slots) && nowMs >= slots.fullUntilMs) this.#all.delete(key);
      else if (nowMs >= slots.renewAtMs && (slots.using > 0 || slots.holding > 0) && left > 0) {
        left -= 1;
        // Moved to the end: if there are more than a tick renews, the others come first.
        slots.renewAtMs = nowMs + RENEW_MS;
        this.#all.delete(key);
        this.#all.set(key, slots);
        void this.#ask(slots);
      }
    }
  }

  clockSetBack(): void {
    this.#setBacks += 1;
    for (const slots of this.#all.values()) {
      slots.heldUntilMs = 0;
      slots.renewAtMs = 0;
      slots.fullUntilMs = 0;
    }
  }

  retire(): void {
    let left = MAX_RETIRED;
    for (const slots of this.#all.values()) {
      if (slots.holding === slots.using) continue;
      void this.#ask(slots);
      if (--left === 0) return;
    }
  }

  isIdle(): boolean {
    return this.#all.size === 0;
  }

  #find(key: string): Slots {
    let slots = this.#all.get(key);
    if (slots) return slots;
    if (this.#all.size >= MAX_KEYS) this.#forgetOne();
    slots = {
      storeKey: hashSecret(`${this.#limit.id}\n${key}`),
      using: 0,
      holding: 0,
      heldUntilMs: 0,
      renewAtMs: 0,
      fullUntilMs: 0,
      isAsking: false,
      givesBack: false,
      waiting: [],
    };
    this.#all.set(key, slots);
    return slots;
  }

  /** Drops one that holds nothing: the number of others is bounded by the requests in flight. */
  #forgetOne(): void {
    const [oldest] = this.#all;
    if (oldest && isQuiet(oldest[1])) this.#all.delete(oldest[0]);
  }

  #ask(slots: Slots): Promise<void> {
    return askInTurn(slots, this.#askOnce);
  }

  /** @returns whether there is more to do */
  readonly #askOnce = async (slots: Slots): Promise<boolean> => {
    const askedAtMs = this.#clock.now();
    const setBacksBefore = this.#setBacks;
    slots.givesBack = false;
    const spent = slots.using;
    const needed = spent + slots.waiting.length;
    const wanted = needed === 0 ? 0 : needed + this.#inHand;
    // Slots being returned must not be used meanwhile.
    slots.holding = Math.min(slots.holding, wanted);
    const allotment = await this.#shared.allot(slots.storeKey, { ...this.#base, wanted, spent });
    if (allotment === undefined) {
      slots.renewAtMs = askedAtMs + RENEW_MS;
      for (const resolve of slots.waiting.splice(0)) resolve(this.#takeAlone(slots));
      return false;
    }
    slots.holding = allotment.granted;
    slots.heldUntilMs = this.#setBacks === setBacksBefore ? askedAtMs + HELD_MS : 0;
    slots.renewAtMs = this.#setBacks === setBacksBefore ? askedAtMs + RENEW_MS : 0;
    while (slots.using < slots.holding && slots.waiting.length > 0) {
      slots.using += 1;
      slots.waiting.shift()?.(GRANTED);
    }
    if (allotment.used >= this.#limit.most) {
      slots.fullUntilMs = this.#clock.now() + FULL_MS;
      for (const resolve of slots.waiting.splice(0)) resolve(FULL);
    }
    return slots.waiting.length > 0 || slots.givesBack;
  };

  #takeAlone(slots: Slots): Taken {
    const share = this.#limit.countsAlone ? this.#shared.shareOf(this.#limit.most) : 0;
    if (share === 0) return UNAVAILABLE;
    if (slots.using >= share) return FULL;
    slots.using += 1;
    this.#onAlone();
    return GRANTED;
  }
}

function isQuiet({ using, holding, isAsking, waiting }: Slots): boolean {
  return using === 0 && holding === 0 && !isAsking && waiting.length === 0;
}
