/** State of history rules in memory, at times of the caller's choice: for records and hypothetical calls. */
import { allot, toAllotment, type AllotmentRequest, type Allotment, type CountEntry } from "../../store/allotments.ts";
import type { CountedCall, HistoryState } from "./decide.ts";
import type { HistoryKey } from "./plan.ts";
import { countRequest, markQuery, markRequest, undoRequest } from "./requests.ts";

export class MemoryHistory implements HistoryState {
  /** Epoch milliseconds of the present call. */
  nowMs = 0;
  readonly #counts = new Map<string, readonly CountEntry[]>();

  isMarked(key: HistoryKey): boolean {
    return this.#allot(key, markQuery(key.rule)).used > 0;
  }

  mark(key: HistoryKey): boolean {
    this.#allot(key, markRequest(key.rule));
    return true;
  }

  count(key: HistoryKey, amount: number): CountedCall {
    const request = countRequest(key.rule, amount);
    if (request === undefined) return { counted: "over" };
    // Nothing to add: it fits where the sum already is.
    if (request.wanted === 0) return { counted: "ok" };
    const { granted, entry } = this.#allot(key, request);
    if (granted === 0) return { counted: "over" };
    return { counted: "ok", undo: () => void this.#allot(key, undoRequest(request, entry, granted)) };
  }

  #allot({ text }: HistoryKey, request: AllotmentRequest): Allotment {
    const raw = allot(this.#counts.get(text) ?? [], this.nowMs, request);
    if (raw.entries.length === 0) this.#counts.delete(text);
    else this.#counts.set(text, raw.entries);
    return toAllotment(raw, request);
  }
}
