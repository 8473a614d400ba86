/**
 * New records of one question, for all followers in this process: one query a second to the store, which has the records of all
 * replicas.
 *
 * Records reach the store a moment after they are made, and not in order. So each query goes a few seconds back, and known records are
 * recognized by ID. If there are more than one query finds, a second one finds those that were not allowed, and a note says that
 * some are omitted.
 */
import type { KeptRecord, RecordQuery, RecordReader } from "../../record-store/record-reader.ts";
import type { Clock } from "../../shared/clock.ts";
import { NOT_ALLOWED_OR_FAILED } from "./filters.ts";
import { task } from "../../shared/faults/guard.ts";

export interface LiveUpdates {
  /** Oldest first; some again, now that they are over. */
  readonly records: readonly KeptRecord[];
  /** Some new records are omitted. */
  readonly isSample: boolean;
}

export interface Poll {
  /** @returns leaves; the poll ends with the last one */
  follow(listener: (news: LiveUpdates) => void): () => void;
  readonly followers: number;
}

export interface PollDeps {
  readonly reader: Pick<RecordReader, "find">;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** Replaces timers in tests. @returns stops it */
  readonly every?: (ms: number, look: () => void) => () => void;
}

const EVERY_MS = 1_000;
/** Longest time until a record is in the store. */
const LATE_MS = 4_000;
const PAGE = 200;
export const MAX_SEARCHES = 10;
/** Allowed records shown per second. */
const MAX_ALLOWED = 50;

type Question = Omit<RecordQuery, "limit" | "order" | "cursor">;

interface SearchOptions {
  readonly maxSearches?: number;
  /** Whether no reader waits for the records any longer. */
  readonly isOver?: () => boolean;
}

/** Continues a search that stopped because of its time limit. More than a page of records are not needed. */
export async function findNewest(
  reader: Pick<RecordReader, "find">,
  question: Question,
  { maxSearches = MAX_SEARCHES, isOver }: SearchOptions = {},
): Promise<{ readonly records: readonly KeptRecord[]; readonly isFull: boolean }> {
  const records: KeptRecord[] = [];
  let cursor: string | undefined;
  for (let searches = 0; searches < maxSearches && records.length < PAGE; searches += 1) {
    const limit = PAGE - records.length;
    const page = await reader.find({ ...question, order: "newest", limit, ...(cursor !== undefined && { cursor }) });
    records.push(...page.records);
    cursor = page.next;
    if (cursor === undefined || isOver?.() === true) break;
  }
  return { records, isFull: cursor !== undefined };
}

export function createPoll({ reader, clock, onError, every = everySoOften }: PollDeps, question: Question): Poll {
  const listeners = new Set<(news: LiveUpdates) => void>();
  /** IDs of the last queries, and whether their requests had ended. */
  let seen = new Map<string, boolean>();
  let startedAtMs = clock.now();
  let stop: (() => void) | undefined;
  let isLooking = false;

  const look = async (): Promise<void> => {
    const sinceMs = Math.max(clock.now() - LATE_MS, startedAtMs - LATE_MS, question.sinceMs ?? 0);
    const asked = { ...question, sinceMs };
    const { records: newest, isFull } = await findNewest(reader, asked);
    const others = isFull ? await findOthers(asked) : [];
    const found = new Map([...newest, ...others].map((record) => [record.id, record]));
    const fresh = [...found.values()].filter(({ id, result }) => seen.get(id) !== (result !== undefined));
    const allowed = fresh.filter(({ outcome }) => outcome === "allowed");
    const shown = new Set(allowed.slice(0, MAX_ALLOWED));
    const records = fresh.filter((record) => record.outcome !== "allowed" || shown.has(record));
    // Only what the query still finds, so that this does not grow.
    seen = new Map([...found.values()].map(({ id, result }) => [id, result !== undefined]));
    const isSample = isFull || records.length < fresh.length;
    if (records.length === 0 && !isSample) return;
    const news = { records: records.toSorted((left, right) => left.timeMs - right.timeMs), isSample };
    for (const listener of listeners) listener(news);
  };

  const findOthers = async (asked: Question): Promise<readonly KeptRecord[]> => {
    const outcomes = NOT_ALLOWED_OR_FAILED.filter((each) => question.outcomes?.includes(each) ?? true);
    return outcomes.length === 0 ? [] : (await findNewest(reader, { ...asked, outcomes })).records;
  };

  const lookOnce = (): void => {
    // One query at a time, also to a slow store.
    if (isLooking) return;
    isLooking = true;
    look()
      .catch(onError)
      .finally(() => (isLooking = false));
  };

  return {
    follow(listener) {
      listeners.add(listener);
      if (!stop) {
        startedAtMs = clock.now();
        seen = new Map();
        stop = every(EVERY_MS, lookOnce);
      }
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        stop?.();
        stop = undefined;
      };
    },
    get followers() {
      return listeners.size;
    },
  };
}

function everySoOften(ms: number, look: () => void): () => void {
  const timer = setInterval(task("the look at new records", look), ms).unref();
  return () => clearInterval(timer);
}
