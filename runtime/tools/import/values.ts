/** Durations and choices in Pomerium's files → ours. */
import { parseDuration } from "../../settings/values.ts";
import type { ImportReport } from "./note.ts";

/** Go's durations have fractions, microseconds and nanoseconds; ours do not. */
export function convertDuration(value: unknown, where: string, report: ImportReport): unknown {
  if (typeof value !== "string" || parseDuration(value).ok) return value;
  const parts = [...value.matchAll(/([0-9.]+)(ns|us|µs|ms|s|m|h)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== value) return value;
  const unit: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1e3, m: 6e4, h: 36e5 };
  const ms = Math.round(parts.reduce((sum, [, amount, name = ""]) => sum + Number(amount) * (unit[name] ?? 0), 0));
  const written = ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`;
  report("differs", where, `"${value}" is written "${written}"`);
  return written;
}

/** A choice in our form: Pomerium also reads upper case. */
export function choiceText(value: unknown): unknown {
  return typeof value === "string" ? value.trim().toLowerCase() : value;
}
