/**
 * A limit on the number of requests within a window, counted across all processes.
 *
 * A process requests an allotment from the store and spends it locally until the slot's end, so that most requests need
 * not wait. Until the first response it allows a few ahead (`advanceOf`), which the store then counts unconditionally.
 * Promise: within any span of the window at most `most` requests pass, plus `advanceOf(most)` for each process; for a
 * limit below `EXACT_BELOW`, at most `most` exactly.
 */
import { hashSecret } from "../shared/keys.ts";
import type { Clock } from "../shared/clock.ts";
import { allot, toAllotment, type Allotment, type AllotmentRequest } from "../store/allotments.ts";
import {
  advanceOf,
  askInTurn,
  EXACT_BELOW,
  type Gate,
  GRANTED,
  MAX_KEYS,
  MAX_RETIRED,
  MAX_TENDED,
  PARTS,
  slotOf,
  type Taken,
  UNAVAILABLE,
} from "./gate.ts";
import { type Ahead, type Count, createCount, dropInvalid, isQuiet, leave, refusal, sumOf } from "./request-count.ts";
import type { SharedCounts } from "./shared-counts.ts";

export interface RequestGateDeps {
  readonly counts: SharedCounts;
  readonly clock: Clock;
  /** Called for each request that this process's own count allowed. */
  readonly onAlone: () => void;
}

interface RequestLimit {
  /** Separates its counts in the store from those of other limits. */
  readonly id: string;
  readonly most: number;
  readonly windowMs: number;
  readonly countsAlone: boolean;
  readonly isDurable?: boolean;
}

/** An allotment is this fraction of the rest, so that no process holds the last few unused. */
const SHARE = 4;
/** Unused allotments are returned after this time, however long the slot. */
const LONGEST_KEPT_MS = 10_000;
const LONGEST_FULL_MS = 1_000;
/** Entries checked per removal, so that no request waits long for it. */
const FORGET_LOOKS = 100;

export class RequestGate implements Gate {
  readonly #shared: SharedCounts;
  readonly #clock: Clock;
  readonly #onAlone: () => void;
  readonly #limit: RequestLimit;
  readonly #isExact: boolean;
  readonly #advance: number;
  readonly #slotMs: number;
  readonly #base: Pick<AllotmentRequest, "limit" | "share" | "keepMs" | "slotMs" | "isDurable">;
  readonly #largest: number;
  /** Other processes may return something meanwhile. */
  readonly #longestFullMs: number;
  readonly #counts = new Map<string, Count>();
  /** Until then a new key may belong to a removed count. */
  #forgottenUntilMs = 0;
  /** Number of times the clock was set back: earlier results are valid for less time than stated. */
  #setBacks = 0;

  constructor({ counts, clock, onAlone }: RequestGateDeps, limit: RequestLimit) {
    const { most, windowMs, isDurable } = limit;
    const isExact = most < EXACT_BELOW;
    const slotMs = slotOf(most, windowMs);
    this.#shared = counts;
    this.#clock = clock;
    this.#onAlone = onAlone;
    this.#limit = limit;
    this.#isExact = isExact;
    this.#advance = advanceOf(most);
    this.#slotMs = slotMs;
    this.#base = { limit: most, share: isExact ? 1 : SHARE, keepMs: windowMs, slotMs, isDurable };
    this.#largest = Math.ceil(most / PARTS);
    this.#longestFullMs = Math.min(LONGEST_FULL_MS, isExact ? windowMs : slotMs);
  }

  take(key: string, nowMs: number): Taken | Promise<Taken> {
    const count = this.#find(key, nowMs);
    count.usedAtMs = nowMs;
    if (count.left > 0 && nowMs < count.validUntilMs) {
      count.left -= 1;
      count.served += 1;
      // Early enough that later requests need not wait.
      if (count.left * SHARE < count.served && !count.isAsking) void this.#ask(count);
      return count.taken;
    }
    if (nowMs < count.fullUntilMs) return refusal(count, nowMs);
    if (this.#shared.isUnavailable(nowMs)) return this.#takeAlone(count, nowMs);
    if (count.mayAdvance && count.ahead < this.#advance) {
      const { aheadTaken } = count;
      count.ahead += 1;
      count.served += 1;
      void this.#ask(count);
      return aheadTaken;
    }
    return new Promise((resolve) => {
      count.waiting.push(resolve);
      void this.#ask(count);
    });
  }

  refuses(key: string, nowMs: number): number {
    const count = this.#counts.get(key);
    if (!count || nowMs >= count.fullUntilMs || (count.left > 0 && nowMs < count.validUntilMs)) return 0;
    return refusal(count, nowMs).waitMs;
  }

  giveBack(key: string, taken: Taken | Ahead): void {
    const { entry } = taken;
    const count = this.#counts.get(key);
    if (!count) return;
    if (entry === undefined) {
      // Local counts remain.
      if ("returned" in taken) taken.returned += 1;
      return;
    }
    if (entry === count.taken.entry && this.#clock.now() < count.validUntilMs) {
      count.left += 1;
      return;
    }
    leave(count, entry, 1);
    void this.#ask(count);
  }

  release(): void {}

  tend(nowMs: number): void {
    let left = MAX_TENDED;
    for (const [key, count] of this.#counts) {
      dropInvalid(count, nowMs);
      if (count.unused.length > 0 && left > 0) {
        left -= 1;
        if (nowMs - count.usedAtMs > LONGEST_FULL_MS) count.served = 0;
        void this.#ask(count);
      }
      // All requests allowed ahead have left the window: the count may start again.
      if (isQuiet(count) && nowMs - count.usedAtMs > this.#limit.windowMs + 2 * this.#slotMs) this.#counts.delete(key);
    }
  }

  clockSetBack(nowMs: number): void {
    this.#setBacks += 1;
    this.#forgottenUntilMs = Math.min(this.#forgottenUntilMs, nowMs + this.#limit.windowMs + 2 * this.#slotMs);
    for (const count of this.#counts.values()) {
      count.validUntilMs = 0;
      count.fullUntilMs = 0;
      count.freeAtMs = 0;
      count.usedAtMs = nowMs;
    }
  }

  retire(): void {
    let left = MAX_RETIRED;
    for (const count of this.#counts.values()) {
      if (count.left === 0) continue;
      leave(count, count.taken.entry, count.left);
      count.left = 0;
      count.served = 0;
      void this.#ask(count);
      if (--left === 0) return;
    }
  }

  isIdle(): boolean {
    return this.#counts.size === 0;
  }

  #find(key: string, nowMs: number): Count {
    let count = this.#counts.get(key);
    if (count) return count;
    if (this.#counts.size >= MAX_KEYS) {
      this.#forgetOne();
      this.#forgottenUntilMs = nowMs + this.#limit.windowMs + 2 * this.#slotMs;
    }
    // A removed count may have allowed some ahead: only a process that remembers them all may do so again.
    count = createCount(hashSecret(`${this.#limit.id}\n${key}`), nowMs >= this.#forgottenUntilMs, nowMs);
    this.#counts.set(key, count);
    return count;
  }

  /** Removes the oldest idle count. The rest of its allotment counts until it expires. */
  #forgetOne(): void {
    let checksLeft = FORGET_LOOKS;
    for (const [key, count] of this.#counts) {
      if (isQuiet(count)) this.#counts.delete(key);
      if (isQuiet(count) || --checksLeft === 0) return;
    }
  }

  #ask(count: Count): Promise<void> {
    return askInTurn(count, this.#askOnce);
  }

  /** @returns whether there is more to do */
  readonly #askOnce = async (count: Count): Promise<boolean> => {
    const askedAtMs = this.#clock.now();
    const setBacksBefore = this.#setBacks;
    dropInvalid(count, askedAtMs);
    const { ahead, aheadTaken, alone } = count;
    const spent = ahead + sumOf(alone, askedAtMs);
    count.aheadTaken = { waitMs: 0, returned: 0 };
    const needed = spent + count.waiting.length;
    const spare = this.#isExact || (needed === 0 && count.served === 0) ? 0 : Math.min(this.#largest, 2 * count.served);
    const back = count.unused.shift();
    count.served = 0;
    const request = { ...this.#base, wanted: needed + spare, spent, back };
    // `spent` is sent again, so all of this must be returned.
    const allotment = await this.#shared.allot(count.storeKey, request, (late) =>
      leave(count, late.entry, late.granted),
    );
    count.ahead -= ahead;
    const nowMs = this.#clock.now();
    if (allotment === undefined) {
      this.#fallBack(count, ahead, nowMs);
      return false;
    }
    const { entry, granted } = allotment;
    if (count.alone === alone) count.alone = [];
    count.told = allot(count.told, nowMs, {
      ...this.#base,
      wanted: granted,
      spent: granted,
      holder: entry,
      back,
    }).entries;
    aheadTaken.entry = allotment.entry;
    leave(count, allotment.entry, aheadTaken.returned);
    const validMs = this.#setBacks === setBacksBefore ? Math.min(allotment.validMs, LONGEST_KEPT_MS) : 0;
    this.#share(count, allotment, allotment.granted - spent, askedAtMs + validMs);
    const isFull = allotment.used >= this.#limit.most;
    count.mayAdvance = !isFull;
    count.fullUntilMs = 0;
    count.freeAtMs = 0;
    if (isFull) {
      count.freeAtMs = nowMs + allotment.freeInMs;
      count.fullUntilMs = nowMs + Math.min(allotment.freeInMs, this.#longestFullMs);
      for (const resolve of count.waiting.splice(0)) resolve(refusal(count, nowMs));
    }
    return count.waiting.length > 0 || count.ahead > 0 || count.unused.length > 0;
  };

  /** Serves the waiting requests first, and keeps the rest for later ones. */
  #share(count: Count, { entry }: Allotment, granted: number, validUntilMs: number): void {
    const served = count.waiting.splice(0, granted);
    const taken = { waitMs: 0, entry };
    for (const resolve of served) resolve(taken);
    count.served += served.length;
    const rest = granted - served.length;
    if (rest === 0) return;
    if (count.taken.entry !== entry) {
      leave(count, count.taken.entry, count.left);
      count.left = 0;
      count.taken = taken;
    }
    count.left += rest;
    count.validUntilMs = validUntilMs;
  }

  /** Handles an unavailable store. */
  #fallBack(count: Count, spent: number, nowMs: number): void {
    count.mayAdvance = false;
    // Earlier requests are also counted here.
    count.alone = allot(count.alone, nowMs, { ...this.#base, wanted: spent, spent }).entries;
    for (const resolve of count.waiting.splice(0)) resolve(this.#takeAlone(count, nowMs));
  }

  #takeAlone(count: Count, nowMs: number): Taken {
    const part = this.#limit.countsAlone ? this.#shared.shareOf(this.#limit.most) : 0;
    if (part === 0) return UNAVAILABLE;
    // The store's last response: other processes have used counts that this one does not know of.
    if (nowMs < count.freeAtMs) return refusal(count, nowMs);
    const request = { ...this.#base, limit: part, wanted: 1, spent: 0, share: 1 };
    const raw = allot([...count.told, ...count.alone], nowMs, request);
    if (raw.granted === 0) return { waitMs: Math.max(1, toAllotment(raw, request).freeInMs) };
    count.alone = allot(count.alone, nowMs, { ...this.#base, wanted: 1, spent: 1 }).entries;
    this.#onAlone();
    return GRANTED;
  }
}
