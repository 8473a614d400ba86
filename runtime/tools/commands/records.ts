/**
 * `gateway records`: the latest records of a gateway, searched by user, target and kind; and new ones as they arrive.
 */
import { setTimeout as delay } from "node:timers/promises";

import { terminalText } from "../../shared/json/foreign-text.ts";
import { visibleText } from "../../shared/json/visible-text.ts";
import type { BootSettings } from "../../config/compiled.ts";
import { readBoot } from "../../bundle/boot.ts";
import type { RecordStoreOptions } from "../../record-store/back-end.ts";
import { recordPlace } from "../../record-store/options.ts";
import type { KeptRecord, RecordQuery, RecordReader } from "../../record-store/record-reader.ts";
import { openRecordReader } from "../../record-store/record-store.ts";
import { parseDuration } from "../../settings/values.ts";
import { GatewayError } from "../../shared/errors.ts";

/** Options of the command line. */
export interface RecordsOptions {
  readonly config: string;
  /** Id or email. */
  readonly user?: string;
  readonly route?: string;
  readonly tool?: string;
  readonly client?: string;
  readonly denied?: boolean;
  /** A time with its zone, or a duration before now. */
  readonly since?: string;
  readonly until?: string;
  readonly limit?: string;
  readonly follow?: boolean;
  readonly json?: boolean;
}

export interface RecordsIo {
  readonly out: Pick<NodeJS.WriteStream, "write" | "isTTY">;
  readonly err: Pick<NodeJS.WriteStream, "write" | "isTTY">;
  readonly now: () => number;
  /** Ends `--follow`. */
  readonly signal: AbortSignal;
}

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100_000;
const PAGE = 200;
const EVERY_MS = 1_000;
/** Usual delay of a record until it is in the store, from any process. */
const LATE_MS = 5_000;
/** Delay for a process that could not reach the store for a while, or whose clock is behind. */
const LATEST_MS = 5 * 60_000;
/** Pause between checks for those: each reads all of these minutes again. */
const LOOK_BACK_EVERY_MS = 30_000;
const CLEAR = "\r\u001b[K";
const HEADER = ["TIME", "OUTCOME", "USER", "ROUTE", "WHAT", "STATUS", "TOOK", "ID"];
const WIDTHS = [24, 8, 28, 28, 28, 6, 10, 0];

/** Prints to this process's outputs. @returns exit code */
export function printHere(options: RecordsOptions): Promise<number> {
  const stop = new AbortController();
  // Without `--follow`, signals end the command as usual.
  if (options.follow === true)
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => stop.abort());
  const { stdout: out, stderr: err } = process;
  return printRecords(options, { out, err, now: () => Date.now(), signal: stop.signal });
}

/** @returns exit code @throws GatewayError `config.invalid`, `commands.records`, `commands.time`, `records.unavailable` */
export async function printRecords(options: RecordsOptions, io: RecordsIo): Promise<number> {
  const query = readQuery(options, io.now());
  const { settings } = await readBoot(options.config);
  const reader = openRecordReader(storeOptions(settings));
  const print = (record: KeptRecord): void =>
    void io.out.write(`${options.json === true ? terminalText(JSON.stringify(record)) : lineOf(record)}\n`);
  try {
    const limit = readLimit(options.limit);
    const isFollowing = options.follow === true;
    // Existing records other than the last ones are not printed.
    const seen = new Map<string, number>();
    if (isFollowing) {
      for await (const { id, timeMs } of allSince(reader, query, io.now() - LATEST_MS, io.signal)) seen.set(id, timeMs);
    }
    const found = await lastOf(reader, query, limit, io);
    if (options.json !== true && io.out.isTTY) io.out.write(`${columns(HEADER)}\n`);
    for (const record of found) print(record);
    if (isFollowing) {
      for (const { id, timeMs } of found) seen.set(id, timeMs);
      await follow(reader, query, seen, print, io);
    } else if (found.length === 0 && options.json !== true) io.err.write("no matching record\n");
    return 0;
  } finally {
    await reader.close();
  }
}

/** Location of this gateway's records. @throws GatewayError `commands.records` */
export function storeOptions({ recordStore, storageUrl }: BootSettings): RecordStoreOptions {
  if (!recordStore)
    throw new GatewayError(
      "commands.records",
      "Cannot read records: no record store. Set record_store in the main configuration file",
    );
  const place = recordPlace(recordStore.storageUrl, storageUrl);
  if (place.kind === "sqlite" && place.isTemporary)
    throw new GatewayError(
      "commands.records",
      'Cannot read records: with "memory:" only the running process can read them; set storage_url in record_store',
    );
  return { place, maxAgeMs: recordStore.maxAgeMs, maxRecords: recordStore.maxRecords };
}

/** The latest ones, oldest first. */
async function lastOf(
  reader: RecordReader,
  query: Omit<RecordQuery, "limit" | "order">,
  limit: number,
  { err }: Pick<RecordsIo, "err">,
): Promise<readonly KeptRecord[]> {
  const found: KeptRecord[] = [];
  let cursor: string | undefined;
  do {
    const asked: RecordQuery = { ...query, order: "newest", limit: Math.min(PAGE, limit - found.length) };
    const page = await reader.find(cursor === undefined ? asked : { ...asked, cursor });
    found.push(...page.records);
    cursor = page.next;
    if (err.isTTY && cursor !== undefined) err.write(`${CLEAR}${found.length} found, still searching`);
  } while (cursor !== undefined && found.length < limit);
  if (err.isTTY) err.write(CLEAR);
  return found.toReversed();
}

/** Oldest first, limited by the query. */
async function* allSince(
  reader: RecordReader,
  query: Omit<RecordQuery, "limit" | "order">,
  sinceMs: number,
  signal: AbortSignal,
): AsyncGenerator<KeptRecord> {
  let cursor: string | undefined;
  do {
    const from = Math.max(query.sinceMs ?? 0, sinceMs);
    const asked: RecordQuery = { ...query, sinceMs: from, order: "oldest", limit: PAGE };
    const page = await reader.find(cursor === undefined ? asked : { ...asked, cursor });
    yield* page.records;
    cursor = page.next;
  } while (cursor !== undefined && !signal.aborted);
}

/**
 * Each check goes a few seconds back, and from time to time some minutes, since records arrive late and unordered;
 * printed ones are known by their IDs.
 */
async function follow(
  reader: RecordReader,
  query: Omit<RecordQuery, "limit" | "order">,
  known: ReadonlyMap<string, number>,
  print: (record: KeptRecord) => void,
  { now, signal, err }: RecordsIo,
): Promise<void> {
  let seen = new Map(known);
  let sinceMs = now() - LATE_MS;
  let looksBackAtMs = now() + LOOK_BACK_EVERY_MS;
  let isUnavailable = false;
  while (!signal.aborted) {
    const nowMs = now();
    const looksBack = nowMs >= looksBackAtMs;
    try {
      const from = looksBack ? Math.min(sinceMs, nowMs - LATEST_MS) : sinceMs;
      for await (const record of allSince(reader, query, from, signal)) {
        if (!seen.has(record.id)) print(record);
        seen.set(record.id, record.timeMs);
      }
      isUnavailable = false;
      sinceMs = nowMs - LATE_MS;
      if (looksBack) {
        looksBackAtMs = nowMs + LOOK_BACK_EVERY_MS;
        seen = new Map([...seen].filter(([, timeMs]) => timeMs >= nowMs - LATEST_MS));
      }
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // The store will return; records from the meantime are printed then.
      if (!isUnavailable) err.write(`${terminalText(error.message)}\n`);
      isUnavailable = true;
    }
    await delay(EVERY_MS, undefined, { signal }).catch(() => {});
  }
}

function readQuery(options: RecordsOptions, now: number): Omit<RecordQuery, "limit" | "order"> {
  const { user, route, tool, client, denied, since, until } = options;
  return {
    ...(user !== undefined && { user }),
    ...(route !== undefined && { route }),
    ...(tool !== undefined && { tool }),
    ...(client !== undefined && { client }),
    ...(denied === true && { outcomes: ["denied"] as const }),
    ...(since !== undefined && { sinceMs: readTime(since, now) }),
    ...(until !== undefined && { untilMs: readTime(until, now) }),
  };
}

/** @throws GatewayError `commands.time` */
function readTime(text: string, now: number): number {
  const before = parseDuration(text);
  if (before.ok) return now - before.value;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw new GatewayError(
    "commands.time",
    `Cannot read time "${visibleText(text)}": it must be a duration before now such as 2h, or a time such as 2026-11-20T18:00:00Z`,
  );
}

/** @throws GatewayError `commands.limit` */
function readLimit(text: string | undefined): number {
  const limit = text === undefined ? DEFAULT_LIMIT : Number(text);
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LIMIT) return limit;
  throw new GatewayError("commands.limit", `Cannot use --limit: it must be a whole number from 1 to ${MAX_LIMIT}`);
}

function lineOf(record: KeptRecord): string {
  const { timeMs, outcome, kind, route = "-", result, value } = record;
  const who = record.email !== undefined && record.email !== "" ? record.email : (record.userId ?? "-");
  return columns([
    new Date(timeMs).toISOString(),
    kind === "decision" ? outcome : kind,
    who,
    route,
    whatOf(value),
    result === undefined ? "-" : String(result.status),
    result === undefined ? "-" : `${Math.round(result.durationMs)} ms`,
    record.id,
  ]);
}

function whatOf(value: KeptRecord["value"]): string {
  const named = [["mcp-tool"], ["mcp-method"], ["action", "target"], ["method", "path"], ["message"]];
  const names = named.find(([first = ""]) => typeof value[first] === "string" && value[first] !== "") ?? [];
  return names.map((name) => (typeof value[name] === "string" ? value[name] : "")).join(" ");
}

/** Names are untrusted text: invisible characters are escaped. */
function columns(cells: readonly string[]): string {
  return cells
    .map((cell, at) => visibleText(cell).padEnd(WIDTHS[at] ?? 0))
    .join("  ")
    .trimEnd();
}
