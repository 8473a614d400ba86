/** Figures of one route, or of one user, from the record store. */
import { setTimeout as wait } from "node:timers/promises";

import type { FiguresView } from "../../pages/console/servers/figures.ts";
import type { CountQuery, RecordCounts, RecordReader } from "../../record-store/record-reader.ts";
import type { ConsoleRequest } from "../screen.ts";

const HOUR_MS = 3_600_000;
const DEADLINE_MS = 1000;

export const DAY = { slots: 24, slotMs: HOUR_MS } as const;
export const WEEK = { slots: 7, slotMs: 24 * HOUR_MS } as const;

/** @returns undefined: no records are stored; "failed": they cannot be read in time */
export async function readFigures(
  records: Pick<RecordReader, "count"> | undefined,
  { now, rights }: ConsoleRequest,
  query: Pick<CountQuery, "route" | "user">,
  { slots, slotMs }: typeof DAY | typeof WEEK,
): Promise<FiguresView | "failed" | undefined> {
  if (!records) return undefined;
  const { owners } = rights;
  const range = { sinceMs: now - slots * slotMs, untilMs: now, slots };
  try {
    const counted = records.count({
      kind: "decision",
      ...query,
      ...range,
      ...(owners === undefined ? {} : { owners }),
    });
    return figuresOf(await inTime(counted));
  } catch {
    return "failed";
  }
}

export function figuresOf({ slots, countedSinceMs }: RecordCounts): FiguresView {
  const sum = (slot: RecordCounts["slots"][number], names: readonly (keyof typeof slot)[]): number =>
    names.reduce((total, name) => total + (slot[name] ?? 0), 0);
  const calls = slots.map((slot) => sum(slot, ["allowed", "denied", "limited", "waiting", "error"]));
  const refused = slots.map((slot) => sum(slot, ["denied", "limited"]));
  const failed = slots.map((slot) => sum(slot, ["error"]));
  return { calls, refused, failed, isPartial: countedSinceMs !== undefined };
}

function inTime<T>(work: Promise<T>): Promise<T> {
  const late = wait(DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new Error("too late");
  });
  return Promise.race([work, late]);
}
