/**
 * Input that every back end rejects alike, so that code tested on the memory store behaves the same on a database.
 *
 * PostgreSQL text has no NUL and no lone surrogates, and its indexes bound the length of a key; JSON has no undefined,
 * no bigint and no cycles. All of it is rejected before a back end sees it.
 */
import { GatewayError } from "../shared/errors.ts";
import type { AllotmentRequest } from "./allotments.ts";
import type { PageQuery, PutOptions } from "./store.ts";

const MAX_NAME_BYTES = 1024;
/** A published slice of 100,000 routes has about 50 MB; all other values are far smaller. */
const MAX_VALUE_BYTES = 64 * 1024 * 1024;
const MAX_TAGS = 32;

export interface CheckedPut {
  /** JSON text of the value. */
  readonly text: string;
  readonly ifVersion: number | undefined;
  /** Epoch seconds; null: no end. */
  readonly expiresAt: number | null;
  /** Unique, sorted. */
  readonly tags: readonly string[];
}

/** @throws GatewayError `store.invalid` when the key, tag, feed or lease name cannot be stored everywhere */
export function checkName(kind: "key" | "tag" | "feed" | "lease" | "count", name: string): void {
  if (typeof name !== "string" || name === "") throw invalid(`a ${kind} is empty, must be text`);
  if (name.includes("\0") || !name.isWellFormed()) throw invalid(`a ${kind} has characters that are not text`);
  const bytes = Buffer.byteLength(name);
  if (bytes > MAX_NAME_BYTES) throw invalid(`a ${kind} has ${bytes} bytes, must have at most ${MAX_NAME_BYTES}`);
}

/** @returns JSON text @throws GatewayError `store.invalid` when the value is not JSON */
export function encodeValue(value: unknown): string {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new GatewayError("store.invalid", "Cannot store record: its value is not JSON", { cause: error });
  }
  if (text === undefined) throw invalid("its value is not JSON");
  if (text.length > MAX_VALUE_BYTES) throw invalid(`its value is longer than ${MAX_VALUE_BYTES} bytes`);
  return text;
}

/** Checks everything of a put, once. @throws GatewayError `store.invalid` */
export function checkPut(key: string, value: unknown, options: PutOptions): CheckedPut {
  checkName("key", key);
  const { ifVersion, expiresAt, tags = [] } = options;
  if (ifVersion !== undefined) checkVersion(ifVersion);
  if (expiresAt !== undefined) checkExpiry(expiresAt);
  for (const tag of tags) checkName("tag", tag);
  const unique = [...new Set(tags)].sort();
  if (unique.length > MAX_TAGS) throw invalid(`it has ${unique.length} tags, must have at most ${MAX_TAGS}`);
  return { text: encodeValue(value), ifVersion, expiresAt: expiresAt ?? null, tags: unique };
}

export interface CheckedPage {
  readonly tag: string | undefined;
  /** Keys from this one on, by their bytes. */
  readonly from: string;
  /** And before this key. */
  readonly before: string;
  readonly limit: number;
}

/** Larger results are read page by page, so that other requests run in between. */
const MAX_PAGE = 1000;

/** @throws GatewayError `store.invalid` */
export function checkPage({ prefix, tag, after, limit }: PageQuery): CheckedPage {
  checkName("key", prefix);
  if (tag !== undefined) checkName("tag", tag);
  if (after !== undefined) checkName("key", after);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MAX_PAGE)
    throw invalid(`a page has ${limit} records, must have 1 to ${MAX_PAGE}`);
  // The order of UTF-8 is that of code points: keys with the prefix "a:" come before "a;".
  const last = Array.from(prefix).at(-1) ?? "";
  const code = last.codePointAt(0) ?? 0;
  if (code >= 0x7f) throw invalid("a key prefix must end with an ASCII character");
  const before = prefix.slice(0, -1) + String.fromCodePoint(code + 1);
  // One lower bound: with two, SQLite searches by the first and reads every key up to the second, for each page. No key
  // lies between a key and the same with U+0001 after it, the least character of a key.
  const isWithin = after !== undefined && Buffer.compare(Buffer.from(after), Buffer.from(prefix)) >= 0;
  return { tag, from: isWithin ? `${after}\u0001` : prefix, before, limit };
}

/** @throws GatewayError `store.invalid` unless it is 0 or a positive integer */
export function checkVersion(version: number): void {
  if (!Number.isSafeInteger(version) || version < 0) throw invalid(`ifVersion is ${version}, must be 0 or more`);
}

/** @throws GatewayError `store.invalid` unless it is a whole number of epoch seconds (milliseconds are noticed) */
export function checkExpiry(expiresAt: number): void {
  // 1e11 s is the year 5138: a larger number is in milliseconds by mistake, and would never expire.
  if (!Number.isSafeInteger(expiresAt) || expiresAt < 0 || expiresAt > 1e11) {
    throw invalid(`expiresAt is ${expiresAt}, must be whole epoch seconds`);
  }
}

/** @throws GatewayError `store.invalid` unless it is a positive whole number of milliseconds, at most one day */
export function checkTtl(ttlMs: number): void {
  if (!Number.isSafeInteger(ttlMs) || ttlMs <= 0 || ttlMs > 86_400_000) {
    throw invalid(`ttlMs is ${ttlMs}, must be 1 to 86400000`);
  }
}

/** PostgreSQL's integer. */
const MAX_COUNT = 2_147_483_647;
/** Sums of amounts in small units; the sum of two is still exact. */
const MAX_DURABLE_COUNT = 2_000_000_000_000_000;
/** 31 days: longer windows are not request limits. */
const MAX_KEEP_MS = 31 * 86_400_000;

/** @throws GatewayError `store.invalid` unless all numbers are whole, within their bounds and consistent */
export function checkAllotment({ holder, back, isDurable, ...numbers }: AllotmentRequest): void {
  if (holder !== undefined) checkName("count", holder);
  if (back !== undefined) checkName("count", back.entry);
  const { limit, wanted, spent, share, keepMs, slotMs } = numbers;
  const counts = { wanted, spent, back: back?.count ?? 0, limit: limit - 1, share: share - 1, slotMs: slotMs - 1 };
  for (const [name, count] of Object.entries({ ...counts, keepMs })) {
    const mostCounted = isDurable === true ? MAX_DURABLE_COUNT : MAX_COUNT - 1;
    const most = name === "keepMs" || name === "slotMs" ? MAX_KEEP_MS : mostCounted;
    if (!Number.isSafeInteger(count) || count < 0 || count > most) throw invalid(`${name} of an allotment is ${count}`);
  }
  if (spent > wanted) throw invalid(`an allotment of at most ${wanted} cannot have ${spent} spent`);
}

function invalid(state: string): GatewayError {
  return new GatewayError("store.invalid", `Cannot store record: ${state}`);
}
