/**
 * Counting across processes: one row per count, with an entry for each time slot or holder, and the time until which
 * each counts.
 *
 * An entry of a slot counts for a whole `keepMs` after the slot's end. If a process uses its allotment within the slot,
 * every span of `keepMs` stays within `limit`, not only spans aligned to a clock.
 */

/** A request to a count. */
export interface AllotmentRequest {
  /** Upper bound for the sum of the counting entries, exceeded only by `spent`. At least 1. */
  readonly limit: number;
  /** Most to grant, `spent` included. */
  readonly wanted: number;
  /** Already used: counted even above the limit. */
  readonly spent: number;
  /**
   * Divisor for the rest: each request is granted this fraction, and at least one, so that the last few are shared. 1:
   * all of it.
   */
  readonly share: number;
  /** How long an entry counts after the end of its slot. */
  readonly keepMs: number;
  readonly slotMs: number;
  /** The grant is added to the entry of this holder, and counts from now on; absent: to that of the present slot. */
  readonly holder?: string | undefined;
  /** Grants `wanted` or nothing. */
  readonly isWhole?: boolean | undefined;
  /** The count survives a crash of the database; others then start again. */
  readonly isDurable?: boolean | undefined;
  /** Returned before anything else: at most the count of the entry. */
  readonly back?: { readonly entry: string; readonly count: number } | undefined;
}

export interface Allotment {
  /** At least `spent`, at most `wanted`. */
  readonly granted: number;
  /** Name of the entry it was added to. */
  readonly entry: string;
  /** Present sum of the counting entries. */
  readonly used: number;
  /** Until the end of the present slot: the unused rest then counts for no request and must be returned. */
  readonly validMs: number;
  /** Until the sum is below the limit, if there are no further requests; 0: it is below now. */
  readonly freeInMs: number;
}

export interface CountEntry {
  readonly name: string;
  readonly count: number;
  /** Epoch milliseconds by the store's clock from which on it does not count. */
  readonly untilMs: number;
}

/** A count in a back end after a request. */
export interface RawAllotment {
  readonly granted: number;
  readonly entries: readonly CountEntry[];
  /** Epoch milliseconds by the store's clock. */
  readonly nowMs: number;
}

/** The same arithmetic as the statement in postgres/allotment-statement.ts; a test compares the two. */
export function allot(stored: readonly CountEntry[], nowMs: number, request: AllotmentRequest): RawAllotment {
  const { limit, wanted, spent, share, keepMs, slotMs, back } = request;
  const freshUntilMs = freshUntil(nowMs, request);
  const live: CountEntry[] = [];
  let used = 0;
  for (const { name, count, untilMs } of stored) {
    const left = count - (name === back?.entry ? Math.min(back.count, count) : 0);
    if (untilMs <= nowMs || left === 0) continue;
    used += left;
    // Later than any present grant could count: the clock was set back, and older entries are treated as new.
    live.push({ name, count: left, untilMs: Math.min(untilMs, nowMs + keepMs + slotMs) });
  }
  const free = Math.min(wanted, Math.ceil(Math.max(0, limit - used) / share));
  const granted = Math.max(spent, request.isWhole === true && free < wanted ? 0 : free);
  if (granted === 0) return { granted, entries: live, nowMs };
  const name = entryName(nowMs, request);
  const same = live.find((entry) => entry.name === name);
  const entries = live.filter((entry) => entry !== same);
  const untilMs = Math.max(freshUntilMs, same?.untilMs ?? 0);
  return { granted, entries: [...entries, { name, count: granted + (same?.count ?? 0), untilMs }], nowMs };
}

/** The part of a count that its requester sees. */
export function toAllotment({ granted, entries, nowMs }: RawAllotment, request: AllotmentRequest): Allotment {
  const used = entries.reduce((sum, { count }) => sum + count, 0);
  const validMs = freshUntil(nowMs, request) - request.keepMs - nowMs;
  return {
    granted,
    entry: entryName(nowMs, request),
    used,
    validMs,
    freeInMs: freeInMs(entries, nowMs, request.limit),
  };
}

/** Second after which no entry counts, for who sweeps. */
export function lastSecond(entries: readonly CountEntry[]): number {
  return Math.ceil(entries.reduce((last, { untilMs }) => Math.max(last, untilMs), 0) / 1000);
}

function freshUntil(nowMs: number, { keepMs, slotMs }: AllotmentRequest): number {
  return (Math.floor(nowMs / slotMs) + 1) * slotMs + keepMs;
}

function entryName(nowMs: number, request: AllotmentRequest): string {
  return request.holder ?? String(freshUntil(nowMs, request));
}

function freeInMs(entries: readonly CountEntry[], nowMs: number, limit: number): number {
  let used = 0;
  // Latest end first: the limit is free when the entry that brings the sum to the limit has expired.
  for (const { count, untilMs } of entries.toSorted((a, b) => b.untilMs - a.untilMs)) {
    used += count;
    if (used >= limit) return untilMs - nowMs;
  }
  return 0;
}
