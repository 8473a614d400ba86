/** Figures of one route over the last day, from the record store. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { FiguresView } from "../../pages/console/servers/figures.ts";
import type { RecordCounts } from "../../record-store/record-reader.ts";
import type { ConsoleRequest } from "../screen.ts";
import type { ServersDeps } from "./deps.ts";

const HOURS = 24;
const HOUR_MS = 3_600_000;
const DEADLINE_MS = 1000;

/** @returns undefined: no records are stored; "failed": they cannot be read in time */
export async function routeFigures(
  { records }: ServersDeps,
  { now, rights }: ConsoleRequest,
  route: CompiledRoute,
): Promise<FiguresView | "failed" | undefined> {
  if (!records) return undefined;
  const { owners } = rights;
  const untilMs = now;
  try {
    const counts = await inTime(
      records.count({
        kind: "decision",
        route: route.key,
        sinceMs: untilMs - HOURS * HOUR_MS,
        untilMs,
        slots: HOURS,
        ...(owners === undefined ? {} : { owners }),
      }),
    );
    return figuresOf(counts);
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

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  try {
    return await Promise.race([
      work,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error("too late")), DEADLINE_MS);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}
