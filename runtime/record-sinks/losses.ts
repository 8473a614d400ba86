/**
 * Records that a receiver does not get: how many, why, from when to when.
 *
 * They are told as soon as there is room: to the receiver at their place in the order, in the log, and to the operator. Until
 * then they are kept beside the spool, so that no restart forgets them.
 */
import { isoTime } from "../audit/record.ts";
import { plainJsonText } from "../audit/record-text.ts";
import type { Clock } from "../shared/clock.ts";
import { isRecord } from "../shared/is-record.ts";
import type { SinkLog } from "./sink-log.ts";
import type { Spool } from "./spool/spool.ts";

const REASONS = ["spool-full", "too-long", "refused", "damaged"] as const;
/** spool-full: there was no room. too-long: of more than 512 KiB. refused: by the receiver, others not. damaged: in the spool. */
export type LossReason = (typeof REASONS)[number];

interface Loss {
  readonly reason: LossReason;
  lost: number;
  readonly sinceMs: number;
  untilMs: number;
}

export interface Losses {
  readonly total: number;
  /** Something is lost that is not told. */
  readonly isOpen: boolean;
  add(reason: LossReason, count: number): void;
  /** What an earlier process had lost, as it was kept. */
  restore(note: string): void;
  /** Tells what there is, where there is room. */
  settle(): void;
  keep(): void;
}

export const GAP_MESSAGE = "record gap";
const KEEP_EVERY_MS = 1_000;

export interface LossDeps {
  readonly name: string;
  readonly spool: Pick<Spool, "put" | "hasRoom" | "flush" | "own">;
  readonly clock: Clock;
  readonly log: SinkLog;
  /** Into the authorization log: a line with its line end. */
  readonly record: ((line: string) => void) | undefined;
}

export function createLosses({ name, spool, clock, log, record }: LossDeps): Losses {
  let open: Loss[] = [];
  let total = 0;
  let keptAt = 0;

  const losses: Losses = {
    get total() {
      return total;
    },
    get isOpen() {
      return open.length > 0;
    },
    add(reason, count) {
      const now = clock.now();
      total += count;
      const known = open.find((loss) => loss.reason === reason);
      if (known) {
        known.lost += count;
        known.untilMs = now;
      } else {
        open.push({ reason, lost: count, sinceMs: now, untilMs: now });
        log.error({ sink: name, reason, lost: count }, "a record sink loses records");
      }
      if (!known || now - keptAt >= KEEP_EVERY_MS) losses.keep();
    },
    restore(note) {
      const kept = parseNote(note);
      open.push(...kept);
      for (const { lost } of kept) total += lost;
      if (kept.length > 0) losses.keep();
    },
    settle() {
      if (open.length === 0 || !spool.hasRoom) return;
      for (const loss of open) {
        const line = formatGap(clock.now(), name, loss);
        // Cannot be: there is room.
        if (!spool.put(line, true)) return;
        open = open.filter((each) => each !== loss);
        record?.(line);
        const { reason, lost, sinceMs, untilMs } = loss;
        log.error(
          { sink: name, reason, lost, since: isoTime(sinceMs), until: isoTime(untilMs) },
          "records were lost to a record sink",
        );
      }
      // Only once it is on the disk: else a crash would forget it.
      void spool.flush().then(() => losses.keep());
    },
    keep() {
      keptAt = clock.now();
      try {
        spool.own.writeNote(open.length === 0 ? undefined : JSON.stringify(open));
      } catch {
        // The disk takes nothing: it is told all the same, unless the process ends before.
      }
    },
  };
  return losses;
}

function formatGap(timeMs: number, sink: string, { reason, lost, sinceMs, untilMs }: Loss): string {
  return (
    `{"level":"error","time":"${isoTime(timeMs)}","service":"authorize","message":"${GAP_MESSAGE}"` +
    `,"sink":${plainJsonText(sink)},"reason":"${reason}","lost":${lost}` +
    `,"since":"${isoTime(sinceMs)}","until":"${isoTime(untilMs)}"}\n`
  );
}

function parseNote(note: string): Loss[] {
  try {
    const value: unknown = JSON.parse(note);
    return (Array.isArray(value) ? value : []).flatMap((each: unknown): Loss[] => {
      if (!isRecord(each)) return [];
      const { reason, lost, sinceMs, untilMs } = each;
      const known = REASONS.find((one) => one === reason);
      const numbers = [lost, sinceMs, untilMs].filter((one) => typeof one === "number" && Number.isFinite(one));
      return known && numbers.length === 3
        ? [{ reason: known, lost: Number(lost), sinceMs: Number(sinceMs), untilMs: Number(untilMs) }]
        : [];
    });
  } catch {
    // Half written.
    return [];
  }
}
