/**
 * New records of one question, for all who follow it in this process: the store is asked once a second for all of them, and
 * has the records of all replicas.
 *
 * Records come to the store a moment after they are made, and not in order; so each look goes a few seconds back, and what
 * was seen is known by its id. Where more comes than a look finds, what was not allowed is looked for by itself first, and
 * the note says that some are left out.
 */
import type { KeptRecord, RecordQuery, RecordReader } from "../../record-store/record-reader.ts";
import type { Clock } from "../../shared/clock.ts";
import { NOT_ALLOWED } from "./filters.ts";
import { task } from "../../shared/faults/guard.ts";

export interface LiveUpdates {
  /** Oldest first; some again, now that they are over. */
  readonly records: readonly KeptRecord[];
  /** Not all that came are there. */
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
  /** For tests, in the place of timers. @returns stops it */
  readonly every?: (ms: number, look: () => void) => () => void;
}

const EVERY_MS = 1_000;
/** So late a record may come to the store. */
const LATE_MS = 4_000;
const PAGE = 200;
const MAX_SEARCHES = 10;
/** Shown in a second, of those that were allowed. */
const MAX_ALLOWED = 50;

type Question = Omit<RecordQuery, "limit" | "order" | "cursor">;

/** A search that stops because it takes long goes on: only what is more than a page is more than anybody reads. */
export async function findNewest(
  reader: Pick<RecordReader, "find">,
  question: Question,
): Promise<{ readonly records: readonly KeptRecord[]; readonly isFull: boolean }> {
  const records: KeptRecord[] = [];
  let cursor: string | undefined;
  for (let searches = 0; searches < MAX_SEARCHES && records.length < PAGE; searches += 1) {
    const limit = PAGE - records.length;
    const page = await reader.find({ ...question, order: "newest", limit, ...(cursor !== undefined && { cursor }) });
    records.push(...page.records);
    cursor = page.next;
    if (cursor === undefined) break;
  }
  return { records, isFull: cursor !== undefined };
}

export function createPoll({ reader, clock, onError, every = everySoOften }: PollDeps, question: Question): Poll {
  const listeners = new Set<(news: LiveUpdates) => void>();
  /** Ids of the last looks, with whether they were over. */
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
    // What the look still finds, so that this does not grow.
    seen = new Map([...found.values()].map(({ id, result }) => [id, result !== undefined]));
    const isSample = isFull || records.length < fresh.length;
    if (records.length === 0 && !isSample) return;
    const news = { records: records.toSorted((left, right) => left.timeMs - right.timeMs), isSample };
    for (const listener of listeners) listener(news);
  };

  const findOthers = async (asked: Question): Promise<readonly KeptRecord[]> => {
    const outcomes = NOT_ALLOWED.filter((each) => question.outcomes?.includes(each) ?? true);
    return outcomes.length === 0 ? [] : (await findNewest(reader, { ...asked, outcomes })).records;
  };

  const lookOnce = (): void => {
    // A store that is slow is not asked more than once at a time.
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
