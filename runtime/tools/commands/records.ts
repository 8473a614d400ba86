/** `gateway records`: the last records of a gateway, found by who, where and what; and those that come, as they come. */
import { setTimeout as delay } from "node:timers/promises";

import { visibleText } from "../../audit/visible-text.ts";
import type { BootSettings } from "../../config/compiled.ts";
import { readBoot } from "../../control/bundle/boot.ts";
import type { RecordStoreOptions } from "../../record-store/back-end.ts";
import { recordPlace } from "../../record-store/options.ts";
import type { KeptRecord, RecordQuery, RecordReader } from "../../record-store/record-reader.ts";
import { openRecordReader } from "../../record-store/record-store.ts";
import { parseDuration } from "../../settings/values.ts";
import { GatewayError } from "../../shared/errors.ts";

/** What the command line gives. */
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
/** So late a record may come to the store, from whichever process. */
const LATE_MS = 5_000;
const CLEAR = "\r\u001b[K";
const HEADER = ["TIME", "OUTCOME", "USER", "ROUTE", "WHAT", "STATUS", "TOOK", "ID"];
const WIDTHS = [24, 8, 28, 28, 28, 6, 10, 0];

/** @returns exit code @throws GatewayError `config.invalid`, `commands.records`, `commands.time`, `records.unavailable` */
export async function printRecords(options: RecordsOptions, io: RecordsIo): Promise<number> {
  const query = readQuery(options, io.now());
  const { settings } = await readBoot(options.config);
  const reader = openRecordReader(storeOptions(settings));
  const print = (record: KeptRecord): void =>
    void io.out.write(`${options.json === true ? JSON.stringify(record) : lineOf(record)}\n`);
  try {
    const found = await lastOf(reader, query, readLimit(options.limit), io);
    if (options.json !== true && io.out.isTTY) io.out.write(`${columns(HEADER)}\n`);
    for (const record of found) print(record);
    if (options.follow === true) await follow(reader, query, found, print, io);
    else if (found.length === 0 && options.json !== true) io.err.write("no record is kept that fits\n");
    return 0;
  } finally {
    await reader.close();
  }
}

/** Where the records of this gateway lie. @throws GatewayError `commands.records` */
export function storeOptions({ recordStore, storageUrl }: BootSettings): RecordStoreOptions {
  if (!recordStore)
    throw new GatewayError("commands.records", "Cannot read records: none are kept, set record_store in the boot file");
  const place = recordPlace(recordStore.storageUrl, storageUrl);
  if (place.kind === "sqlite" && place.isTemporary)
    throw new GatewayError(
      "commands.records",
      'Cannot read records: with "memory:" the running process alone knows where they lie, set storage_url in record_store',
    );
  return { place, maxAgeMs: recordStore.maxAgeMs, maxRecords: recordStore.maxRecords };
}

/** The last ones, oldest first. */
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
    if (err.isTTY && cursor !== undefined) err.write(`${CLEAR}${found.length} found, looking further`);
  } while (cursor !== undefined && found.length < limit);
  if (err.isTTY) err.write(CLEAR);
  return found.toReversed();
}

/** Each look goes a few seconds back, since records come late and not in order; what was printed is known by its id. */
async function follow(
  reader: RecordReader,
  query: Omit<RecordQuery, "limit" | "order">,
  printed: readonly KeptRecord[],
  print: (record: KeptRecord) => void,
  { now, signal, err }: RecordsIo,
): Promise<void> {
  let seen = new Map(printed.map(({ id, timeMs }) => [id, timeMs]));
  let sinceMs = Math.max(query.sinceMs ?? 0, now() - LATE_MS);
  let isAway = false;
  while (!signal.aborted) {
    const next = now() - LATE_MS;
    try {
      let cursor: string | undefined;
      do {
        const asked: RecordQuery = { ...query, sinceMs, order: "oldest", limit: PAGE };
        const page = await reader.find(cursor === undefined ? asked : { ...asked, cursor });
        for (const record of page.records) {
          if (!seen.has(record.id)) print(record);
          seen.set(record.id, record.timeMs);
        }
        cursor = page.next;
      } while (cursor !== undefined && !signal.aborted);
      isAway = false;
      sinceMs = Math.max(query.sinceMs ?? 0, next);
      seen = new Map([...seen].filter(([, timeMs]) => timeMs >= sinceMs));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      // It comes back; what was recorded meanwhile is printed then.
      if (!isAway) err.write(`${error.message}\n`);
      isAway = true;
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

/** Names are strangers' texts: what has no look of its own is an escape. */
function columns(cells: readonly string[]): string {
  return cells
    .map((cell, at) => visibleText(cell).padEnd(WIDTHS[at] ?? 0))
    .join("  ")
    .trimEnd();
}
