/**
 * The last checkpoint of each run of a process, in the shared store. The next run records in its first record how far
 * the others had come, so that a truncated log is noticed.
 */
import { epochSeconds, type Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { firstFormats } from "../store/formats.ts";
import type { Store } from "../store/store.ts";
import { task } from "../shared/faults/guard.ts";

export const AUDIT_FORMATS = firstFormats(["audit-head", "audit-action"]);

interface HeadRow {
  readonly note: string;
  /** Epoch seconds. */
  readonly at: number;
}

export interface HeadsDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Heads {
  /**
   * Stores the newest note soon; it neither waits nor throws.
   *
   * @param note already in the file: the store must not know more than the file has after a crash
   */
  put(note: string): void;
  /** Stores the last one now. */
  close(note: string | undefined): Promise<void>;
}

const TAG = "audit-heads";
const KEPT_SECONDS = 90 * 24 * 3600;
/** Age relative to the latest one: older ones were named by earlier runs, and their files may be gone. */
const SEEN_SECONDS = 7 * 24 * 3600;
const PUT_EVERY_MS = 2_000;
/** Limit for the latest runs. */
const MAX_SEEN = 64;

/** @returns notes, the latest first; none when the store is unavailable */
export async function readHeads({ store, log }: Pick<HeadsDeps, "store" | "log">): Promise<readonly string[]> {
  try {
    const rows = await store.list<HeadRow>(TAG);
    const sorted = rows.toSorted((a, b) => b.value.at - a.value.at);
    const latest = sorted[0]?.value.at ?? 0;
    return sorted
      .filter(({ value }) => value.at >= latest - SEEN_SECONDS)
      .slice(0, MAX_SEEN)
      .map(({ value }) => value.note);
  } catch (error) {
    log.warn({ err: errorText(error) }, "cannot read audit heads of other processes");
    return [];
  }
}

export function keepHeads(instance: string, { store, clock, log }: HeadsDeps): Heads {
  let latest: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  let writing = Promise.resolve();

  function write(): Promise<void> {
    timer = undefined;
    writing = writing.then(writeLatest);
    return writing;
  }

  async function writeLatest(): Promise<void> {
    const note = latest;
    if (note === undefined) return;
    latest = undefined;
    try {
      await put(note);
    } catch (error) {
      log.warn({ err: errorText(error) }, "cannot store audit head");
    }
  }

  async function put(note: string): Promise<void> {
    const at = epochSeconds(clock);
    await store.put(`audit-head:${instance}`, { note, at }, { tags: [TAG], expiresAt: at + KEPT_SECONDS });
  }

  return {
    put(note) {
      latest = note;
      timer ??= setTimeout(task("the write of the audit's head", write), PUT_EVERY_MS).unref();
    },
    async close(note) {
      clearTimeout(timer);
      await writing;
      latest = note;
      await writeLatest();
    },
  };
}
