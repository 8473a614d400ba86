/**
 * State of history rules in the store, shared by all processes.
 *
 * Untrusted input: none; keys come from plan.ts. Promises: by the store's clock. A mark is in the store before the call that
 * set it continues. `at_most` is counted as `rate_limits` are (request-gate.ts), without a share while the store is
 * unavailable; `total` is exact. An unavailable store is a result of its own. The store has one request of a caller at a
 * time: those for one count wait for each other there, and would hold all of its connections.
 */
import type { Clock, Closable } from "../../shared/clock.ts";
import { hashSecret } from "../../shared/keys.ts";
import { MAX_KEYS, type Taken, UNAVAILABLE_MS } from "../gate.ts";
import { RequestGate } from "../request-gate.ts";
import type { Allotment } from "../../store/allotments.ts";
import type { SharedCounts } from "../shared-counts.ts";
import type { CountedCall, HistoryState } from "./decide.ts";
import type { HistoryKey } from "./plan.ts";
import { countRequest, markQuery, markRequest, undoRequest } from "./requests.ts";
import { recur } from "../../shared/timing/recurring.ts";

export interface StoreHistoryDeps {
  readonly counts: SharedCounts;
  readonly clock: Clock;
}

const TEND_MS = 1_000;

export class StoreHistory implements HistoryState, Closable {
  readonly #counts: SharedCounts;
  readonly #clock: Clock;
  /** Marks that the store has reported, and until when they last at least. */
  readonly #marks = new Map<string, number>();
  /** By route, rule and its numbers. */
  readonly #gates = new Map<string, RequestGate>();
  /** The last request to the store, by caller. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #stopTimer: () => void;
  #latestMs = 0;

  constructor({ counts, clock }: StoreHistoryDeps) {
    this.#counts = counts;
    this.#clock = clock;
    this.#stopTimer = recur("the upkeep of history rules", TEND_MS, () => this.tend());
  }

  isMarked(key: HistoryKey): boolean | undefined | Promise<boolean | undefined> {
    const nowMs = this.#readClock();
    if ((this.#marks.get(key.text) ?? 0) > nowMs) return true;
    if (this.#counts.isUnavailable(nowMs)) return undefined;
    return this.#askMark(key, markQuery(key.rule), nowMs);
  }

  mark(key: HistoryKey): boolean | Promise<boolean> {
    const nowMs = this.#readClock();
    const { kind, withinMs } = key.rule.effect;
    if (kind === "not_after" && (this.#marks.get(key.text) ?? 0) > nowMs + withinMs) return true;
    if (this.#counts.isUnavailable(nowMs)) return false;
    return this.#askMark(key, markRequest(key.rule), nowMs).then((isMarked) => isMarked === true);
  }

  /** Marks a key of which only the digest is known. */
  async markDigest(rule: HistoryKey["rule"], digest: string): Promise<void> {
    await this.#counts.allot(digest, markRequest(rule));
  }

  count(key: HistoryKey, amount: number): CountedCall | Promise<CountedCall> {
    const nowMs = this.#readClock();
    if (key.rule.effect.kind === "total") return this.#add(key, amount, nowMs);
    const gate = this.#gateOf(key);
    const taken = gate.take(key.text, nowMs);
    const counted = (one: Taken): CountedCall => {
      if (one.waitMs !== 0) return { counted: one.waitMs === UNAVAILABLE_MS ? "unknown" : "over" };
      return { counted: "ok", undo: () => gate.giveBack(key.text, one) };
    };
    return taken instanceof Promise ? taken.then(counted) : counted(taken);
  }

  /** Called automatically once a second; tests call it. */
  tend(): void {
    const nowMs = this.#readClock();
    for (const [id, gate] of this.#gates) {
      gate.tend(nowMs);
      if (gate.isIdle()) this.#gates.delete(id);
    }
    for (const [text, untilMs] of this.#marks) if (untilMs <= nowMs) this.#marks.delete(text);
  }

  async close(): Promise<void> {
    this.#stopTimer();
    for (const gate of this.#gates.values()) gate.retire();
  }

  async #askMark(key: HistoryKey, request: ReturnType<typeof markQuery>, nowMs: number): Promise<boolean | undefined> {
    let askedAtMs = 0;
    const allotment = await this.#inTurn(key, nowMs, (sinceMs) => {
      // Read before the store's response: a mark never lasts longer here than there.
      askedAtMs = sinceMs;
      return this.#counts.allot(hashSecret(key.text), request);
    });
    if (allotment === undefined) return undefined;
    if (allotment.used === 0) return false;
    this.#remember(key.text, askedAtMs + allotment.freeInMs);
    return true;
  }

  async #add(key: HistoryKey, amount: number, nowMs: number): Promise<CountedCall> {
    const request = countRequest(key.rule, amount);
    if (request === undefined) return { counted: "over" };
    if (request.wanted === 0) return { counted: "ok" };
    if (this.#counts.isUnavailable(nowMs)) return { counted: "unknown" };
    const storeKey = hashSecret(key.text);
    const undo = (entry: string): void => void this.#counts.allot(storeKey, undoRequest(request, entry, amount));
    const allotment = await this.#inTurn(key, nowMs, () =>
      this.#counts.allot(storeKey, request, ({ granted, entry }) => {
        if (granted > 0) undo(entry);
      }),
    );
    if (allotment === undefined) return { counted: "unknown" };
    const { granted, entry } = allotment;
    return granted === 0 ? { counted: "over" } : { counted: "ok", undo: () => undo(entry) };
  }

  /** @returns undefined if the store is unavailable */
  #inTurn(
    { caller }: HistoryKey,
    nowMs: number,
    ask: (nowMs: number) => Promise<Allotment | undefined>,
  ): Promise<Allotment | undefined> {
    const before = this.#turns.get(caller);
    const mine = before
      ? before.then(() => {
          const thenMs = this.#readClock();
          return this.#counts.isUnavailable(thenMs) ? undefined : ask(thenMs);
        })
      : ask(nowMs);
    this.#turns.set(caller, mine);
    const leave = (): void => {
      if (this.#turns.get(caller) === mine) this.#turns.delete(caller);
    };
    mine.then(leave, leave);
    return mine;
  }

  #gateOf({ route, rule: { name, effect } }: HistoryKey): RequestGate {
    if (effect.kind !== "at_most") throw new TypeError("a rule that counts no calls");
    const id = `${name} ${effect.count} ${effect.withinMs} ${route}`;
    let gate = this.#gates.get(id);
    if (!gate) {
      const limit = {
        id: "history",
        most: effect.count,
        windowMs: effect.withinMs,
        countsAlone: false,
        isDurable: true,
      };
      gate = new RequestGate({ counts: this.#counts, clock: this.#clock, onAlone: () => {} }, limit);
      this.#gates.set(id, gate);
    }
    return gate;
  }

  #remember(text: string, untilMs: number): void {
    this.#marks.delete(text);
    const [oldest] = this.#marks.keys();
    if (this.#marks.size >= MAX_KEYS && oldest !== undefined) this.#marks.delete(oldest);
    this.#marks.set(text, untilMs);
  }

  /** After the clock was set back, earlier deadlines are too late. */
  #readClock(): number {
    const nowMs = this.#clock.now();
    if (nowMs < this.#latestMs) {
      this.#marks.clear();
      for (const gate of this.#gates.values()) gate.clockSetBack(nowMs);
    }
    this.#latestMs = nowMs;
    return nowMs;
  }
}
