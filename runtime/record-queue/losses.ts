/**
 * Records that a receiver does not get: their number, reason, and time span.
 *
 * Losses are reported at their position in the order, in the log, and to the operator. Until then they are stored with
 * the cursor of the receiver, so that they survive a restart.
 */
import { plainJsonText } from "../audit/record-text.ts";
import { isoTime } from "../audit/record.ts";
import { isRecord } from "../shared/is-record.ts";

const REASONS = ["spool-full", "too-long", "refused", "damaged"] as const;
/**
 * spool-full: no space. too-long: over 512 KiB. refused: the receiver rejected it, but not others. damaged: in the
 * spool.
 */
export type LossReason = (typeof REASONS)[number];

export interface Loss {
  readonly reason: LossReason;
  lost: number;
  readonly sinceMs: number;
  untilMs: number;
  /** The receiver does not get records from this number up to `at`. */
  readonly from: number;
  /** The loss is reported before this record; undefined: it is still growing. */
  at: number | undefined;
  /** When the loss ended: the time of its record. */
  toldMs: number | undefined;
}

export const GAP_MESSAGE = "record gap";

/** @returns a line with its line end, the same each time */
export function formatGap(sink: string, { reason, lost, sinceMs, untilMs, toldMs = untilMs }: Loss): string {
  return (
    `{"level":"error","time":"${isoTime(toldMs)}","service":"authorize","message":"${GAP_MESSAGE}"` +
    `,"sink":${plainJsonText(sink)},"reason":"${reason}","lost":${lost}` +
    `,"since":"${isoTime(sinceMs)}","until":"${isoTime(untilMs)}"}\n`
  );
}

/** @param end of the slot: later records no longer exist, and a loss in progress is over */
export function parseLosses(note: string, end: number): Loss[] {
  try {
    return (JSON.parse(note) as readonly unknown[]).flatMap((each): Loss[] => {
      if (!isRecord(each)) return [];
      const reason = REASONS.find((one) => one === each["reason"]);
      const [lost, sinceMs, untilMs] = [each["lost"], each["sinceMs"], each["untilMs"]].map(numberOf);
      if (reason === undefined || lost === undefined || sinceMs === undefined || untilMs === undefined) return [];
      // From a spool of an earlier version: reported first.
      const from = Math.min(numberOf(each["from"]) ?? 0, end);
      const at = "from" in each ? Math.min(numberOf(each["at"]) ?? end, end) : 0;
      return [{ reason, lost, sinceMs, untilMs, from, at, toldMs: numberOf(each["toldMs"]) }];
    });
  } catch {
    // Half written.
    return [];
  }
}

function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
