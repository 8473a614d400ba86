/** Which hosts need an order now, and what follows a failure. Pure. */
import { pauseAfter } from "../shared/backoff.ts";
import type { HostRecord, Pause } from "./records.ts";
import type { KnownHost } from "./shared-state.ts";

/** Let's Encrypt allows five failed validations of a host in an hour. */
const PAUSES = { firstMs: 240_000, mostMs: 6 * 3_600_000 };
/** Longest `Retry-After` that is respected; a later time means that another clock was ahead. */
const LONGEST_SECONDS = 25 * 3_600;
/** A limit of one host can be a limit of the account. */
const LIMITED_SECONDS = 3_600;

export type Due = "order" | "check" | "seal";

/** @param now epoch seconds */
export function dueOf(known: KnownHost | undefined, directory: string, now: number): Due | undefined {
  if (!known) return "order";
  const { record, used, isOldSeal } = known;
  if (waits(record, directory, now)) return undefined;
  if (!used || record.directory !== directory || now >= (record.renewAt ?? 0)) return "order";
  if (now >= (record.checkAt ?? Infinity)) return "check";
  return isOldSeal ? "seal" : undefined;
}

function waits({ tried, nextAt = 0 }: HostRecord, directory: string, now: number): boolean {
  return tried === directory && nextAt > now && nextAt - now <= LONGEST_SECONDS;
}

/**
 * Renewals before first certificates, since their clients are served already; the earliest expiry first. Of the others, those
 * that failed least: one owner's hosts that never succeed must not delay those of another.
 */
export function byUrgency(one: KnownHost | undefined, other: KnownHost | undefined): number {
  const endOf = (known: KnownHost | undefined): number =>
    known?.used ? (known.record.endsAt ?? 0) : Number.MAX_SAFE_INTEGER;
  return endOf(one) - endOf(other) || (one?.record.failures ?? 0) - (other?.record.failures ?? 0);
}

export interface FailedOrder {
  readonly directory: string;
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** Epoch seconds. */
  readonly now: number;
  /** 0 … 1. */
  readonly random: number;
}

/** The previous certificate stays. */
export function failedRecord(record: HostRecord | undefined, attempt: FailedOrder): HostRecord {
  const { directory, reason, now } = attempt;
  const failures = record?.tried === directory ? record.failures : 0;
  const nextAt = now + waitSeconds(failures, attempt);
  return { ...record, failures: failures + 1, tried: directory, failedAt: now, nextAt, reason };
}

export function pauseOf(earlier: Pause | undefined, attempt: FailedOrder): Pause {
  const failures = earlier?.failures ?? 0;
  return { until: attempt.now + waitSeconds(failures, attempt), failures: failures + 1, reason: attempt.reason };
}

/** After a limit of one host, others wait at most an hour. */
export function limitedPause({ now, retryAfterMs = 0, reason }: FailedOrder): Pause {
  return { until: now + Math.min(LIMITED_SECONDS, Math.ceil(retryAfterMs / 1000)), failures: 0, reason };
}

export function isPaused(pause: Pause | undefined, now: number): boolean {
  return pause !== undefined && pause.until > now && pause.until - now <= LONGEST_SECONDS;
}

function waitSeconds(failures: number, { retryAfterMs = 0, random }: FailedOrder): number {
  return Math.ceil(Math.max(pauseAfter(failures, PAUSES, random), retryAfterMs) / 1000);
}

/** For logs and events. */
export function dateOf(seconds: number | undefined): string | undefined {
  return seconds === undefined ? undefined : new Date(seconds * 1000).toISOString();
}
